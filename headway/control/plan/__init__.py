"""What a rollout would do to a host, and the way back: `plan(rendered, looked)`, pure."""

from collections.abc import Iterable, Iterator

from headway.control.plan.changes import changed, images, options
from headway.control.plan.host_plan import Changed, HostPlan, Restart, WayBack
from headway.control.rendering.render import Rendered
from headway.wire.phase import Phase
from headway.wire.record import State
from headway.wire.release import EMPTY, Origin, Part, Release
from headway.wire.resources import FoundVenv, FoundWeights, Service, Unit
from headway.wire.talk import Looked

__all__ = ["HostPlan", "plan"]


def plan(rendered: Rendered, looked: Looked) -> HostPlan:
    """Compare what a host should run with what it said of itself.

    `looked` answers Look(release=rendered.release).
    """
    new, old = rendered.release, looked.accepted
    found = tuple(changed(rendered, old, looked.differences))
    restarts = tuple(_restarts(new, old, looked, found))
    return HostPlan(
        rendered.host,
        new.id,
        old.id,
        found,
        tuple(options(new, old)),
        tuple(images(new, old)),
        restarts,
        total(one.down_ms for one in restarts),
        _way_back(new, looked, restarts),
        tuple(_obstacles(new, looked.state)),
    )


def total(spans: Iterable[int | None]) -> int | None:
    """Add spans up; one that is unknown makes the sum unknown."""
    found = list(spans)
    return None if None in found else sum(one for one in found if one is not None)


def _restarts(
    new: Release, old: Release, looked: Looked, found: tuple[Changed, ...]
) -> Iterator[Restart]:
    """Say which parts restart, as the host itself decides it: any change in a part, or drift."""
    loads = _loads(looked.state)
    differs = {one.part: one for one in reversed(found)}
    for part in old.parts:
        if new.part(part.name) is None:
            yield Restart(part.name, "stop", "it is not in the release any more", 0)
    for part in new.parts:
        before = old.part(part.name)
        if before is None:
            what = "start" if _runs(part) else "write"
            yield Restart(part.name, what, "it is new on this host", loads.get(part.name, 0))
        elif before != part:
            yield _again(part, ", ".join(_what_differs(part, before)), loads)
        elif new.id != old.id:
            continue
        elif part.name in differs:
            yield _again(part, f"drift: {differs[part.name].sentence}", loads)
        elif part.subject and not looked.alive.get(part.name, "").startswith("active"):
            how = looked.alive.get(part.name, "not running")
            yield _again(part, f"{part.subject.unit} is {how}", loads)


def _again(part: Part, why: str, loads: dict[str, int]) -> Restart:
    what = "restart" if _runs(part) else "write"
    return Restart(part.name, what, why, loads.get(part.name) if part.subject else 0)


def _runs(part: Part) -> bool:
    """Say whether a part starts anything; others are only written."""
    return any(isinstance(one, (Unit, Service)) for one in part.resources)


def _what_differs(part: Part, before: Part) -> Iterator[str]:
    """Name what differs between two parts of a name, in a word or two each."""
    if part.argv != before.argv:
        yield "engine options"
    wanted, had = set(part.resources), set(before.resources)
    kinds = dict.fromkeys(type(one).__name__ for one in sorted(wanted ^ had, key=repr))
    yield from (_WORDS[kind] for kind in kinds)
    if part.env_names != before.env_names:
        yield "variables"
    if (part.subject, part.listens, part.role) != (before.subject, before.listens, before.role):
        yield "unit, port or role"


_WORDS = {
    "Dir": "a folder",
    "File": "a file",
    "FoundVenv": "the environment's path",
    "FoundWeights": "the weights",
    "Image": "the image",
    "LockedVenv": "the virtual environment",
    "Package": "a package",
    "Service": "its pin",
    "Stack": "what Compose is given",
    "Sysctl": "a sysctl",
    "Unit": "the unit",
    "Weights": "the weights",
}


def _loads(state: State) -> dict[str, int]:
    """Give each part's last accepted load: the newest release that has one."""
    found: dict[str, int] = {}
    for acceptance in state.accepted:
        found = {**acceptance.load_ms, **found}
    return found


def _way_back(new: Release, looked: Looked, restarts: tuple[Restart, ...]) -> WayBack:
    """Say what a failure leads back to: the accepted release, or what was there without one."""
    old = looked.accepted
    loads = _loads(looked.state)
    touched = [one.part for one in restarts]
    back = [part for part in old.parts if part.name in touched]
    takes = total(loads.get(part.name) if part.subject else 0 for part in back)
    if new.id == old.id:
        held = "it is this very release: a failure rests held, for a person to decide"
        return WayBack(old.id, held, takes)
    lost = dict.fromkeys((*looked.unheld, *old.unheld, *_found(old), *_found(new)))
    sentence = {
        Origin.EMPTY: "nothing ran under headway here: what lies there now is put back",
        Origin.ADOPTED: "what ran here before headway, as it was recorded",
        Origin.RENDERED: "the accepted release, replayed from the host's own record",
    }[EMPTY.origin if old.id == EMPTY.id else old.origin]
    return WayBack(old.id, sentence, takes, tuple(lost))


def _found(release: Release) -> Iterator[str]:
    for part in release.parts:
        for one in part.resources:
            if isinstance(one, (FoundVenv, FoundWeights)):
                yield f"{part.name}: {one.path} is not headway's: it is checked, not restorable"


def _obstacles(new: Release, state: State) -> Iterator[str]:
    if state.phase is not Phase.IDLE:
        why = f": {state.why}" if state.why else ""
        yield f"a transition is in hand here ({state.phase.value}{why})"
    for one in state.rejected:
        if one.release == new.id:
            yield f"this release failed here before ({one.why}): refused without --again"
    if state.parked is not None:
        yield f"parked by {state.parked.by} ({state.parked.reason}): unpark it first"
