"""`status`: how every host says it stands now, those that need a person first."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from headway.control.desk import Desk
from headway.control.errors import HeadwayError
from headway.control.telling.amounts import ago
from headway.control.telling.table import table
from headway.wire.phase import Exit, Phase, worst
from headway.wire.release import EMPTY
from headway.wire.talk import Looked

Answers = Mapping[str, Looked | HeadwayError]

_STANDS: Mapping[str, Callable[[Looked], bool]] = {
    "stuck": lambda looked: looked.state.phase is Phase.STUCK,
    "held": lambda looked: looked.state.phase is Phase.HELD,
    "in hand": lambda looked: looked.state.phase is not Phase.IDLE,
    "parked": lambda looked: looked.state.parked is not None,
    "down": lambda looked: bool(_down(looked)),
    "drift": lambda looked: bool(looked.drift),
    "bare": lambda looked: looked.state.running() == EMPTY.id,
    "unproven": lambda looked: not looked.state.accepted[0].reports_sha256,
    "accepted": lambda _looked: True,
}
"""How a host stands: the first that is true. Unproven: adopted, or accepted by a person."""

ORDER = (
    *("stuck", "held", "down", "unreachable", "in hand", "drift", "unproven"),
    *("accepted", "parked", "bare"),
)
"""What needs a person comes first."""


NONE = "none"
"""The criteria of what was adopted: no gate judged it."""

_EXITS = {"stuck": Exit.STUCK, "held": Exit.HELD}
"""A script learns from the exit code what a person sees first."""


@dataclass(frozen=True)
class HostStatus:
    """A host as status shows it; `says` is its own sentence, `drift` a sentence a difference."""

    host: str
    stands: str
    phase: str
    release: str
    since_ms: int
    criteria: str
    alive: Mapping[str, str]
    drift: tuple[str, ...]
    says: str
    exit_code: int


def status(desk: Desk) -> Exit:
    """Ask all hosts at once and show how they stand."""
    shown = tuple(statuses(desk.looked()))
    if desk.json:
        desk.rows(shown)
    else:
        desk.print(text(shown, int(time.time() * 1000), desk.width))
    return worst(Exit(host.exit_code) for host in shown)


def statuses(answers: Answers) -> Iterator[HostStatus]:
    """Say how each host stands, those that need a person first."""
    found = (_status(host, answer) for host, answer in answers.items())
    yield from sorted(found, key=lambda host: ORDER.index(host.stands))


def text(shown: tuple[HostStatus, ...], now_ms: int, width: int = 0) -> str:
    """Draw the table, and below it the differences of hosts that drifted."""
    rows = [_row(host, now_ms) for host in shown]
    header = ("HOST", "STANDS", "RELEASE", "SINCE", "CRITERIA", "SAYS")
    drift = [f"{host.host}  drift: {sentence}" for host in shown for sentence in host.drift]
    return "\n".join([table(header, rows, width), *([""] if drift else []), *drift])


def _status(host: str, answer: Looked | HeadwayError) -> HostStatus:
    if isinstance(answer, HeadwayError):
        code = int(answer.exit_code)
        says = str(answer).removeprefix(f"{host}: ")
        return HostStatus(host, "unreachable", "", "", 0, "", {}, (), says, code)
    state = answer.state
    stands = next(name for name, holds in _STANDS.items() if holds(answer))
    newest = state.accepted[0] if state.accepted else None
    return HostStatus(
        host,
        stands,
        state.phase.value,
        state.running(),
        _since_ms(answer),
        newest.criteria.removeprefix(NONE) if newest else "",
        answer.alive,
        tuple(difference.sentence for difference in answer.drift),
        _says(answer),
        int(_EXITS.get(stands, Exit.ACCEPTED)),
    )


def _since_ms(looked: Looked) -> int:
    """Say since when it stands like this: at rest since the acceptance, else since the phase."""
    state = looked.state
    if state.parked:
        return state.parked.at_ms
    accepted_ms = state.accepted[0].at_ms if state.accepted else 0
    return accepted_ms if state.phase is Phase.IDLE else state.since_ms


def _says(looked: Looked) -> str:
    state = looked.state
    if state.phase is not Phase.IDLE:
        return state.why or f"{state.phase.value}, transition {state.transition}"
    if state.parked:
        return f"by {state.parked.by}: {state.parked.reason or 'no reason given'}"
    if _down(looked):
        return "; ".join(_down(looked))
    if looked.unheld:
        return f"adopted; not held: {'; '.join(looked.unheld)}"
    count = len(looked.drift)
    return f"{count} difference{'s' if count > 1 else ''}" if count else ""


def _row(host: HostStatus, now_ms: int) -> tuple[str, ...]:
    since = ago(now_ms - host.since_ms) if host.since_ms else ""
    return (host.host, host.stands, host.release, since, host.criteria, host.says)


def _down(looked: Looked) -> tuple[str, ...]:
    """Name the parts whose unit is not active."""
    return tuple(
        f"{part}: {sentence}"
        for part, sentence in looked.alive.items()
        if not sentence.startswith("active")
    )
