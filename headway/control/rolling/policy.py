"""What a rollout decides, pure: whether another host may begin, and what Ctrl-C means.

Time and knowledge are passed in; nothing here waits, connects or prints.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from headway.wire.phase import Exit, Phase
from headway.wire.talk import Looked

_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.5, 15.0
OK = "ok"


class Interrupt(Enum):
    """What a press of Ctrl-C asks for."""

    FINISH = "this host ends its transition and no new one starts"
    ABORT = "this host goes back"
    LEAVE = "we leave; the host goes on by itself"


_PRESSES = (Interrupt.FINISH, Interrupt.ABORT, Interrupt.LEAVE)


def interrupt(presses: int) -> Interrupt:
    """Say what the n-th press means; every one after the third means leaving, too."""
    return _PRESSES[min(presses, len(_PRESSES)) - 1]


def spent(codes: Sequence[Exit]) -> int:
    """Count the hosts that ended otherwise than accepted or unchanged; unreachable ones too."""
    return sum(code is not Exit.ACCEPTED for code in codes)


def may_go_on(codes: Sequence[Exit], budget: int) -> bool:
    """Say whether another host may begin after hosts that ended like this."""
    return spent(codes) <= budget


def wait_s(tries: int) -> float:
    """Say how long to wait before the next try to connect: longer each time, at most 15 s."""
    return min(_FIRST_WAIT_S * 2.0 ** min(tries, 10), _LONGEST_WAIT_S)


@dataclass(frozen=True)
class Peer:
    """How another host of the group stands. `counts`: it is meant to serve; `why`: it does not."""

    host: str
    counts: bool
    why: str = ""


def peer(host: str, looked: Looked, role: str) -> Peer:
    """Judge by what a host says whether its instances of a role are accepted and up now.

    A host that never had an accepted release, or is parked on purpose, is not expected to serve;
    neither is a part that starts nothing.
    """
    state = looked.state
    parts = [
        part.name
        for part in looked.accepted.parts
        if part.role == role and (part.subject or part.name in looked.alive)
    ]
    if not parts or state.parked is not None:
        return Peer(host, counts=False)
    if state.phase is not Phase.IDLE:
        return Peer(host, counts=True, why=f"{state.phase.value}")
    down = [
        f"{part} {looked.alive.get(part, 'is not running')}"
        for part in parts
        if not looked.alive.get(part, "").startswith("active")
    ]
    return Peer(host, counts=True, why="; ".join(down))


def floor(role: str, peers: Sequence[Peer], wanted: int | None) -> str:
    """Answer whether a host may leave its group: "ok", or a sentence that says who is missing.

    `wanted` None means all others that are meant to serve.
    """
    serving = [one for one in peers if one.counts and not one.why]
    needed = sum(one.counts for one in peers) if wanted is None else wanted
    if len(serving) >= needed:
        return OK
    missing = ", ".join(f"{one.host} ({one.why})" for one in peers if one.why)
    short = f"{len(serving)} of {needed} other instances of {role} are accepted and up"
    return f"{short}; not so: {missing}" if missing else short
