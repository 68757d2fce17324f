"""Resources on the host: look, change, look again; record what was there, and put it back.

One module a kind of resource, and this table. Each has `diff`, `text_now`, `refusal` and `apply`
of its kind, a switching one `before` and `remove` too; a module is imported when a release first
holds its kind.
"""

import importlib
from typing import TYPE_CHECKING, Any, Dict, Iterable, Optional, Tuple, Type

from headway.runner.blobs import BlobError
from headway.runner.machine import Machine
from headway.runner.resources.error import ResourceError, because
from headway.wire.loader import kind_of
from headway.wire.record import Absent, Before, WasDir, WasSysctl, WasUnit
from headway.wire.resources import (
    ADDITIVE,
    Package,
    Resource,
    Service,
    Unit,
    Weights,
    name_of,
)

if TYPE_CHECKING:
    from headway.runner.resources.weights import Delivery

__all__ = [
    "ResourceError",
    "apply",
    "before",
    "clear",
    "diff",
    "exchange",
    "go_back",
    "name_of",
    "refusal",
    "remove",
    "restore",
    "text_now",
]

_UNIT = "unit:"
_SYSCTL = "sysctl:"
_KINDS: Dict[Type[Any], Any] = {}


def diff(resource: Resource, machine: Machine, *, enabled: bool = True) -> Optional[str]:
    """Say in one sentence what is not as wanted; None when all is.

    `enabled` false: whether a unit or container starts at boot does not count (inside a transition
    it is set last).
    """
    try:
        if isinstance(resource, (Unit, Service)):
            sentence = _kind(resource).diff(resource, machine, enabled=enabled)
        else:
            sentence = _kind(resource).diff(resource, machine)
    except OSError as error:
        return str(because(f"{name_of(resource)} cannot be looked at", error))
    return None if sentence is None else str(sentence)


def text_now(resource: Resource, machine: Machine) -> Optional[str]:
    """Read as text what lies there now; None where there is none, or where it is secret."""
    text = _kind(resource).text_now(resource, machine)
    return None if text is None else str(text)


def refusal(resource: Resource, machine: Machine) -> Optional[str]:
    """Say why `apply` would fail here although nothing was tried yet; None when it should not."""
    try:
        why = _kind(resource).refusal(resource, machine)
    except OSError as error:
        return str(because(f"cannot write {name_of(resource)}", error))
    return None if why is None else str(why)


def apply(
    resource: Resource,
    machine: Machine,
    *,
    maintenance: bool = False,
    delivery: "Optional[Delivery]" = None,
) -> None:
    """Bring a resource about: look, change, look again. ResourceError when it does not hold.

    `maintenance` allows packages that touch kernel, driver or containers; `delivery` is how weights
    come.
    """
    wrong = diff(resource, machine, enabled=False)
    if wrong is None:
        return
    why_not = refusal(resource, machine)
    if why_not is not None:
        raise ResourceError(why_not)
    try:
        if isinstance(resource, Package):
            _kind(resource).apply(resource, machine, maintenance=maintenance)
        elif isinstance(resource, Weights):
            _kind(resource).apply(resource, machine, delivery)
        else:
            _kind(resource).apply(resource, machine)
    except OSError as error:
        raise because(f"cannot write {name_of(resource)}", error) from None
    except BlobError as error:
        raise ResourceError(f"cannot write {name_of(resource)}: {error}") from None
    wrong = diff(resource, machine, enabled=False)
    if wrong is not None:
        raise ResourceError(f"did not hold: {wrong}")


def before(resource: Resource, machine: Machine) -> Tuple[Before, ...]:
    """Record everything `apply` may change, so that `restore` brings it back.

    Nothing of an additive resource: it is never undone.
    """
    if isinstance(resource, ADDITIVE):
        return ()
    try:
        recorded: Tuple[Before, ...] = _kind(resource).before(resource, machine)
    except OSError as error:
        raise because(f"cannot record {name_of(resource)}", error) from None
    return recorded


def remove(resource: Resource, machine: Machine) -> None:
    """Take a switching resource away; that it is gone already is fine."""
    try:
        _kind(resource).remove(resource, machine)
    except OSError as error:
        raise because(f"cannot remove {name_of(resource)}", error) from None


def exchange(old: Iterable[Resource], new: Iterable[Resource], machine: Machine) -> None:
    """Take away what only `old` has, last first, then bring `new` about in its order."""
    wanted = tuple(new)
    _take_away(tuple(old), wanted, machine)
    for resource in wanted:
        apply(resource, machine)


def go_back(
    leaving: Iterable[Resource], wanted: Iterable[Resource], was: Iterable[Before], machine: Machine
) -> None:
    """Bring `wanted` and the before-images back, whatever of `leaving` was written; idempotent."""
    target, images = tuple(wanted), tuple(was)
    _take_away(tuple(leaving), target, machine)
    clear(images, machine)
    for resource in target:
        apply(resource, machine)
    restore(images, machine)


def restore(was: Iterable[Before], machine: Machine) -> None:
    """Put before-images back: what was absent goes, then folders, files, values, enabled units."""
    images = tuple(was)
    clear(images, machine)
    paths = [image for image in images if image.path.startswith("/")]
    folders = [image for image in paths if isinstance(image.state, WasDir)]
    rest = [image for image in paths if not isinstance(image.state, (WasDir, Absent))]
    for image in sorted(folders, key=_depth):
        _restore(image, machine)
    for image in rest:
        _restore(image, machine)
    for image in images:
        if isinstance(image.state, (WasSysctl, WasUnit)):
            _restore(image, machine)


def clear(was: Iterable[Before], machine: Machine) -> None:
    """Remove what lies where nothing was, deepest first; folders that others filled stay."""
    absent = [image for image in was if isinstance(image.state, Absent)]
    for image in sorted(absent, key=_depth, reverse=True):
        _restore(image, machine)


def _take_away(old: Tuple[Resource, ...], new: Tuple[Resource, ...], machine: Machine) -> None:
    """Remove what does not stay; a file does not stay where a folder comes: it is in its way."""
    stays = {(type(resource), name_of(resource)) for resource in new}
    for resource in reversed(old):
        if isinstance(resource, ADDITIVE) or (type(resource), name_of(resource)) in stays:
            continue
        remove(resource, machine)


def _restore(image: Before, machine: Machine) -> None:
    from headway.runner.resources import place, sysctl, unit  # only on the way back

    state = image.state
    try:
        if isinstance(state, WasSysctl):
            sysctl.put_back(machine, image.path[len(_SYSCTL) :], state)
        elif isinstance(state, WasUnit):
            unit.put_back(machine, image.path[len(_UNIT) :], state)
        elif image.path.startswith(_UNIT):
            unit.unlink(image.path[len(_UNIT) :], machine)
        elif image.path.startswith("/"):
            place.put_back(machine, image.path, state)
    except OSError as error:
        raise because(f"cannot put {image.path} back", error) from None
    except BlobError as error:
        raise ResourceError(f"cannot put {image.path} back: {error}") from None


def _depth(image: Before) -> int:
    return image.path.count("/")


def _kind(resource: Resource) -> Any:  # noqa: ANN401 # a module is no Protocol to mypy
    cls = type(resource)
    if cls not in _KINDS:
        _KINDS[cls] = importlib.import_module(f"{__name__}.{kind_of(cls)}")
    return _KINDS[cls]
