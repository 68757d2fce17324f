"""Stage: everything that can be known before anything is touched, and what is only added.

Each step either passes or raises StageError with one line; what was changed by then is additive
resources and the scratch folder under /var/lib/headway, nothing else.
"""

import os
import time
from typing import Callable, Iterator, List, Optional, Set, Tuple

from headway.runner import resources, room, systemd
from headway.runner.changes import owned, switching, units_of
from headway.runner.machine import Machine
from headway.runner.resources import ResourceError
from headway.runner.resources.unit import dropins
from headway.runner.resources.weights import Delivery, come
from headway.runner.supervisor_error import SupervisorError
from headway.wire.event import Body, Coming, StepBegan, StepDone
from headway.wire.marks import ROOT
from headway.wire.record import Orders
from headway.wire.release import EMPTY, Part, Release
from headway.wire.resources import (
    ADDITIVE,
    Dir,
    File,
    FoundWeights,
    Image,
    LockedVenv,
    Package,
    Resource,
    Stack,
    Sysctl,
    Unit,
    Weights,
    dropin_path,
    unit_path,
)

SCRATCH = ROOT + "/stage"
Tell = Callable[[Body], None]
Listening = Callable[[], bool]


def _always() -> bool:
    return True


class StageError(Exception):
    """Something a release needs is not there or cannot be: what, where, what to do."""


def stage(  # noqa: PLR0913 # what is staged, beside what, and for what
    machine: Machine,
    release: Release,
    accepted: Release,
    tell: Tell,
    orders: Orders,
    *,
    going_back: bool = False,
    listening: Listening = _always,
) -> Tuple[str, ...]:
    """See that this release can be written here, and bring about what it needs beside it.

    Names the parts that restart although nothing of them changed: Compose says which.

    Going back asks for no room to spare: the ballast is there for it. Nor does it ask for what the
    release needs that is left: nothing leads back to that by itself. With --no-way-back nobody
    looks after what the accepted release needs. Packages are installed under the host's lock,
    which is the caller's business. Where nobody is `listening` any more, no weights are fetched on.
    """
    wrong = tuple(_wrong(machine, release))
    _have_blobs(machine, release)
    needs_way_back = not (orders.no_way_back or going_back)
    if needs_way_back:
        _have_blobs(machine, accepted)
    _refusals(machine, wrong, accepted)
    if needs_way_back:
        _way_back_refusals(machine, accepted)
    if not going_back:
        _room(machine, release, wrong, accepted if needs_way_back else EMPTY)
    _transient(machine, release)
    for part in release.parts:
        _add(machine, part, release, (tell, listening), maintenance=orders.maintenance)
    if needs_way_back:
        _way_back(machine, accepted, (tell, listening))
    for part in release.parts:
        _verify(machine, part, release)
    return _composed(machine, release, accepted)


def _wrong(machine: Machine, release: Release) -> Iterator[Resource]:
    for part in release.parts:
        for resource in part.resources:
            if resources.diff(resource, machine, enabled=False) is not None:
                yield resource


def _have_blobs(machine: Machine, release: Release) -> None:
    missing = machine.blobs.missing(release.blobs())
    if missing:
        raise StageError(
            f"release {release.id} lacks {len(missing)} blobs on this host, "
            f"the first is {missing[0].sha256[:12]}; roll it out from the controller again"
        )


# --- can it be written at all -------------------------------------------------------------------


def _refusals(machine: Machine, wrong: Tuple[Resource, ...], accepted: Release) -> None:
    giving_way = owned(accepted).union(each.path for each in wrong if isinstance(each, Dir))
    for resource in wrong:
        why = resources.refusal(resource, machine)
        if why is not None:
            raise StageError(why)
        for path in _written(resource):
            _reachable(machine, path, giving_way)
            _writable(machine, path)


def _way_back_refusals(machine: Machine, accepted: Release) -> None:
    """Find weights that cannot be brought back before hours are spent on fetching new ones."""
    for part in accepted.parts:
        for resource in part.resources:
            if isinstance(resource, (Weights, FoundWeights)):
                why = resources.refusal(resource, machine)
                if why is not None:
                    raise _no_way_back(accepted, why)


def _no_way_back(accepted: Release, why: object) -> StageError:
    return StageError(f"no way back to release {accepted.id}: {why}; or allow --no-way-back")


def _written(resource: Resource) -> Tuple[str, ...]:
    """Name a path in every folder that a switching resource writes to."""
    if isinstance(resource, Unit):
        return (
            unit_path(resource.name),
            *(dropin_path(resource.name, d.name) for d in resource.dropins),
        )
    if isinstance(resource, Sysctl):
        return (f"/etc/sysctl.d/{resource.key}",)
    path = getattr(resource, "path", None)
    return (path,) if isinstance(path, str) else ()


def _reachable(machine: Machine, path: str, giving_way: Set[str]) -> None:
    """See that what lies above a path are folders, or will be."""
    above = os.path.dirname(path)
    while machine.disk.seen(above) is None:
        above = os.path.dirname(above)
    if above not in giving_way and above != machine.disk.nearest(path):
        raise StageError(f"{above} is no folder, and {path} is to lie in it")


def _writable(machine: Machine, path: str) -> None:
    for each in (machine.disk.nearest(path), path):
        if not machine.disk.writable(each):
            raise StageError(
                f"{each} cannot be written: read-only file system or immutable "
                f"(`findmnt -T {each}`, `lsattr -d {each}`)"
            )


def _room(
    machine: Machine, release: Release, wrong: Tuple[Resource, ...], accepted: Release
) -> None:
    """Sum up what is to be written: weights that the way back lacks are fetched again, too."""
    lost = tuple(
        each
        for each in _wrong(machine, accepted)
        if isinstance(each, Weights) and each not in wrong
    )
    here = {each.path: come(each, machine) for each in (*wrong, *lost) if isinstance(each, Weights)}
    again = Release(release.schema, "", release.origin, (Part("", "", lost),))
    needs = (
        *room.needs(release, wrong, here),
        *room.needs(again, lost, here),
        *_pulled(machine, wrong),
    )
    rooms = {need.path: machine.disk.room(need.path) for need in needs}
    short = room.shortage(needs, rooms)
    if short is not None:
        raise StageError(f"{short}; make room, then roll out again")


def _pulled(machine: Machine, wrong: Tuple[Resource, ...]) -> Iterator[room.Need]:
    """Name the room that the images which are not here yet take in Docker's folder."""
    for missing in dict.fromkeys(each for each in wrong if isinstance(each, Image)):
        from headway.runner.resources import image  # where there are containers

        try:
            need = image.need(missing, machine)
        except SupervisorError as error:
            raise StageError(str(error)) from None
        if need is not None:
            yield need


def _transient(machine: Machine, release: Release) -> None:
    """Try what the transition will run in: a unit that is made for it and goes with it."""
    argv = systemd.transient(f"headway-stage-{release.id}", ["true"], {})
    ran = machine.run([argv[0], "--wait", *argv[1:]], deadline_s=30)
    if ran.code != 0:
        said = ran.stderr.decode(errors="replace").strip().splitlines()
        why = said[-1] if said else "no answer" if ran.code is None else f"code {ran.code}"
        raise StageError(
            f"systemd starts no transient units here: {why} (`systemd-run --wait true`)"
        )


# --- what is only added -------------------------------------------------------------------------


def _add(
    machine: Machine,
    part: Part,
    release: Release,
    who: Tuple[Tell, Listening],
    *,
    maintenance: bool,
) -> None:
    tell, _ = who
    for resource in part.resources:
        if not isinstance(resource, ADDITIVE):
            continue
        wrong = resources.diff(resource, machine)
        if wrong is None:
            continue
        began = time.monotonic()
        tell(StepBegan(part.name, "stage", wrong))
        try:
            delivery = _delivery(resource, part, release, who)
            resources.apply(resource, machine, maintenance=maintenance, delivery=delivery)
        except ResourceError as error:
            raise StageError(str(error)) from None
        took_ms = int((time.monotonic() - began) * 1000)
        tell(StepDone(part.name, "stage", took_ms, resources.name_of(resource)))


def _delivery(
    resource: Resource, part: Part, release: Release, who: Tuple[Tell, Listening]
) -> Optional[Delivery]:
    tell, listening = who
    how = release.fetch(resource.path) if isinstance(resource, Weights) else None
    if how is None:
        return None
    path = how.path

    def told(done: int, total: int, bytes_s: int) -> None:
        tell(Coming(part.name, "stage", path, done, total, bytes_s))

    return Delivery(how, told, listening)


def _way_back(machine: Machine, accepted: Release, who: Tuple[Tell, Listening]) -> None:
    """See that the accepted release could still run: packages stay, the rest may not have."""
    for part in accepted.parts:
        rest = tuple(each for each in part.resources if not isinstance(each, Package))
        slim = Part(part.name, part.role, rest)
        try:
            _add(machine, slim, accepted, who, maintenance=False)
        except StageError as error:
            raise _no_way_back(accepted, error) from None


# --- let systemd read it ------------------------------------------------------------------------


def _verify(machine: Machine, part: Part, release: Release) -> None:
    units = units_of(part)
    if not units:
        return
    try:
        paths = _copies(machine, units)
        said = systemd.verify(machine.run, [machine.disk.real(path) for path in paths])
    finally:
        machine.disk.rmtree(SCRATCH)
    coming = tuple(_coming(release))
    complaints = [line for line in said if not _will_be_there(line, coming)]
    if complaints:
        plain = complaints[0].replace(machine.disk.real(SCRATCH) + "/", "")
        raise StageError(f"{part.name}: systemd would not take it: {plain}")


def _composed(machine: Machine, release: Release, accepted: Release) -> Tuple[str, ...]:
    """Let Compose read the release's stacks; name the parts that it would make anew."""
    if not any(isinstance(each, Stack) for part in release.parts for each in part.resources):
        return ()
    from headway.runner.containers import staged

    try:
        return staged.relaunched(machine, release, accepted)
    except SupervisorError as error:
        raise StageError(str(error)) from None


def _copies(machine: Machine, units: Tuple[Unit, ...]) -> List[str]:
    """Write the units under their real names; what lies in /etc for them now is masked."""
    machine.disk.rmtree(SCRATCH)
    me = machine.disk.me()
    paths = []
    for unit in units:
        folder = f"{SCRATCH}/{unit.name}.d"
        machine.disk.mkdirs(folder, 0o700)
        for name in dropins(unit.name, machine):
            machine.disk.symlink("/dev/null", f"{folder}/{name}")
        for dropin in unit.dropins:
            machine.disk.write(
                f"{folder}/{dropin.name}", machine.blobs.read(dropin.blob), 0o600, *me
            )
        path = f"{SCRATCH}/{unit.name}"
        machine.disk.write(path, machine.blobs.read(unit.fragment), 0o600, *me)
        paths.append(path)
    return paths


def _coming(release: Release) -> Iterator[str]:
    """Name what the release itself will bring: no unit can miss it yet."""
    for part in release.parts:
        for resource in switching(part):
            if isinstance(resource, File):
                yield resource.path
        for each in part.resources:
            if isinstance(each, LockedVenv):
                yield each.path + "/"


def _will_be_there(line: str, coming: Tuple[str, ...]) -> Optional[str]:
    if "is not executable" not in line:
        return None
    return next((path for path in coming if path in line), None)
