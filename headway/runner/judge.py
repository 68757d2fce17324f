"""One gate, asked until it answers or its time is over, and weighed by what became of its subject.

Between two questions the subject is looked at: a unit that died ends the gate at once, whatever
the check still waits for.
"""

import importlib
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Callable, Optional, Tuple

from headway.runner import last_words, supervisor
from headway.runner.beside import Beside, Companion
from headway.runner.clock import Clock
from headway.runner.hush import hushed
from headway.runner.machine import Machine
from headway.runner.supervisor_error import SupervisorError
from headway.runner.tools import Differences, tools_of
from headway.runner.tools.journals import journals_of
from headway.wire.event import Body, Waiting
from headway.wire.gate import Answered, Gate, Judgement, Report, Subject
from headway.wire.loader import WireError, load
from headway.wire.release import Part
from headway.wire.resources import is_container
from headway.wire.tools import Tools
from headway.wire.verdict import Fate, Verdict, judged

FIRST_LOAD_S = 30 * 60  # nothing was ever loaded here: weights may come over a network
LEAST_LOAD_S = 60
_SAY_AGAIN_MS = 15_000
_ASK_AGAIN_S = (0.1, 0.1, 0.2, 0.3, 0.5)  # then every second
_NEXT_TRY_S = 2
_MOMENTS = {"before": ("before",), "between": ("between", "after"), "last": ("last",)}
_BESIDE_S = 30  # for one look of a gate that is asked beside another


class CheckError(Exception):
    """A gate's kind has no check that can be used here: one sentence."""


def load_check(name: str) -> ModuleType:
    """Import the check that a gate's kind names; it lies in headway_checks beside headway."""
    try:
        check = importlib.import_module("headway_checks." + name)
    except ImportError as error:
        raise CheckError(f"check {name!r} cannot be loaded: {error}") from None
    if not hasattr(check, "Params") or not hasattr(check, "judge"):
        raise CheckError(f"check {name!r} has no Params or no judge: {check.__file__}")
    return check


def when(check: ModuleType) -> Tuple[str, ...]:
    """Say at which moments a check is asked, by its WHEN and DURING.

    "before" any stop; "between" stop and start; "after" the start; "last", after all others,
    those judged outside, too; "during" each of the others.
    """
    moments = _MOMENTS.get(getattr(check, "WHEN", ""), ("after",))
    return (*moments, "during") if getattr(check, "DURING", False) else moments


def start_deadline_s(gate: Gate, load_ms: int) -> int:
    """Give a start's deadline: the gate's own, else 3 times the last load here, else 30 minutes."""
    if gate.deadline_s:
        return gate.deadline_s
    return max(LEAST_LOAD_S, 3 * load_ms // 1000) if load_ms else FIRST_LOAD_S


def deadline_s_of(gate: Gate, check: ModuleType, load_ms: int) -> int:
    """Give a gate's deadline: its own, else its kind's; a kind without one waits for a start.

    A check whose length is a parameter says `deadline_s(params)` instead of DEADLINE_S.
    """
    own: int = gate.deadline_s or getattr(check, "DEADLINE_S", 0)
    if not own and hasattr(check, "deadline_s"):
        try:
            own = check.deadline_s(load(check.Params, gate.params, (gate.name,)))
        except WireError:
            return LEAST_LOAD_S  # whoever asks it says what is wrong with its parameters
    return own or start_deadline_s(gate, load_ms)


def judge_gate(  # noqa: PLR0913, PLR0917 # each is a seam of its own
    gate: Gate,
    check: ModuleType,
    machine: Machine,
    part: Part,
    tell: Callable[[Body], None],
    clock: Clock,
    *,
    load_ms: int = 0,
    leaving: Tuple[str, ...] = (),
    between: bool = False,
    beside: Tuple[Gate, ...] = (),
    killed: bool = False,
    differences: Differences = lambda _part: (),
    should_stop: Callable[[], bool] = lambda: False,
) -> Report:
    """Ask one gate, further tries after a FAIL included, all within its one deadline.

    `leaving` are units that will be stopped before the part starts. `between`: they are stopped,
    and the part is written and not started yet. Gates `beside` it are asked all the while.
    `killed`: what ran of the part before did not go by itself.
    """
    began = clock.boot_ms()
    until = began + 1000 * deadline_s_of(gate, check, load_ms)
    asking = _Asking(
        gate=gate,
        check=check,
        machine=machine,
        part=part,
        tell=tell,
        clock=clock,
        began=began,
        until=until,
        leaving=leaving,
        between=between,
        companions=tuple((one, load_check(one.kind)) for one in beside),
        killed=killed,
        differences=differences,
        should_stop=should_stop,
        hush=hushed(machine, part),
    )
    for left in range(gate.retries, -1, -1):
        report = asking.once()
        over = clock.boot_ms() >= until or report.fate is not Fate.SAME
        if report.verdict is not Verdict.FAIL or over or not left:
            break
        clock.sleep(_NEXT_TRY_S)
    return report


@dataclass
class _Asking:
    """One gate being asked; times are milliseconds since boot."""

    gate: Gate
    check: ModuleType
    machine: Machine
    part: Part
    tell: Callable[[Body], None]
    clock: Clock
    began: int
    until: int
    leaving: Tuple[str, ...]
    between: bool
    killed: bool
    companions: Tuple[Companion, ...]
    differences: Differences
    should_stop: Callable[[], bool]
    hush: Callable[[str], str]
    said: Tuple[str, int] = ("", 0)
    warned: Callable[[], Optional[Judgement]] = lambda: None

    def once(self) -> Report:
        """Ask until there is an answer, and report it with the subject before and after."""
        unit = self.part.subject.unit if self.part.subject else ""
        try:
            before = supervisor.current(self.machine, unit) if unit else None
            early = self.between or "before" in when(self.check)
            weighed = bool(unit) and not early
            if weighed and before is None:
                fate, dead, how = supervisor.absent(unit, self.machine)
                answer = self._with_last_words(_unjudged(f"{unit} is not running"), fate, dead)
                return self._report(answer, fate, how, dead, None)
            answer = self._answer(before, weighed=weighed)
            if before is None or not weighed:
                return self._report(answer, Fate.SAME, "", before, before)
            fate, after, how = supervisor.fate(before, self.machine)
            answer = self._with_last_words(answer, fate, before)
            return self._report(answer, fate, how, before, after)
        except SupervisorError as error:
            return self._report(_unjudged(str(error)), Fate.SAME, "", None, None)

    def _answer(self, before: Optional[Subject], *, weighed: bool) -> Judgement:
        try:
            params = load(self.check.Params, self.gate.params, (self.gate.name,))
        except WireError as error:
            return _unjudged(str(error))
        judged = before if weighed else None
        with Beside(self.companions, self._tools_beside) as beside:
            self.warned = lambda: beside.warning
            answer = self._until_answered(params, before, judged)
        return beside.ends(answer)

    def _until_answered(
        self, params: object, before: Optional[Subject], judged: Optional[Subject]
    ) -> Judgement:
        tools = self._tools(judged)
        pauses = iter(_ASK_AGAIN_S)
        while True:
            answered = self._ask(params, before, tools)
            if isinstance(answered, Judgement):
                return answered
            if self.should_stop():
                return _unjudged(f"called off while waiting: {answered.reason}")
            if self.clock.boot_ms() >= self.until:
                allowed = (self.until - self.began) // 1000
                return Judgement(answered.then, (f"after {allowed} s: {answered.reason}",))
            self._say(answered.reason)
            self.clock.sleep(min(next(pauses, 1), max(0, self._left_ms() / 1000)))
            if self._fate(judged)[0] is not Fate.SAME:
                return _unjudged(f"while waiting: {answered.reason}")

    def _tools(self, judged: Optional[Subject]) -> Tools:
        present = (supervisor.current(self.machine, unit) for unit in self.leaving)
        return tools_of(
            self.machine,
            self.part,
            self.differences,
            self._left_s,
            leaving=tuple(launch.cgroup for launch in present if launch is not None),
            between=self.between,
            killed=self.killed,
            baseline=self.gate.baseline,
            fate=lambda: self._fate(judged),
        )

    def _tools_beside(self, gate: Gate) -> Tools:
        return tools_of(
            self.machine, self.part, self.differences, lambda: _BESIDE_S, baseline=gate.baseline
        )

    def _fate(self, before: Optional[Subject]) -> Tuple[Fate, str]:
        """Say what became of the launch that is weighed, if any is; called off, it is TAKEN."""
        warning = self.warned()
        if warning is not None:
            return Fate.TAKEN, warning.evidence[0]
        if before is None:
            return Fate.SAME, ""
        fate, _, how = supervisor.fate(before, self.machine)
        return fate, how

    def _ask(self, params: object, before: Optional[Subject], tools: Tools) -> Answered:
        """Put the question once; a check that breaks has judged nothing."""
        try:
            answered: Answered = self.check.judge(params, before, tools)
        except Exception as error:  # noqa: BLE001 # an operator's check may raise anything
            return _unjudged(f"check {self.gate.kind} broke: {type(error).__name__}: {error}")
        return answered

    def _with_last_words(self, answer: Judgement, fate: Fate, dead: Optional[Subject]) -> Judgement:
        """Add why a launch ended, or who stopped it."""
        if fate is Fate.SAME or dead is None:
            return answer
        run = self.machine.run
        if fate is Fate.DIED:
            lines = journals_of(self.machine).of(dead).lines
            told = last_words.of_the_dead(run, dead, lines)
        else:
            told = () if is_container(dead.unit) else last_words.of_the_taken(run, dead)
        return replace(answer, evidence=(*told, *answer.evidence))

    def _say(self, reason: str) -> None:
        """Tell why nothing moves: when the reason changes, and every 15 s."""
        now, reason = self.clock.boot_ms(), self.hush(reason)
        said, at = self.said
        if reason != said or now - at >= _SAY_AGAIN_MS:
            self.said = (reason, now)
            self.tell(Waiting(self.part.name, self.gate.name, reason, now - self.began))

    def _left_ms(self) -> int:
        return self.until - self.clock.boot_ms()

    def _left_s(self) -> int:
        """Give what is left of the deadline, at least a second, for one request or command."""
        return max(1, -(-self._left_ms() // 1000)) if self.warned() is None else 1

    def _report(
        self,
        answer: Judgement,
        fate: Fate,
        how: str,
        before: Optional[Subject],
        after: Optional[Subject],
    ) -> Report:
        fallen = () if fate is Fate.SAME else (f"{fate.value}: {how}",)
        return Report(
            gate=self.gate.name,
            kind=self.gate.kind,
            part=self.part.name,
            verdict=judged(answer.verdict, fate),
            fate=fate,
            before=before,
            after=after,
            evidence=tuple(map(self.hush, (*fallen, *answer.evidence))),
            measurements=answer.measurements,
            findings=answer.findings,
            took_ms=self.clock.boot_ms() - self.began,
        )


def _unjudged(sentence: str) -> Judgement:
    return Judgement(Verdict.INVALID, (sentence,))
