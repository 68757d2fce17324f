"""Puts the gates of a transition to whoever judges them, and keeps what they report."""

from typing import Callable, Dict, List, Tuple

from headway.runner.beside import beside
from headway.runner.work import Question, Work
from headway.wire.event import Reported
from headway.wire.gate import Criteria, Gate, Report, Where
from headway.wire.loader import WireError, loads
from headway.wire.record import Transition
from headway.wire.release import Part
from headway.wire.verdict import Fate, Verdict

OUTSIDE_S = 10 * 60
_STANDING = ("in_place", "health")  # what a rollback, and every way back, is judged by


class Hearing:
    """The gates of one transition. `units` are those that it stops before it starts any."""

    def __init__(
        self,
        work: Work,
        transition: Transition,
        units: Tuple[str, ...],
        when: Callable[[str], Tuple[str, ...]],
    ) -> None:
        """`when` says of a kind of gate at which moments it is asked (judge.when)."""
        self.work = work
        self.kind = transition.kind
        self.units = units
        self.criteria = work.records.criteria(transition.criteria) or Criteria("none", (), "")
        self.reports: List[Report] = list(work.records.reports(transition.id))
        self.load_ms: Dict[str, int] = {}
        self._when = when
        self._started_ms: Dict[str, int] = {}

    # --- which ---------------------------------------------------------------------------------

    def before(self, part: str) -> Tuple[Gate, ...]:
        """Name the gates of a part that are asked before anything is stopped; none of a rollback's.

        A way back must not be refused for want of room that it does not need.
        """
        return self._early(part, "before")

    def between(self, part: str) -> Tuple[Gate, ...]:
        """Name the gates of a part that are asked while it is down: the cards are free then."""
        return self._early(part, "between")

    def after_start(self, part: str) -> Tuple[Gate, ...]:
        """Name the gates of a part that are asked after its start: inside, outside, the last."""
        mine = [
            gate
            for gate in self.criteria.gates
            if gate.part == part and "before" not in self._when(gate.kind)
        ]
        if self.kind == "rollback":
            mine = [gate for gate in mine if gate.kind in _STANDING]
        if self.kind != "rollout":
            mine = mine or [Gate("in_place", "in_place", part)]
        last = {gate.name: "last" in self._when(gate.kind) for gate in mine}
        return tuple(sorted(mine, key=lambda gate: (last[gate.name], gate.where is Where.OUTSIDE)))

    def on_return(self, part: str, start: str) -> Tuple[Gate, ...]:
        """Name what going back is judged by: in_place and health, as `start` was accepted."""
        state = self.work.records.state()
        mine = next((a for a in state.accepted if a.release == start), None)
        criteria = self.work.records.criteria(mine.criteria) if mine else None
        recorded = tuple(
            gate
            for gate in (criteria.gates if criteria else ())
            if gate.part == part and gate.kind in _STANDING
        )
        return recorded or (Gate("in_place", "in_place", part),)

    def outside(self) -> bool:
        """Say whether anything is judged through the network."""
        return any(gate.where is Where.OUTSIDE for gate in self.criteria.gates)

    def _early(self, part: str, when: str) -> Tuple[Gate, ...]:
        if self.kind == "rollback":
            return ()
        mine = (gate for gate in self.criteria.gates if gate.part == part)
        return tuple(gate for gate in mine if when in self._when(gate.kind))

    # --- asking --------------------------------------------------------------------------------

    def starts(self, part: str) -> None:
        """Note that a part starts now: its load is measured from here."""
        self._started_ms[part] = self.work.clock.boot_ms()

    def judge(self, gate: Gate, part: Part, *, between: bool = False) -> Report:
        """Have a gate judged, tell it, and keep the report."""
        if gate.where is Where.OUTSIDE:
            report = self._judged_outside(gate, part)
        else:
            accepted = self.work.records.state().accepted
            known = accepted[0].load_ms.get(part.name, 0) if accepted else 0
            standing = gate.kind in _STANDING  # warm air must not keep a host from going back
            others = () if standing else beside(gate, self.criteria.gates, self._when)
            killed = part.name in {*self.work.steps.killed, *self.work.freeing.killed}
            question = Question(gate, part, known, self.units, between, others, killed)
            report = self.work.judge(question)
        if gate.kind == "health" and report.verdict is Verdict.PASS:
            self._measure_load(part.name)
        self.reports.append(report)
        self.work.tell(Reported(report))
        return report

    def _measure_load(self, part: str) -> None:
        started = self._started_ms.get(part)
        if started is not None:
            self.load_ms.setdefault(part, self.work.clock.boot_ms() - started)

    def _judged_outside(self, gate: Gate, part: Part) -> Report:
        """Ask the controller to judge through the network; silence judges nothing."""
        deadline_s = gate.deadline_s or OUTSIDE_S
        value = self.work.desk.ask("outside", part.name, gate.name, deadline_s, "silence")
        try:
            report = loads(Report, value)
        except WireError:
            report = None
        if report is not None and (report.gate, report.part) == (gate.name, part.name):
            return report
        said = (f"no report from outside: {value[:200]}",)
        return Report(gate.name, gate.kind, part.name, Verdict.INVALID, Fate.SAME, None, None, said)


def sentence(report: Report) -> str:
    """Say what a gate found in one line."""
    first = report.evidence[0] if report.evidence else "no evidence"
    return f"gate {report.gate} of {report.part}: {report.verdict.value}: {first}"
