"""Headway's own record: whether it reads, and whether a host is down on purpose."""

import os
from typing import Iterator, List, Optional, Tuple

from headway.runner import guard
from headway.runner.diagnosis.ago import since, when
from headway.runner.diagnosis.ordering import Found
from headway.runner.diagnosis.seen import Recorded, Seen
from headway.runner.launch import unit_of
from headway.runner.machine import Machine
from headway.runner.records import STATE, RecordError, Records
from headway.wire.gate import Criteria
from headway.wire.marks import ROOT
from headway.wire.phase import Phase
from headway.wire.record import State
from headway.wire.release import EMPTY, Release

AT_REST = (Phase.IDLE, Phase.HELD, Phase.STUCK)
_RELEASES = ROOT + "/releases"
_AHEAD_MS = 60_000


def look(machine: Machine) -> Recorded:
    """Read the record as far as it reads; what should run is then the newest release kept."""
    records = Records(machine.disk)
    trouble: List[Tuple[str, str, str]] = []
    state = _state(machine, records, trouble)
    name = state.running() if state is not None else _newest(machine)
    return Recorded(
        state,
        _release(records, name, trouble),
        _criteria(records, state),
        tuple(trouble),
        guarded=tuple(guard.guarded(machine)),
    )


def probes(seen: Seen) -> Iterator[Found]:
    """Say what the record says of this host that explains it, and what is wrong with itself."""
    for finding, path, sentence in seen.record.trouble:
        yield Found(finding, path, (sentence,))
    state = seen.record.state
    if state is None:
        return
    yield from _standing(seen, state)
    newest = max((state.since_ms, *(one.at_ms for one in state.accepted[:1])))
    if seen.now_ms and newest > seen.now_ms + _AHEAD_MS:
        here, there = when(seen.now_ms // 1000), when(newest // 1000)
        yield Found("record-in-future", "", (f"the record's newest entry: {there}", f"now: {here}"))
    units = {part.name: unit for unit, part in seen.subjects.items()}
    for name in dict.fromkeys(name for name, _ in seen.drift):
        sentences = tuple(sentence for part, sentence in seen.drift if part == name)
        yield Found("drift", units.get(name, name), sentences)


def _standing(seen: Seen, state: State) -> Iterator[Found]:
    now_s = seen.now_ms // 1000
    ago = since(max(0, now_s - state.since_ms // 1000), now_s)
    if state.parked is not None:
        at = since(max(0, now_s - state.parked.at_ms // 1000), now_s)
        reason = state.parked.reason or "no reason given"
        yield Found("parked", "", (f"by {state.parked.by}: {reason}", at))
    if state.phase is Phase.HELD:
        yield Found("held", "", (state.why or "no gate is named", f"since {ago}"))
    elif state.phase is Phase.STUCK:
        yield Found("stuck", "", (state.why or "no reason is recorded", f"since {ago}"))
    elif state.phase not in AT_REST:
        carried = seen.unit(unit_of(state.transition or "")).up
        told = f"{state.phase.value}, transition {state.transition}, since {ago}"
        if carried:
            yield Found("in-hand", "", (told,))
        elif "units" not in seen.unseen:
            gone = f"{unit_of(state.transition or '')} does not run"
            yield Found("lock-of-the-dead", "", (told, gone))


def _state(
    machine: Machine, records: Records, trouble: List[Tuple[str, str, str]]
) -> Optional[State]:
    try:
        if machine.disk.seen(STATE) is None and machine.disk.names(_RELEASES):
            kept = len(machine.disk.names(_RELEASES))
            sentence = f"{kept} release{'s' if kept > 1 else ''} kept; newest {_newest(machine)}"
            trouble.append(("record-missing", STATE, sentence))
            return None
        return records.state()
    except (RecordError, OSError) as error:
        trouble.append(("record-damaged", STATE, str(error)))
        return None


def _newest(machine: Machine) -> str:
    """Name the release that was written last: what most likely is to run."""
    folder = machine.disk.real(_RELEASES)
    try:
        rows = [(entry.stat().st_mtime_ns, entry.name[:-5]) for entry in os.scandir(folder)]
    except OSError:
        return EMPTY.id
    return max(rows)[1] if rows else EMPTY.id


def _release(records: Records, name: str, trouble: List[Tuple[str, str, str]]) -> Release:
    try:
        return records.release(name)
    except (RecordError, OSError) as error:
        trouble.append(("release-changed", f"{_RELEASES}/{name}.json", str(error)))
        return EMPTY


def _criteria(records: Records, state: Optional[State]) -> Optional[Criteria]:
    try:
        return records.criteria(state.accepted[0].criteria) if state and state.accepted else None
    except (RecordError, OSError):
        return None
