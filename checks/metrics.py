"""The engine's own counters are as expected: their values since this launch, or how far they go."""

import time
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Dict, List, Optional, Tuple

from headway.wire import engines
from headway.wire.compare import CompareError, holds
from headway.wire.evidence import shown
from headway.wire.findings import known
from headway.wire.gate import Answered, Judgement, Measurement, Subject
from headway.wire.loader import Json
from headway.wire.tools import Tools, Unreached
from headway.wire.verdict import Verdict
from headway_checks.asking.answers import Settled, unjudged
from headway_checks.asking.counters import samples, total
from headway_checks.asking.service import LOCKED, OK, Service, meet

DEADLINE_S = 60
_NONE_TAKEN = 1000  # a mean acceptance length of 1.000: the model's own token alone
_STEADY = 20  # drafts from which on it is no chance that none of their tokens was taken


@dataclass(frozen=True)
class Expect:
    """A metric and what it must be.

    `metric` is a meaning of the engine's table (preempted, kv_use, rejected ...) or the name of a
    series; `labels` pick among its series, which are added up. A fraction is written as text.
    """

    metric: str
    value: Json
    op: str = "=="
    labels: Dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Params:
    """What to expect; without any, that nothing was preempted, where the engine counts it.

    Counters begin at 0 with the launch: what they show is the whole acceptance run. On a launch
    that has served for days `window_s` looks at how far they go in so many seconds instead.
    """

    engine: str
    expect: Tuple[Expect, ...] = ()
    window_s: int = 0
    port: int = 0


def judge(params: Params, subject: Optional[Subject], tools: Tools) -> Answered:
    """Read them, once or twice; a series that is not there is INVALID, and why is said."""
    try:
        service = meet(tools, subject, params.engine, params.port)
        return _Look(params, service).judged()
    except Settled as settled:
        return settled.answer


class _Look:
    """One look at the metrics of a launch."""

    def __init__(self, params: Params, service: Service) -> None:
        self.params = params
        self.service = service
        self.again = service.again("metrics")
        self.wrong: List[str] = []
        self.absent: List[str] = []
        self.seen: List[str] = []
        self.findings: List[str] = []
        self.measured: List[Measurement] = []

    def judged(self) -> Judgement:
        """Compare every metric that is asked for, and see that drafts are taken."""
        table = self.service.table
        by_default = (Expect("preempted", 0),) if "preempted" in table.counters else ()
        expected = self.params.expect or by_default
        self._counted()
        before = self._page() if self.params.window_s else b""
        if self.params.window_s:
            time.sleep(min(self.params.window_s, max(1, self.service.tools.left_s() - 5)))
            self.service.stays(self.again)
        after = self._page()
        for one in expected:
            self._compare(one, before, after)
        self._drafts(after)
        if not (expected or self.seen or self.findings):
            said = f"{table.name} counts no preemptions, and nothing else is expected"
            unjudged(said, self.again)
        verdict = Verdict.FAIL if self.wrong else Verdict.INVALID if self.absent else Verdict.PASS
        evidence = (*self.wrong, *self.absent, *self.seen, self.again)
        return Judgement(verdict, evidence, tuple(self.measured), tuple(self.findings))

    def _counted(self) -> None:
        """See that this launch counts at all: with several API servers vLLM stops it."""
        off = self.service.table.pattern("stats_off")
        lines = self.service.tools.journal.of(self.service.subject).lines if off else ()
        said = next((one.text for one in lines if off and engines.matching(one.text, [off])), "")
        if said:
            unjudged(f"its metrics are incomplete, the log says: {shown(said)}", self.again)

    def _page(self) -> bytes:
        try:
            answer = self.service.ask("metrics")
        except Unreached as error:
            self.service.stays(str(error))
            unjudged(str(error), self.again)
        if answer.status in LOCKED:
            unjudged(f"its metrics are locked: it answers {answer.status}", self.again)
        if answer.status != OK:
            option = self.service.table.metrics_option
            how = f"; start it with {option}" if option else ""
            unjudged(f"it shows no metrics: it answers {answer.status}{how}", self.again)
        return answer.body

    def _compare(self, one: Expect, before: bytes, after: bytes) -> None:
        now = self._value(one, after)
        then = self._value(one, before) if self.params.window_s else Decimal(0)
        if now is None or then is None:
            self.absent.append(self._why_absent(one))
            return
        seen = now - then
        during = f" in {self.params.window_s} s" if self.params.window_s else ""
        said = f"{_worded(one)} is {seen}{during}"
        try:
            right = holds(one.op, str(seen), one.value)
        except CompareError as error:
            self.absent.append(f"{_worded(one)}: {error}")
            return
        (self.seen if right else self.wrong).append(f"{said}, expected {one.op} {one.value}")
        if seen == seen.to_integral_value():
            self.measured.append(Measurement(one.metric, int(seen), "count"))

    def _value(self, one: Expect, page: bytes) -> Optional[Decimal]:
        """Add up the picked series, under the first of the metric's names that is there."""
        for name in self.service.table.counters.get(one.metric, (one.metric,)):
            picked = [
                sample.value
                for sample in samples(page, name)
                if one.labels.items() <= dict(sample.labels).items()
            ]
            if picked:
                return sum(picked, Decimal(0))
        return None

    def _why_absent(self, one: Expect) -> str:
        """Say what it means that a series is not there: absence may itself be the evidence."""
        table = self.service.table
        names = table.counters.get(one.metric, (one.metric,))
        shown_as = [f"{name} ({span})" if (span := table.span(name)) else name for name in names]
        said = f"there is no {_worded(one)}: looked for {' or '.join(shown_as)}"
        when_on = (name for meaning in table.absent_when_off for name in table.counters[meaning])
        off = set(names) & set(when_on)
        return f"{said}; it is shown only with speculative decoding: it is off" if off else said

    def _drafts(self, page: bytes) -> None:
        """Fail where drafts are made and none is taken: HTTP 200 all the same (C29)."""
        counters = self.service.table.counters
        drafts, accepted, length = (
            total(page, counters.get(name, ()))
            for name in ("drafts", "accepted", "acceptance_length")
        )
        generated = total(page, counters.get("generated", ()))
        if drafts is not None and accepted is not None and drafts > 0:
            milli = int(1000 + 1000 * accepted / drafts)
        elif length is not None and generated:
            drafts, milli = generated, int(1000 * length)
        else:
            return
        said = f"mean acceptance length {milli / 1000:.2f} over {drafts} drafts"
        self.measured.append(Measurement("acceptance_length", milli, "milli"))
        if milli > _NONE_TAKEN or drafts < _STEADY:
            self.seen.append(said)
            return
        meaning = known("draft-acceptance-zero")
        self.findings.append("draft-acceptance-zero")
        self.wrong.append(f"draft-acceptance-zero: {said}; {meaning.sentence}; {meaning.help}")


def _worded(one: Expect) -> str:
    labels = ",".join(f'{name}="{value}"' for name, value in one.labels.items())
    return f"{one.metric}{{{labels}}}" if labels else one.metric
