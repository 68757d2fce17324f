"""Looks at a whole host once: what is looked at, what waits for what, and what was looked at."""

import time
from dataclasses import replace
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

from headway.runner import kernel_log, satchels
from headway.runner.diagnosis import (
    cards,
    containers,
    log,
    machine,
    processes,
    record,
    service,
    units,
    weights,
)
from headway.runner.diagnosis.looking import Looks
from headway.runner.diagnosis.seen import Memory, Recorded, Seen, Unit
from headway.runner.machine import Machine
from headway.runner.tools.proc import RealProc
from headway.wire.cards import CardsSeen
from headway.wire.release import EMPTY

_KERNEL_S = 2
_JOURNAL = "journal of "
_NOTHING: Any = ((), "")


def look(on: Machine, asked_ms: int = 0) -> Seen:
    """See this host, within the deadline of looking.py; what does not answer in time is unseen."""
    seen = Seen(now_ms=int(time.time() * 1000), asked_ms=asked_ms, record=record.look(on))
    looks = Looks()
    _begin(looks, on, seen.record)
    shown: Dict[str, Unit] = looks.result("units", {})
    seen = replace(seen, units=shown, listeners=looks.result("listeners", ()))
    _go_on(looks, on, seen)
    kernel, _ = looks.result("kernel", _NOTHING)
    seen = replace(
        seen,
        boot_s=int(time.monotonic()),
        drift=looks.result("drift", ()),
        logs=_logs(looks),
        kernel=tuple(kernel),
        cards=_with_host(on, looks.result("cards", None), kernel),
        processes=looks.result("processes", ()),
        parents=processes.parents(_holders(looks.result("cards", None))),
        mounts=looks.result("disks", ()),
        memory=looks.result("memory", Memory()),
        answers=looks.result("answers", ()),
        containers=looks.result("containers", None),
        weights=looks.result("weights", ()),
        changed=looks.result("files", ()),
    )
    return replace(seen, unseen=_unseen(looks))


def looked(seen: Seen) -> Tuple[str, ...]:
    """Say in a few words each what was looked at."""
    return tuple(_looked(seen))


# --- which looks --------------------------------------------------------------------------------


def _begin(looks: Looks, on: Machine, recorded: Recorded) -> None:
    """Start what needs nothing but the record: commands first, for they take longest."""
    release = recorded.release
    if satchels.has_cards(on.disk):
        looks.start("cards", _cards)
    subjects = _subjects(recorded)
    looks.start("units", lambda: units.look(on.run, (*subjects, containers.UNIT)))
    for unit in subjects:
        looks.start(_JOURNAL + unit, _journal(on, unit))
    looks.start("kernel", lambda: kernel_log.kernel_log(on.disk, on.run, machine.KERNEL, _KERNEL_S))
    looks.start("containers", lambda: containers.look(on))
    looks.start("listeners", lambda: service.look_listeners(RealProc(), release.parts))
    looks.start("disks", lambda: machine.look_mounts(on))
    looks.start("memory", lambda: machine.look_memory(on))
    looks.start("processes", processes.look)
    looks.start("drift", lambda: _drift(on, recorded))


def _go_on(looks: Looks, on: Machine, seen: Seen) -> None:
    """Start what depends on the units, and on who listens."""
    looks.start("answers", lambda: service.look_answers(seen, RealProc()))
    looks.start("weights", lambda: weights.look(on, seen.record.release, seen.units))
    looks.start("files", lambda: units.look_changed(on, seen.record.release, seen.units))
    routers = [name for name, unit in seen.units.items() if log.is_router(name) and unit.up]
    docker = [containers.UNIT] if containers.is_down(seen) else []
    for unit in [*routers[:2], *docker]:
        if unit not in seen.subjects:
            looks.start(_JOURNAL + unit, _journal(on, unit))


def _subjects(recorded: Recorded) -> Tuple[str, ...]:
    return tuple(Seen(record=recorded).subjects)


def _journal(on: Machine, unit: str) -> Callable[[], Any]:
    return lambda: log.look(on.run, unit)


def _cards() -> Optional[CardsSeen]:
    if satchels.lacking("cards") is not None:
        return None
    from headway.runner.cards import look as ask

    return ask(pairs=True, deadline_s=cards.NVML_S)


def _with_host(
    on: Machine, told: Optional[CardsSeen], kernel: List[Tuple[int, str]]
) -> Optional[CardsSeen]:
    """Add the driver's module and what it complained of in the kernel's log."""
    if told is None:
        return None
    from headway.runner.cards.opening import MODULE, module_version
    from headway.runner.cards.xid import xids
    from headway.wire.cards import CardsHost

    module = module_version((on.disk.read(MODULE) or b"").decode(errors="replace"))
    return replace(told, host=CardsHost(module=module, xids=tuple(xids(kernel))))


def _holders(told: Optional[CardsSeen]) -> Tuple[int, ...]:
    return tuple(one.pid for card in (told.cards if told else ()) for one in card.holders)


def _drift(on: Machine, recorded: Recorded) -> Tuple[Tuple[str, str], ...]:
    """Compare with the accepted release, where the record says that it is to run now."""
    from headway.runner import observe
    from headway.wire.phase import Phase

    state = recorded.state
    if state is not None and state.phase is not Phase.IDLE:
        return ()
    parked = state is not None and state.parked is not None
    found = observe.differences(recorded.release, on, enabled=not parked, accepted=recorded.release)
    return tuple((one.part, one.sentence) for one in found)


# --- what came of them --------------------------------------------------------------------------


def _logs(looks: Looks) -> Dict[str, Any]:
    names = [name for name in looks.names() if name.startswith(_JOURNAL)]
    found = {name[len(_JOURNAL) :]: looks.result(name, None) for name in names}
    return {name: lines for name, lines in found.items() if lines is not None}


def _unseen(looks: Looks) -> Dict[str, str]:
    """Say why looks gave nothing; that of one journal is that of all."""
    found: Dict[str, str] = {}
    for name, why in looks.unseen().items():
        found.setdefault("journal" if name.startswith(_JOURNAL) else name, why)
    return found


def _looked(seen: Seen) -> Iterator[str]:
    release = seen.record.release
    name = "nothing accepted" if release.id == EMPTY.id else f"release {release.id}"
    yield f"headway's record ({name})"
    for unit in seen.subjects:
        state, lines = seen.unit(unit)["ActiveState"] or "not seen", seen.logs.get(unit, ())
        yield f"{unit} ({state}, {len(lines)} lines)"
    yield f"{len(seen.units)} units"
    if seen.cards is not None:
        yield f"{len(seen.cards.cards)} cards (driver {seen.cards.driver or 'closed'})"
    elif "cards" not in seen.unseen:
        yield "no NVIDIA driver here"
    ports = [str(port) for part in seen.parts for port in part.listens]
    if ports:
        yield f"port {', '.join(ports)}"
    if seen.containers is not None:
        yield f"{len(seen.containers)} containers"
    yield f"{len(seen.kernel)} kernel lines"
    yield f"{len(seen.mounts)} file systems, memory, clock"
