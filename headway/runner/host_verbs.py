"""`headway-host`: what works on the host alone, from its own record, with no controller."""

import os
import sys
import time
from typing import Any, Callable, Dict, List, Optional, Type

from headway.runner.channel import Channel
from headway.runner.clock import Clock
from headway.runner.disk import Disk
from headway.runner.machine import machine_of
from headway.runner.orders import obey
from headway.runner.orders.session import Session
from headway.runner.process import Processes, become
from headway.runner.records import RecordError, Records
from headway.wire.diagnosis import Diagnosed
from headway.wire.event import (
    Answer,
    Ask,
    Asked,
    Body,
    Event,
    Moved,
    Noted,
    Replied,
    Reported,
    Rested,
    Rung,
    StepDone,
    Waiting,
)
from headway.wire.phase import Exit, Phase
from headway.wire.record import Orders
from headway.wire.talk import (
    Diagnose,
    Done,
    Evict,
    FromController,
    FromHost,
    Look,
    Looked,
    Request,
    Rollback,
    Said,
    Trouble,
)

USAGE = """\
headway-host status                what is accepted here, and what is in hand
headway-host history               what the transitions came to
headway-host diagnose              what is wrong here, likeliest cause first
headway-host rollback [RELEASE]    to the newest accepted release that is not running
headway-host resume|accept|abort   what becomes of the transition in hand
headway-host evict [PID:START...]  free cards of what no running service owns
headway-host compose PROJECT ...   Docker Compose with the recorded files
"""


class Terminal(Channel):
    """A channel whose other end is a person: it prints sentences, and confirms.

    Whoever types on the host reaches it. Where the way in was cut, the login goes, this program
    with it, and nobody confirms.
    """

    supplies = False

    def __init__(self) -> None:
        super().__init__()
        self._asked: List[Ask] = []

    def say(self, value: FromHost) -> None:
        """Print what was said, in words; what is asked for confirmation is answered next."""
        if isinstance(value, Said) and isinstance(value.event.body, Asked):
            self._asked.append(value.event.body.ask)
        for row in _words(value):
            sys.stdout.write(row + "\n")
        sys.stdout.flush()

    def hear(self, wait_s: Optional[float] = None) -> Optional[FromController]:
        """Confirm where that is asked; else wait, for a person has nothing more to say."""
        time.sleep(wait_s or 0)
        asked, self._asked = self._asked, []
        confirm = next((ask for ask in asked if ask.what == "confirm"), None)
        return Answer(confirm.n, "yes", _by()) if confirm is not None else None


def main(words: List[str]) -> int:
    """Carry out one verb; what goes wrong is one line on stderr."""
    verb, *rest = words or ["status"]
    if verb == "compose" and rest:
        return _compose(*rest)
    if verb not in _VERBS or (rest and verb not in ("rollback", "evict")):
        sys.stderr.write(USAGE)
        return Exit.USAGE
    machine = machine_of(Disk(), Processes())
    session = Session(Terminal(), machine, Records(machine.disk), Clock())
    try:
        last = obey(session, _VERBS[verb](rest))
    except (RecordError, PermissionError) as error:
        last = Trouble(Exit.REFUSED, str(error))
    if isinstance(last, Trouble):
        sys.stderr.write(f"headway-host: {last.sentence}\n")
        return last.exit_code
    if isinstance(last, Done):
        if last.sentence:
            sys.stdout.write(last.sentence + "\n")
        return last.exit_code
    return Exit.UNKNOWN


def _compose(project: str, *words: str) -> int:
    """Become Compose with the files, variables and profiles that are recorded for a project."""
    from headway.runner.containers import compose

    try:
        stack, known = compose.recorded(Disk(), project), compose.projects(Disk())
    except PermissionError as error:
        sys.stderr.write(f"headway-host: {error}\n")
        return Exit.REFUSED
    if stack is not None:
        become(compose.argv(stack, *words))
    there = ", ".join(known) or "none"
    sys.stderr.write(f"headway-host: no project {project!r} is recorded; there is {there}\n")
    return Exit.USAGE


def _by() -> str:
    return f"{os.environ.get('SUDO_USER') or 'root'} on the host"


_VERBS: Dict[str, Callable[[List[str]], FromController]] = {
    "status": lambda _: Look(),
    "history": lambda _: Look(history=True),
    "diagnose": lambda _: Diagnose(),
    "rollback": lambda words: Rollback(Orders(_by()), to="".join(words[:1])),
    "evict": lambda words: Evict(Orders(_by(), may_kill=tuple(words))),
    "resume": lambda _: Request("resume", _by()),
    "accept": lambda _: Request("accept", _by()),
    "abort": lambda _: Request("abort", _by()),
}


def _words(value: FromHost) -> List[str]:
    if isinstance(value, Looked):
        return _looked(value)
    if isinstance(value, Said):
        return _event(value.event)
    if isinstance(value, Diagnosed):
        return _diagnosed(value)
    return []


def _diagnosed(told: Diagnosed) -> List[str]:
    host = os.uname().nodename
    rows: List[str] = []
    for number, cause in enumerate(told.causes, 1):
        about = f"{cause.about}: " if cause.about else ""
        rows.append(f"{number} {about}{cause.sentence}")
        rows.extend(f"  | {line}" for line in cause.evidence)
        rows.append(f"  helps: {cause.help}")
        rows.append(f"  type: {cause.command.replace('{host}', host)}")
    rows.extend(f"not seen: {sentence}" for sentence in told.unseen)
    return rows if told.causes else [*rows, f"nothing found; looked at: {', '.join(told.looked)}"]


def _looked(looked: Looked) -> List[str]:
    state = looked.state
    head = state.accepted[0] if state.accepted else None
    rows = [f"release   {state.running()}"]
    if head is not None:
        rows[0] += f", accepted {_when(head.at_ms)} by {head.by}"
    if state.phase is not Phase.IDLE:
        rows.append(f"phase     {state.phase.value}, transition {state.transition}: {state.why}")
    if state.parked is not None:
        rows.append(f"parked    by {state.parked.by}: {state.parked.reason}")
    rows.extend(f"part      {name}: {sentence}" for name, sentence in looked.alive.items())
    rows.extend(f"drift     {entry.part}: {entry.sentence}" for entry in looked.drift)
    rows.extend(
        f"kept      {old.release}{' (withdrawn)' if old.withdrawn else ''}, {_when(old.at_ms)}"
        for old in state.accepted[1:]
    )
    for event in looked.history:
        rows.extend(f"{event.transition}  {row}" for row in _event(event))
    return rows


def _event(event: Event) -> List[str]:
    words = _SAID.get(type(event.body))
    return [] if words is None else [words(event.body)]


def _reported(body: Reported) -> str:
    report = body.report
    first = report.evidence[0] if report.evidence else ""
    return f"{report.part}  {report.gate}  {report.verdict.value}  {first}"


def _left(body: Rung) -> str:
    return "; ".join(body.after) or "nothing of it is left"


_SAID: Dict[Type[Body], Callable[[Any], str]] = {
    Rested: lambda body: f"{body.outcome}: {body.sentence}",
    Moved: lambda body: f"{body.frm.value} -> {body.to.value}{': ' * bool(body.why)}{body.why}",
    StepDone: lambda body: (
        f"{body.part or 'host'}  {body.step}  {body.took_ms / 1000:.1f} s  {body.detail}"
    ),
    Rung: lambda body: f"{body.part or 'host'}  evict {body.rung}  {body.sentence or _left(body)}",
    Noted: lambda body: f"note: {body.text}",
    Waiting: lambda body: f"{body.part}  {body.gate}  waits: {body.reason}",
    Reported: _reported,
    Asked: lambda body: f"{body.ask.part or 'host'}  asks to {body.ask.what}: {body.ask.detail}",
    Replied: lambda body: f"{body.answer.value}, by {body.answer.by}",
}
"""What of an event a person reads, by its kind; the rest is for programs."""


def _when(at_ms: int) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at_ms / 1000))
