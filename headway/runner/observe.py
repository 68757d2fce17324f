"""What is so on this host: units nobody manages yet, drift from a release, and what is alive.

One observation serves adopt, first contact, drift and UNCHANGED. What cannot be held (an
environment somebody made, a program, weights) is named with a fingerprint.
"""

from dataclasses import dataclass
from typing import Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple

from headway.runner import resources
from headway.runner.changes import owned, units_of
from headway.runner.machine import Machine
from headway.runner.resources import ResourceError
from headway.runner.resources.unit import FOLDER, effective
from headway.wire.loader import kind_of
from headway.wire.release import Origin, Part, Release, release_of
from headway.wire.resources import unit_path
from headway.wire.talk import Difference
from headway.wire.tools import Run

_STATE = ("LoadState", "ActiveState", "SubState", "NRestarts", "InvocationID", "MainPID")


class ObserveError(Exception):
    """A unit cannot be observed: which one, and why."""


@dataclass(frozen=True)
class UnitState:
    """How a unit stands, in systemd's own words; `pid` and `restarts` are 0 where it has none."""

    load: str
    active: str
    sub: str
    restarts: int
    invocation: str
    pid: int

    def sentence(self) -> str:
        """Say it to people: "active (running), restarted 2 times by systemd"."""
        if self.load != "loaded":
            return self.load
        again = f", restarted {self.restarts} times by systemd" if self.restarts else ""
        return f"{self.active} ({self.sub}){again}"


def unit_states(run: Run, units: Sequence[str]) -> Dict[str, UnitState]:
    """Ask systemd once about all these units; {} when it gives no answer."""
    return {
        unit: UnitState(
            row.get("LoadState", ""),
            row.get("ActiveState", ""),
            row.get("SubState", ""),
            int(row.get("NRestarts") or 0),
            row.get("InvocationID", ""),
            int(row.get("MainPID") or 0),
        )
        for unit, row in shown(run, units, _STATE).items()
    }


def shown(run: Run, units: Sequence[str], names: Sequence[str]) -> Dict[str, Dict[str, str]]:
    """Read properties of several units with one command; a name that repeats keeps all its lines.

    systemd answers in the order it is asked, a blank line between two units.
    """
    if not units:
        return {}
    ran = run(["systemctl", "show", "--no-pager", "--property=" + ",".join(names), *units])
    if ran.code != 0:
        return {}
    blocks = ran.stdout.decode(errors="replace").strip("\n").split("\n\n")
    return {unit: _properties(block) for unit, block in zip(units, blocks)}


def alive(release: Release, machine: Machine) -> Dict[str, str]:
    """Say of every part with a unit how its subject stands, or its first unit without one."""
    units = {part.name: _spokesman(part) for part in release.parts}
    asked = [unit for unit in units.values() if unit]
    states = unit_states(machine.run, asked)
    return {
        part: states[unit].sentence() if unit in states else "systemd gives no answer"
        for part, unit in units.items()
        if unit
    }


# --- drift --------------------------------------------------------------------------------------


def differences(
    release: Release, machine: Machine, *, enabled: bool = True
) -> Tuple[Difference, ...]:
    """Name everything that is not as this release wants it; nothing is run where files match."""
    return tuple(
        found for part in release.parts for found in _part_differences(part, machine, enabled)
    )


def sentences(part: Part, machine: Machine, *, enabled: bool = True) -> Tuple[str, ...]:
    """Say the same of one part, a sentence each: what gate `in_place` judges by."""
    return tuple(found.sentence for found in _part_differences(part, machine, enabled))


def _part_differences(part: Part, machine: Machine, enabled: bool) -> Iterator[Difference]:  # noqa: FBT001 # handed through
    for resource in part.resources:
        sentence = resources.diff(resource, machine, enabled=enabled)
        if sentence is not None:
            kind, name = kind_of(type(resource)), resources.name_of(resource)
            text = resources.text_now(resource, machine)
            yield Difference(part.name, kind, name, sentence, text)


def _spokesman(part: Part) -> Optional[str]:
    if part.subject is not None:
        return part.subject.unit
    return next((unit.name for unit in units_of(part)), None)


# --- what nobody manages yet --------------------------------------------------------------------


def unmanaged(machine: Machine, release: Release, accepted: Release) -> Dict[str, str]:
    """Name the units that exist here under a name the release uses, with the part that uses it.

    What the accepted release owns is managed already; a masked unit runs nothing.
    """
    mine = owned(accepted)
    return {
        unit.name: part.name
        for part in release.parts
        for unit in units_of(part)
        if unit_path(unit.name) not in mine and _exists(machine, unit.name)
    }


def observe(
    machine: Machine, units: Iterable[str], parts: Optional[Mapping[str, str]] = None
) -> Release:
    """Record what runs under these units as an adopted release; its blobs are kept here.

    `parts` says which part a unit belongs to; without it a unit is a part of its own, named
    without its suffix. Raises ObserveError for a unit that cannot be held.
    """
    from headway.runner import adoption  # hosts that are managed already do without

    wanted = tuple(dict.fromkeys(units))
    rows = shown(machine.run, wanted, adoption.PROPERTIES)
    made: Dict[str, Part] = {}
    unheld: List[str] = []
    for unit in wanted:
        name = (parts or {}).get(unit) or unit.rpartition(".")[0]
        try:
            part, rest = adoption.part_of(machine, name, unit, rows.get(unit, {}))
        except (ResourceError, OSError) as error:
            raise ObserveError(f"{unit} cannot be adopted: {error}") from None
        made[name] = adoption.merged(made.get(name), part)
        unheld.extend(each for each in rest if each not in unheld)
    return release_of(tuple(made.values()), Origin.ADOPTED, unheld=tuple(unheld))


def _exists(machine: Machine, unit: str) -> bool:
    path = effective(unit, machine)
    if path is None:
        return False
    seen = machine.disk.seen(path)
    masked = seen is not None and seen.kind == "link" and machine.disk.link(path) == "/dev/null"
    return not (masked and path.startswith(FOLDER))


def _properties(block: str) -> Dict[str, str]:
    found: Dict[str, str] = {}
    for line in block.splitlines():
        name, _, value = line.partition("=")
        found[name] = found[name] + "\n" + value if name in found else value
    return found
