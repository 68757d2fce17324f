"""`status`: how every host says it stands now, those that need a person first.

A host that does not answer keeps nobody waiting: after PATIENCE_S the others are shown, and those
that were late below them.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from headway.control import skew
from headway.control.desk import Desk
from headway.control.errors import HeadwayError
from headway.control.inventory.model import CLASS
from headway.control.telling.amounts import ago
from headway.control.telling.table import table
from headway.wire.phase import Exit, Phase, worst
from headway.wire.release import EMPTY
from headway.wire.talk import Look, Looked, Serving

Answers = Mapping[str, Looked | HeadwayError]

_STANDS: Mapping[str, Callable[[Looked], bool]] = {
    "stuck": lambda looked: looked.state.phase is Phase.STUCK,
    "held": lambda looked: looked.state.phase is Phase.HELD,
    "in hand": lambda looked: looked.state.phase is not Phase.IDLE,
    "parked": lambda looked: looked.state.parked is not None,
    "down": lambda looked: bool(_down(looked)),
    "silent": lambda looked: bool(_silent(looked)),
    "drift": lambda looked: bool(looked.drift),
    "bare": lambda looked: looked.state.running() == EMPTY.id,
    "unproven": lambda looked: not looked.state.accepted[0].reports_sha256,
    "accepted": lambda _looked: True,
}
"""How a host stands: the first that is true. Unproven: adopted, or accepted by a person."""

ORDER = (
    *("stuck", "held", "down", "silent", "unproven", "unreachable", "in hand", "drift"),
    *("accepted", "parked", "bare"),
)
"""What needs a person comes first. Silent: its units run, and an engine does not answer."""

WITHIN_S = 15
PATIENCE_S = 3
EVERY_S = 5
_ROOM, _PHONE = 130, 80  # columns: from there on all is shown; below here a host takes two lines

NONE = "none"
"""The criteria of what was adopted: no gate judged it."""

_EXITS = {"stuck": Exit.STUCK, "held": Exit.HELD}
"""A script learns from the exit code what a person sees first."""


@dataclass(frozen=True)
class HostStatus:
    """A host as status shows it; `says` is its own sentence, `drift` a sentence a difference.

    `machine` is its class, `by` who brought it to its release, `verdict` what the gates said of
    that: "PASS", or "none" where a person accepted it or it was adopted.
    """

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
    machine: str = ""
    by: str = ""
    verdict: str = ""
    serving: dict[str, Serving] = field(default_factory=dict)


def status(desk: Desk, within_s: int = WITHIN_S, *, watch: bool = False) -> Exit:
    """Ask all hosts at once and show how they stand; with `watch`, again and again until Ctrl-C."""
    if not watch:
        return _look(desk, within_s)
    code = Exit.ACCEPTED
    try:
        while True:
            if desk.width:
                desk.print("\033[H\033[2J" + time.strftime("%H:%M:%S"))
            code = _look(desk, within_s)
            time.sleep(EVERY_S)
    except KeyboardInterrupt:
        return code


def _look(desk: Desk, within_s: int) -> Exit:
    """Show those that answer in time, then those that were late, then what is skewed."""
    from headway.control.reaching.looks import as_they_come

    classes = machines(desk)
    answers: dict[str, Looked | HeadwayError] = {}
    shown: list[HostStatus] = []
    patient = time.monotonic() + PATIENCE_S
    waiting: list[HostStatus] = []
    for host, answer in as_they_come(desk.hosts, desk.reach, Look(engines=True), within_s):
        if waiting and not desk.json and time.monotonic() > patient:
            _print(desk, waiting)
            shown, waiting, patient = [*shown, *waiting], [], float("inf")
        answers[host] = answer
        one = _status(host, answer, classes.get(host, ""))
        waiting.append(one)
        if desk.json:
            desk.rows((one,))
    skewed = tuple(skew.skews(_looked(answers), classes))
    if desk.json:
        desk.rows(skewed)
    else:
        _print(desk, waiting, skewed)
    return worst(Exit(host.exit_code) for host in (*shown, *waiting))


def _print(desk: Desk, shown: Sequence[HostStatus], skewed: Sequence[skew.Skew] = ()) -> None:
    turn = {host.name: n for n, host in enumerate(desk.hosts)}  # they came in any order
    ordered = sorted(shown, key=lambda host: turn[host.host])
    desk.print(text(_sorted(ordered), int(time.time() * 1000), desk.width, skewed))


def machines(desk: Desk) -> dict[str, str]:
    """Name the classes of the hosts that have one."""
    named = ((host.name, host.vars.get(CLASS)) for host in desk.hosts)
    return {name: str(value.value) for name, value in named if value is not None}


def _looked(answers: Answers) -> dict[str, Looked]:
    return {host: answer for host, answer in answers.items() if isinstance(answer, Looked)}


def statuses(answers: Answers, classes: Mapping[str, str] | None = None) -> Iterator[HostStatus]:
    """Say how each host stands, those that need a person first."""
    named = classes or {}
    found = [_status(host, answer, named.get(host, "")) for host, answer in answers.items()]
    yield from _sorted(found)


def _sorted(shown: Sequence[HostStatus]) -> tuple[HostStatus, ...]:
    return tuple(sorted(shown, key=lambda host: ORDER.index(host.stands)))


_HEADER = (
    *("HOST", "CLASS", "STANDS", "VERDICT", "RELEASE", "SINCE", "BY"),
    *("RUN", "WAIT", "KV", "TOK/S", "CRITERIA", "SAYS"),
)
_LEFT_OUT = ("CLASS", "VERDICT", "BY", "CRITERIA")
"""Where there is no room; --json and a wider terminal have them."""


def text(
    shown: tuple[HostStatus, ...],
    now_ms: int,
    width: int = 0,
    skewed: Sequence[skew.Skew] = (),
) -> str:
    """Draw the table, and below it what drifted, item by item, and what is skewed."""
    if 0 < width < _PHONE:
        drawn = "\n".join(line for host in shown for line in _lines(host, now_ms))
    else:
        out = _LEFT_OUT if 0 < width < _ROOM else ()
        kept = [n for n, name in enumerate(_HEADER) if name not in out]
        rows = [_row(host, now_ms) for host in shown]
        picked = [[row[n] for n in kept] for row in rows]
        drawn = table([_HEADER[n] for n in kept], picked, width)
    drift = [f"{host.host}  drift: {sentence}" for host in shown for sentence in host.drift]
    below = [*drift, *skew.text(skewed, now_ms)]
    return "\n".join([drawn, *([""] if below else []), *below])


def _status(host: str, answer: Looked | HeadwayError, machine: str) -> HostStatus:
    if isinstance(answer, HeadwayError):
        code = int(answer.exit_code)
        says = str(answer).removeprefix(f"{host}: ")
        return HostStatus(host, "unreachable", "", "", 0, "", {}, (), says, code, machine)
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
        machine,
        newest.by if newest else "",
        ("PASS" if newest.reports_sha256 else NONE) if newest else "",
        answer.serving,
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
    troubles = _down(looked) or _silent(looked)
    if troubles:
        return "; ".join(troubles)
    if looked.unheld:
        return f"adopted; not held: {'; '.join(looked.unheld)}"
    count = len(looked.drift)
    return f"{count} difference{'s' if count > 1 else ''}" if count else _rejected(looked)


def _rejected(looked: Looked) -> str:
    """Name what failed here since the accepted release was: the host went back from it."""
    accepted_ms = looked.state.accepted[0].at_ms if looked.state.accepted else 0
    later = [one for one in looked.state.rejected if one.at_ms > accepted_ms]
    return f"went back from {later[-1].release}: {later[-1].why}" if later else ""


def _row(host: HostStatus, now_ms: int) -> tuple[str, ...]:
    since = ago(now_ms - host.since_ms) if host.since_ms else ""
    who = (host.host, host.machine, host.stands, host.verdict, host.release, since, host.by)
    return (*who, *_numbers(host), host.criteria, host.says)


def _numbers(host: HostStatus) -> tuple[str, str, str, str]:
    """Add up what the engines of a host count; the fullest KV cache speaks for all."""
    engines = host.serving.values()
    sums = [
        [number for number in numbers if number is not None]
        for numbers in (
            [one.running for one in engines],
            [one.waiting for one in engines],
            [one.tokens_s for one in engines],
        )
    ]
    running, waiting, speed = (str(sum(numbers)) if numbers else "" for numbers in sums)
    full = [one.kv_permille for one in engines if one.kv_permille is not None]
    return running, waiting, f"{max(full) // 10} %" if full else "", speed


def _lines(host: HostStatus, now_ms: int) -> Iterator[str]:
    """Write a host for a terminal as narrow as a phone: how it stands, then why."""
    since = f" {ago(now_ms - host.since_ms)}" if host.since_ms else ""
    yield f"{host.host}  {host.stands}  {host.release}{since}".rstrip()
    running, waiting, full, speed = _numbers(host)
    named = (("run", running), ("wait", waiting), ("KV", full), ("tok/s", speed))
    numbers = ", ".join(f"{name} {number}" for name, number in named if number)
    yield from (f"  {line}" for line in (numbers, host.says) if line)


def _silent(looked: Looked) -> tuple[str, ...]:
    """Name the engines that run and do not answer."""
    return tuple(f"{part}: {one.sentence}" for part, one in looked.serving.items() if one.sentence)


def _down(looked: Looked) -> tuple[str, ...]:
    """Name the parts whose unit is not active."""
    return tuple(
        f"{part}: {sentence}"
        for part, sentence in looked.alive.items()
        if not sentence.startswith("active")
    )
