"""What is so on this host: units nobody manages yet, drift from a release, and what is alive.

One observation serves adopt, first contact, drift and UNCHANGED. What cannot be held (an
environment somebody made, a program, weights) is named with a fingerprint.
"""

import hashlib
from dataclasses import dataclass
from typing import Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Set, Tuple

from headway.runner import resources, supervisor
from headway.runner.changes import launched, owned, units_of
from headway.runner.machine import Machine
from headway.runner.resources import ResourceError
from headway.runner.resources.unit import FOLDER, dropins, effective
from headway.runner.supervisor_error import SupervisorError
from headway.wire.loader import kind_of
from headway.wire.release import EMPTY, Origin, Part, Release, release_of
from headway.wire.resources import (
    Resource,
    Service,
    Stack,
    Unit,
    blobs_of,
    dropin_path,
    unit_path,
)
from headway.wire.talk import Difference
from headway.wire.tools import Run

_STATE = ("LoadState", "ActiveState", "SubState", "NRestarts", "InvocationID", "MainPID")
_OTHERS_READ = 0o004
_HASHED = 1 << 20  # bytes: a file of settings; a wheel goes by its size
_TRANSIENT = "/run/systemd/transient"


class ObserveError(Exception):
    """Nobody can see what runs here: one sentence."""


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
    """Ask systemd once about all these units, or raise ObserveError."""
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

    systemd answers in the order it is asked, a blank line between two units. ObserveError when it
    does not answer: a unit that nobody sees would be overwritten.
    """
    if not units:
        return {}
    ran = run(["systemctl", "show", "--no-pager", "--property=" + ",".join(names), *units])
    if ran.code != 0:
        said = ran.stderr.decode(errors="replace").strip().splitlines() or [f"code {ran.code}"]
        raise ObserveError(f"systemd does not say what runs here: {said[0]}")
    blocks = ran.stdout.decode(errors="replace").strip("\n").split("\n\n")
    return {unit: _properties(block) for unit, block in zip(units, blocks)}


def alive(release: Release, machine: Machine) -> Dict[str, str]:
    """Say of every part with a unit how its subject stands, or its first unit without one."""
    asked = {part.name: unit for part in release.parts for unit in _of_interest(part)[:1]}
    try:
        states = _states(machine, asked.values())
    except ObserveError as error:
        return dict.fromkeys(asked, str(error))
    return {part: states[unit].sentence() for part, unit in asked.items() if unit in states}


def down(release: Release, machine: Machine) -> Dict[str, str]:
    """Name the parts that do not run as accepted, a sentence each; one command for all of them.

    A subject has to be active. Any other unit that starts at boot must not have failed: a task
    that runs once is inactive after it ended well.
    """
    asked = {part.name: _of_interest(part) for part in release.parts}
    try:
        states = _states(machine, (unit for row in asked.values() for unit in row))
    except ObserveError as error:
        return {name: str(error) for name, row in asked.items() if row}
    found: Dict[str, str] = {}
    for part in release.parts:
        subject = part.subject.unit if part.subject else ""
        for unit in asked[part.name]:
            state = states.get(unit)
            if (
                state is None
                or state.active == "failed"
                or (unit == subject and state.active != "active")
            ):
                how = state.sentence() if state else "unknown to systemd"
                found.setdefault(part.name, f"{unit} is {how}")
    return found


def _states(machine: Machine, names: Iterable[str]) -> Dict[str, UnitState]:
    """Look at units with one command, and at containers through Docker; or raise ObserveError."""
    every = tuple(dict.fromkeys(names))
    found = unit_states(machine.run, supervisor.units(every))
    if supervisor.containers(every):
        from headway.runner.containers import launches

        try:
            for name in supervisor.containers(every):
                active, sub, restarts = launches.state(machine, name)
                found[name] = UnitState("loaded", active, sub, restarts, "", 0)
        except SupervisorError as error:
            raise ObserveError(str(error)) from None
    return found


# --- drift --------------------------------------------------------------------------------------


def differences(
    release: Release, machine: Machine, *, enabled: bool = True, accepted: Release = EMPTY
) -> Tuple[Difference, ...]:
    """Name everything that is not as this release wants it; nothing is run where files match.

    `enabled` false: whether units start at boot does not count, as on a parked host. Of a file
    that others may not read the text is kept back, unless `accepted` wrote it and it is no secret.
    """
    public = {blob.sha256 for blob in accepted.blobs() if not blob.secret}
    return tuple(
        Difference(
            part.name,
            kind_of(type(resource)),
            resources.name_of(resource),
            sentence,
            _text(resource, machine, public),
        )
        for part in release.parts
        for resource in part.resources
        for sentence in _wrong(resource, machine, enabled=enabled)
    )


def beside(release: Release, machine: Machine) -> Tuple[Difference, ...]:
    """Name what no resource shows: bytes of its record that are gone, services somebody added.

    What runs is as wanted; the way back to it is not, or somebody shares its project.
    """
    return tuple(
        Difference(part.name, kind_of(type(resource)), resources.name_of(resource), sentence)
        for part in release.parts
        for resource in part.resources
        for sentence in (*_damaged(resource, machine), *_strangers(resource, machine))
    )


def _damaged(resource: Resource, machine: Machine) -> Iterator[str]:
    """Say which blobs are not what they were; a large one goes by presence and size."""
    for blob in blobs_of(resource):
        small = blob.size <= _HASHED
        whole = machine.blobs.read_if_whole(blob.sha256) is not None if small else True
        if not whole or machine.blobs.missing((blob,)):
            name = resources.name_of(resource)
            yield f"{name}: its blob {blob.sha256[:12]} is missing or was changed in the record"


def _strangers(resource: Resource, machine: Machine) -> Tuple[str, ...]:
    if not isinstance(resource, Stack):
        return ()
    from headway.runner.containers.strangers import strangers

    try:
        return tuple(strangers(machine, resource))
    except SupervisorError:
        return ()  # its services say so themselves


def _text(resource: Resource, machine: Machine, public: Set[str]) -> Optional[str]:
    lying = [resources.name_of(resource)]
    if isinstance(resource, Unit):
        lying = [effective(resource.name, machine) or unit_path(resource.name)]
        lying += [dropin_path(resource.name, name) for name in dropins(resource.name, machine)]
    if any(_private(path, machine, public) for path in lying):
        return None
    return resources.text_now(resource, machine)


def _private(path: str, machine: Machine, public: Set[str]) -> bool:
    seen = machine.disk.seen(path)
    if seen is None or seen.kind != "file" or seen.mode & _OTHERS_READ:
        return False
    return hashlib.sha256(machine.disk.read(path) or b"").hexdigest() not in public


def sentences(part: Part, machine: Machine, *, enabled: bool = True) -> Tuple[str, ...]:
    """Say the same of one part, a sentence each: what gate `in_place` judges by."""
    return tuple(
        sentence
        for resource in part.resources
        for sentence in _wrong(resource, machine, enabled=enabled)
    )


def _wrong(resource: Resource, machine: Machine, *, enabled: bool) -> Tuple[str, ...]:
    sentence = resources.diff(resource, machine, enabled=enabled)
    return () if sentence is None else (sentence,)


def _of_interest(part: Part) -> Tuple[str, ...]:
    """Name a part's units and containers, its subject first."""
    subject = (part.subject.unit,) if part.subject else ()
    idle = {unit.name for unit in units_of(part) if not unit.enabled and subject}
    names = (name for name in launched(part) if name not in idle)
    return tuple(dict.fromkeys((*subject, *names)))


# --- what nobody manages yet --------------------------------------------------------------------


def unmanaged(machine: Machine, release: Release, accepted: Release) -> Dict[str, str]:
    """Name the units and services here under a name the release uses, with the part that uses it.

    What the accepted release owns is managed already; a masked unit runs nothing.
    """
    mine = owned(accepted)
    found = {
        unit.name: part.name
        for part in release.parts
        for unit in units_of(part)
        if unit_path(unit.name) not in mine and _exists(machine, unit.name)
    }
    if any(isinstance(res, Service) for part in release.parts for res in part.resources):
        from headway.runner.containers import adopting

        try:
            found.update(adopting.unmanaged(machine, release, mine))
        except SupervisorError as error:
            raise ObserveError(str(error)) from None
    return found


def observe(
    machine: Machine, units: Sequence[str], parts: Optional[Mapping[str, str]] = None
) -> Release:
    """Record what runs as these units and services as an adopted release; its blobs are kept here.

    `parts` says which part a unit belongs to; without it a unit is a part of its own, named
    without its suffix. A unit that does not exist or is masked is left out; one that cannot be
    held is named in `unheld` by the path it would be written to.
    """
    from headway.runner import adoption  # hosts that are managed already do without

    wanted = supervisor.units(dict.fromkeys(units))
    made: Dict[str, Part] = {}
    unheld: List[str] = []
    for unit, row in shown(machine.run, wanted, adoption.PROPERTIES).items():
        if row.get("LoadState") in ("not-found", "masked"):
            continue
        name = (parts or {}).get(unit) or unit.rpartition(".")[0]
        try:
            part, rest = adoption.part_of(machine, name, unit, row)
        except ResourceError as error:
            unheld.append(f"{unit_path(unit)}: {error}")
            continue
        made[name] = adoption.merged(made.get(name), part)
        unheld.extend(rest)
    projects: Tuple[Part, ...] = ()
    if supervisor.containers(units):
        from headway.runner.containers import adopting

        services = supervisor.containers(dict.fromkeys(units))
        projects, rest = adopting.parts_of(machine, services, parts or {})
        unheld.extend(rest)
    names = tuple(dict.fromkeys(unheld))
    return release_of((*made.values(), *projects), Origin.ADOPTED, unheld=names)


def _exists(machine: Machine, unit: str) -> bool:
    path = effective(unit, machine)
    if path is None:
        return machine.disk.seen(f"{_TRANSIENT}/{unit}") is not None
    seen = machine.disk.seen(path)
    masked = seen is not None and seen.kind == "link" and machine.disk.link(path) == "/dev/null"
    return not (masked and path.startswith(FOLDER))


def _properties(block: str) -> Dict[str, str]:
    found: Dict[str, str] = {}
    for line in block.splitlines():
        name, _, value = line.partition("=")
        found[name] = found[name] + "\n" + value if name in found else value
    return found
