"""The engine runs with what the release declares: by argv, its log, its API and the checkpoint."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Dict, List, Optional, Tuple

from headway.wire import engines
from headway.wire.by_hand import log_argv
from headway.wire.compare import CompareError, holds, number
from headway.wire.evidence import by_hand, shown
from headway.wire.findings import known
from headway.wire.gate import Answered, Judgement, Measurement, Subject
from headway.wire.loader import Json
from headway.wire.tools import Journal, Tools
from headway.wire.verdict import Verdict
from headway_checks.asking.answers import Settled
from headway_checks.asking.effective import Sources, same
from headway_checks.asking.service import meet

DEADLINE_S = 60
_UNITS = {"context": "tokens", "kv_tokens": "tokens", "draft_depth": "count"}
_SHRUNK = 10  # so many times smaller is a finding of its own


@dataclass(frozen=True)
class Params:
    """What is declared, by the engine's settings: context, kv_dtype, kv_tokens, draft_depth ...

    `expect` gives each its value, or conditions on it as in `kv_tokens: {">=": 100000}`; a fraction
    is written as text, a chat template as the `sha256:...` that the evidence shows. `accept` gives
    reasons, by setting, by key of the engine's own arguments or by finding, for what would fail.
    With a baseline the KV pool must lie within `pool_percent` of it, both ways.
    """

    engine: str
    port: int = 0
    expect: Dict[str, Json] = field(default_factory=dict)
    accept: Dict[str, str] = field(default_factory=dict)
    pool_percent: Tuple[int, ...] = (80, 125)


def judge(params: Params, subject: Optional[Subject], tools: Tools) -> Answered:
    """Compare what is meant, given, requested and resolved; whatever nobody says is INVALID."""
    try:
        service = meet(tools, subject, params.engine, params.port)
    except Settled as settled:
        return settled.answer
    journal = tools.journal.of(service.subject)
    port = params.port or tools.part.listens[0]
    sources = Sources(service, port, (line.text for line in journal.lines if line.own))
    return _Comparison(params, sources, journal).judged()


class _Comparison:
    """One launch's settings being compared; what is wrong, unknown and seen gathers."""

    def __init__(self, params: Params, sources: Sources, journal: Journal) -> None:
        self.params = params
        self.sources = sources
        self.journal = journal
        self.service = sources.service
        self.wrong: List[str] = []
        self.unknown: List[str] = []
        self.seen: List[str] = []
        self.findings: List[str] = []
        self.measured: List[Measurement] = []

    def judged(self) -> Judgement:
        """Compare all there is."""
        table = self.service.table
        strange = [name for name in self.params.expect if name not in table.settings]
        if strange:
            there = ", ".join(sorted(table.settings))
            said = f"{table.name} has no setting {', '.join(strange)}; there are {there}"
            return Judgement(Verdict.INVALID, (said,))
        self._command_line()
        self._named_lines()
        for name in table.settings:
            self._setting(name)
        for key, (asked, got) in self.sources.changed().items():
            self._differs(key, f"{key} was asked for as {asked} and resolved to {got}")
        if not self.journal.complete:
            self.unknown.append(f"the journal is incomplete: {self.journal.why}")
        verdict = Verdict.FAIL if self.wrong else Verdict.INVALID if self.unknown else Verdict.PASS
        evidence = (*self.wrong, *self.unknown, *self.seen, *self._again())
        found = tuple(dict.fromkeys(self.findings))
        return Judgement(verdict, evidence, tuple(self.measured), found)

    def _command_line(self) -> None:
        """Compare what the process was given with what the release means; name what is twice."""
        meant, given = self.sources.meant, self.sources.given
        for option in sorted({*meant, *given} if meant else ()):
            ours, theirs = meant.get(option, "absent"), given.get(option, "absent")
            if ours != theirs:
                said = f"{option} is {shown(theirs)} in argv, {shown(ours)} in the release"
                self._differs(option, said)
        names = (word.partition("=")[0] for word in self.sources.words if word.startswith("-"))
        short = self.service.table.options
        counted = Counter(short.get(name, name) for name in names)
        for option in (name for name, n in counted.items() if n > 1 and name.startswith("--")):
            self._found("option-twice", f"{option} is given {counted[option]} times in argv")

    def _named_lines(self) -> None:
        """Find the lines that a release must do without or accept."""
        for line in self.sources.lines:
            pattern = engines.matching(line, self.service.table.named)
            if pattern is not None and pattern.finding not in self.findings:
                self._found(pattern.finding, f"the log says: {shown(line)}")

    def _setting(self, name: str) -> None:
        effective = self.sources.effective(name)
        declared = name in self.params.expect
        if effective is None:
            if declared:
                self.unknown.append(f"nothing says what {name} is")
            return
        self.seen.append(f"{name}: {effective}")
        count = number(effective.value) if name in _UNITS else None
        if count is not None:
            self.measured.append(Measurement(name, int(count), _UNITS[name]))
        if declared:
            self._declared(name, effective.value, str(effective))
        else:
            asked = [
                one for one in self.sources.asked(name) if not same(one.value, effective.value)
            ]
            for one in asked:
                self._differs(name, f"{name} was asked for as {one} and is {effective}")
        if name == "kv_tokens" and count is not None:
            self._pool(int(count))

    def _declared(self, name: str, seen: str, shown_as: str) -> None:
        wanted = self.params.expect[name]
        conditions = wanted if isinstance(wanted, dict) else {"==": wanted}
        for op, value in conditions.items():
            try:
                right = same(seen, str(value)) if op == "==" else holds(op, seen, value)
            except CompareError as error:
                self.unknown.append(f"{name}: {error}")
                continue
            if not right:
                self._differs(name, f"{name} is {shown_as}, declared is {op} {value}")

    def _pool(self, now: int) -> None:
        """Compare the KV pool with the baseline: the same flags gave x0.4 to x10 (C30)."""
        baseline = self.service.tools.baseline
        pinned = baseline.of("kv_tokens") if baseline else None
        if baseline is None or pinned is None or not pinned.value:
            return
        share = 100 * now // pinned.value
        least, most = self.params.pool_percent
        said = (
            f"the KV pool has room for {now} tokens, {share} % of {baseline.name}'s {pinned.value}"
        )
        if now * _SHRUNK <= pinned.value:
            self._found("kv-pool-shrunk", said)
        elif not least <= share <= most:
            self._differs("kv_tokens", f"{said}; {least} to {most} % are allowed")
        else:
            self.seen.append(said)

    def _found(self, finding: str, said: str) -> None:
        self.findings.append(finding)
        meaning = known(finding)
        self._differs(finding, f"{finding}: {said}; {meaning.sentence}; {meaning.help}")

    def _differs(self, name: str, said: str) -> None:
        """Hold a difference against the launch, unless a reason for it was given."""
        reason = self.params.accept.get(name)
        if reason:
            self.seen.append(f"accepted ({reason}): {said}")
        else:
            self.wrong.append(said)

    def _again(self) -> List[str]:
        pages = [what for what in ("config", "models", "metrics") if self.service.has(what)]
        argv = ["xargs", "-0", "-a", f"/proc/{self.service.subject.pid}/cmdline", "printf", "%s\\n"]
        by_page = [self.service.again(what) for what in pages]
        return [*by_page, by_hand(argv), by_hand(log_argv(self.service.subject))]
