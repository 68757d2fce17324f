"""The host can take the release: room, ports, time, weights, and its cards free to be opened."""

import time
from dataclasses import dataclass, field, replace
from typing import Dict, List, Optional, Tuple

from headway.wire.evidence import by_hand, holder
from headway.wire.freeze import Freeze, FreezeError, frozen
from headway.wire.gate import Answered, Judgement, Measurement, Subject
from headway.wire.machine_class import MachineClass
from headway.wire.resources import FoundWeights, Weights
from headway.wire.tools import Tools
from headway.wire.verdict import Verdict

WHEN = "before"
DEADLINE_S = 60
_MIB = 1024 * 1024


@dataclass(frozen=True)
class Params:
    """What must be there beside what runs now.

    `free_mib` is room by path, in MiB; each of those file systems must have `inodes` left, too.
    `memory_mib` must be available, 0 does not ask. `ports` are the part's own where none is given.
    `freeze` are times in which nothing is rolled out.

    Cards are looked at where any are asked for: `gpus` by index or UUID, else the first `cards` of
    the machine, each with `card_mib` MiB or `card_percent` of its memory free. `machine` is what
    the inventory declares of the host's class, which the machine must not contradict.
    """

    free_mib: Dict[str, int] = field(default_factory=lambda: {"/": 100})
    inodes: int = 1000
    memory_mib: int = 0
    ports: Optional[Tuple[int, ...]] = None
    freeze: Tuple[Freeze, ...] = ()
    gpus: Tuple[str, ...] = ()
    cards: int = 0
    card_mib: int = 0
    card_percent: int = 0
    machine: MachineClass = field(default_factory=MachineClass)


def judge(params: Params, subject: Optional[Subject], tools: Tools) -> Answered:
    """Name everything that is lacking, not only the first thing.

    The part's own unit may hold a port or a card, and so may one that leaves with this transition:
    they are stopped before the new one starts.
    """
    try:
        closed = frozen(params.freeze, int(time.time()))
    except FreezeError as error:
        return Judgement(Verdict.INVALID, (str(error),))
    lacking = [*([closed] if closed else []), *_disk(params, tools), *_memory(params, tools)]
    lacking += _weights(tools)
    ports = tools.part.listens if params.ports is None else params.ports
    for port in ports:
        lacking.extend(
            f"port {port} is taken by {holder(listener)}"
            for listener in tools.proc.listeners(port)
            if not listener.is_of(subject) and not any(map(listener.lies_in, tools.leaving))
        )
    again = [
        by_hand(["df", "-m", *params.free_mib]),
        *(by_hand(["ss", "-ltnp", f"sport = :{port}"]) for port in ports),
    ]
    said = [f"room on {', '.join(params.free_mib) or 'no path asked for'}; ports free: {[*ports]}"]
    if params.gpus or params.cards or params.machine.cards:
        short, found = _cards(params, subject, tools)
        lacking += short
        said += found
        again.append(by_hand(["nvidia-smi"]))
    if lacking:
        return Judgement(Verdict.FAIL, (*lacking, *again))
    free = tools.host.memory_available_bytes()
    measured = Measurement("memory_available", free, "bytes")
    return Judgement(Verdict.PASS, (*said, *again), (measured,))


def _cards(params: Params, subject: Optional[Subject], tools: Tools) -> Tuple[List[str], List[str]]:
    """Ask of the cards; what asks travels only to hosts that show a driver."""
    try:
        from headway_checks.carding import readiness
    except ImportError:
        return ["cards are asked for, and this machine shows no NVIDIA driver"], []
    room = params.card_mib, params.card_percent
    need = readiness.Need(params.gpus, params.cards, *room, params.machine)
    return readiness.judged(need, subject, tools)


def _weights(tools: Tools) -> Tuple[str, ...]:
    """Look at sizes and times: an engine on truncated weights dies an hour later, or lies."""
    mine = tuple(each for each in tools.part.resources if isinstance(each, (Weights, FoundWeights)))
    return tools.host.differences(replace(tools.part, resources=mine)) if mine else ()


def _disk(params: Params, tools: Tools) -> List[str]:
    lacking = []
    for path, wanted in params.free_mib.items():
        space = tools.host.space(path)
        free = space.free_bytes // _MIB
        if free < wanted:
            lacking.append(f"{path} has {free} MiB free, {wanted} MiB are needed")
        if space.free_inodes < params.inodes:
            lacking.append(f"{path} has {space.free_inodes} inodes free, {params.inodes} needed")
    return lacking


def _memory(params: Params, tools: Tools) -> List[str]:
    free = tools.host.memory_available_bytes() // _MIB if params.memory_mib else 0
    short = free < params.memory_mib
    return [f"{free} MiB of memory available, {params.memory_mib} needed"] if short else []
