"""Judges gates for a transition, for a check, and for the quick look at an unchanged host."""

from dataclasses import dataclass, replace
from types import ModuleType
from typing import Callable, Tuple

from headway.runner import judge, observe
from headway.runner.clock import Clock
from headway.runner.desk import Desk
from headway.runner.machine import Machine
from headway.runner.supervisor import current
from headway.runner.teller import Teller
from headway.runner.tools import Differences, tools_of
from headway.runner.watch import Watch
from headway.runner.work import Judge, Question
from headway.wire.event import Body
from headway.wire.gate import Gate, Judgement, Report
from headway.wire.loader import load
from headway.wire.release import Part
from headway.wire.tools import Http
from headway.wire.verdict import Fate, Verdict

QUICK_S = 10


def judge_for(machine: Machine, clock: Clock, watch: Watch) -> Callable[[Teller, Desk], Judge]:
    """Make the judge of a transition: it tells why it waits, and stops when called off."""

    def made(tell: Teller, desk: Desk) -> Judge:
        return _Judge(machine, clock, watch, tell, lambda: bool(desk.wish()))

    return made


def judge_now(machine: Machine, clock: Clock, question: Question) -> Report:
    """Judge what runs now, telling nobody why it waits."""
    return _Judge(machine, clock, Watch(), lambda _body: None, lambda: False)(question)


def once(machine: Machine, gate: Gate, part: Part, http: Http) -> Tuple[Verdict, str]:
    """Ask a gate one time, through this `http`: what does not answer at once does not pass."""
    check = judge.load_check(gate.kind)
    subject = current(machine, part.subject.unit) if part.subject else None
    tools = replace(tools_of(machine, part, _inside(machine), lambda: QUICK_S), http=http)
    answer = check.judge(load(check.Params, gate.params), subject, tools)
    if isinstance(answer, Judgement):
        return answer.verdict, answer.evidence[0] if answer.evidence else ""
    return answer.then, answer.reason


@dataclass(frozen=True)
class _Judge:
    """Asks gates of one machine."""

    machine: Machine
    clock: Clock
    watch: Watch
    tell: Callable[[Body], None]
    should_stop: Callable[[], bool]

    def __call__(self, question: Question) -> Report:
        """Judge one gate; a kind without a check has judged nothing."""
        gate, part = question.gate, question.part
        try:
            check = judge.load_check(gate.kind)
            return self._judged(question, check)
        except judge.CheckError as error:
            why = (str(error),)
            return Report(
                gate.name, gate.kind, part.name, Verdict.INVALID, Fate.SAME, None, None, why
            )

    def _judged(self, question: Question, check: ModuleType) -> Report:
        early = "before" in judge.when(check)
        self.watch.expect(judge.deadline_s_of(question.gate, check, question.load_ms))
        return judge.judge_gate(
            question.gate,
            check,
            self.machine,
            question.part,
            self.tell,
            self.clock,
            load_ms=question.load_ms,
            leaving=question.leaving if early else (),
            between=question.between,
            beside=question.beside,
            killed=question.killed,
            differences=_inside(self.machine),
            should_stop=self.should_stop,
        )


def _inside(machine: Machine) -> Differences:
    """Look at a part as a transition does: whether units start at boot is set last."""

    def differences(part: Part) -> Tuple[str, ...]:
        return observe.sentences(part, machine, enabled=False)

    return differences


def when(kind: str) -> Tuple[str, ...]:
    """Say at which moments a kind of gate is asked; one without a check after the start."""
    try:
        return judge.when(judge.load_check(kind))
    except judge.CheckError:
        return ("after",)
