"""Before-images: how everything was that a transition is about to touch and cannot make again."""

from typing import Dict, Iterable, Set, Tuple

from headway.runner import resources
from headway.runner.beneath import concerns
from headway.runner.changes import (
    Change,
    launched,
    owned,
    paths,
    started_units,
    switching,
    units_of,
)
from headway.runner.machine import Machine
from headway.wire.record import Before, WasFile, WasLink, WasSysctl, WasUnit
from headway.wire.release import Origin, Release
from headway.wire.resources import Unit


def contents(before: Iterable[Before]) -> Set[Before]:
    """Pick what can be compared over time: folders come and go with guards, units with steps."""
    return {entry for entry in before if isinstance(entry.state, (WasFile, WasLink, WasSysctl))}


def before_of(change: Change, before: Iterable[Before]) -> Tuple[Before, ...]:
    """Pick the before-images of one change: what it touched, and folders made above that."""
    touched = (*switching(change.new), *switching(change.old))
    return tuple(entry for entry in before if concerns(entry, touched))


def take(machine: Machine, changes: Iterable[Change], start: Release) -> Tuple[Before, ...]:
    """Take the before-image of all that the changes touch and `start` does not hold, each once.

    What headway accepted it holds exactly; a drop-in that somebody laid beside it, it does not.
    An adopted release may have been links or odd modes, and its units down: all of it is imaged.
    """
    adopted = start.origin is Origin.ADOPTED
    kept = set() if adopted else owned(start)
    found: Dict[str, Before] = {}
    for change in changes:
        touched = (*switching(change.new), *(switching(change.old) if adopted else ()))
        for resource in touched:
            held = kept.issuperset(paths(resource))
            if held and not isinstance(resource, Unit):
                continue
            for entry in resources.before(resource, machine):
                if entry.path not in kept and not (held and isinstance(entry.state, WasUnit)):
                    found.setdefault(entry.path, entry)
    return tuple(found.values())


def units_to_restart(change: Change, before: Tuple[Before, ...], start: Release) -> Tuple[str, ...]:
    """Name the units of the old side that ran, and foreign ones that ran under a new name.

    Those of another part of `start` are that part's to launch.
    """
    was = {
        entry.path[5:]: entry.state.active for entry in before if isinstance(entry.state, WasUnit)
    }
    held = {name for part in start.parts for name in launched(part)}
    ours = [unit for unit in started_units(change.old) if was.get(unit, True)]
    foreign = [unit for unit in change.units() if unit not in held and was.get(unit, False)]
    return tuple(ours + foreign)


def units_uncovered(change: Change, images: Iterable[Before]) -> Tuple[str, ...]:
    """Name the units that ran before headway under a name that now leaves: they run again."""
    new = {unit.name for unit in units_of(change.new)}
    was = {
        entry.path[5:]
        for entry in images
        if isinstance(entry.state, WasUnit) and entry.state.active
    }
    return tuple(unit for unit in change.units() if unit in was and unit not in new)
