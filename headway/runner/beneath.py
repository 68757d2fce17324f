"""What lies beneath the accepted release: how its paths were before headway wrote them, pure.

The images stay in the state for as long as a release owns those paths. The release that no longer
does lets them come to light again: a host is what was found there, with one release upon it.
"""

from typing import Dict, Iterable, Tuple

from headway.runner.changes import Change, owned, paths, switching
from headway.wire.record import Before
from headway.wire.release import Origin, Release
from headway.wire.resources import Resource, Unit, unit_path

UNIT = "unit:"


def concerns(entry: Before, touched: Iterable[Resource]) -> bool:
    """Say whether an image is of what these resources write, or of a folder above that."""
    resources = tuple(touched)
    mine = {path for resource in resources for path in paths(resource)}
    above = entry.path + "/"
    return (
        entry.path in mine
        or _of_units(entry, resources)
        or any(path.startswith(above) for path in mine)
    )


def beneath(
    under: Iterable[Before],
    before: Iterable[Before],
    start: Release,
    kept: Iterable[Release],
) -> Tuple[Before, ...]:
    """Say what lies beneath from now on: what did already, and what was found on the way.

    What somebody laid beside a unit that `start` held is drift: it does not come back. `kept` are
    the release that stands here now and the adopted ones one may still go back to.
    """
    held = () if start.origin is Origin.ADOPTED else _switching(start)
    found: Dict[str, Before] = {entry.path: entry for entry in under}
    found.update({entry.path: entry for entry in before if not _of_units(entry, held)})
    wanted = tuple(resource for release in kept for resource in _switching(release))
    return tuple(entry for entry in found.values() if concerns(entry, wanted))


def uncovered(under: Iterable[Before], change: Change, target: Release) -> Tuple[Before, ...]:
    """Pick what comes to light where a part leaves for `target`.

    An adopted release is itself what was found: its links, odd modes and states come back whole.
    """
    touched = (*switching(change.old), *switching(change.new))
    found = (entry for entry in under if concerns(entry, touched))
    if target.origin is Origin.ADOPTED:
        return tuple(found)
    kept, resources = owned(target), _switching(target)
    return tuple(
        entry for entry in found if entry.path not in kept and not _of_units(entry, resources)
    )


def _switching(release: Release) -> Tuple[Resource, ...]:
    return tuple(resource for part in release.parts for resource in switching(part))


def _of_units(entry: Before, resources: Iterable[Resource]) -> bool:
    """Say whether an image is a unit's own state, or lies in the folder of its drop-ins."""
    for resource in resources:
        if isinstance(resource, Unit):
            folder = unit_path(resource.name) + ".d"
            if entry.path in (UNIT + resource.name, folder) or entry.path.startswith(folder + "/"):
                return True
    return False
