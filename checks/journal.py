"""The log of this very launch has the lines it must have, and none that it must not have."""

import re
from dataclasses import dataclass, replace
from typing import Iterable, List, Optional, Tuple

from headway.wire import engines
from headway.wire.by_hand import log_argv
from headway.wire.compare import CompareError, holds
from headway.wire.evidence import by_hand, shown, some
from headway.wire.gate import Answered, Judgement, Subject, Wait
from headway.wire.loader import Json
from headway.wire.tools import JournalLine, Tools
from headway.wire.verdict import Verdict

DEADLINE_S = 15


@dataclass(frozen=True)
class Capture:
    """A value out of the log: `group` of the pattern (its first one) compared by `op`."""

    pattern: str
    value: Json
    op: str = "=="
    group: str = ""


@dataclass(frozen=True)
class Params:
    """Patterns are regular expressions; `@kv_tokens` is that pattern of the engine's table.

    `@named` in `forbid` is every line of the table that a release must accept by name; `accept`
    lists those accepted here, by the line's id or its finding's. A finding is reported all the
    same: a run with a degradation sets no baseline. `require` and `capture` look at the service's
    own lines, `forbid` at systemd's words about it, too.
    """

    engine: str = ""
    require: Tuple[str, ...] = ()
    forbid: Tuple[str, ...] = ()
    accept: Tuple[str, ...] = ()
    capture: Tuple[Capture, ...] = ()


class UnknownPatternError(Exception):
    """An id that the engine's table does not have."""


def judge(params: Params, subject: Optional[Subject], tools: Tools) -> Answered:
    """Judge a whole record only: from one with a hole nothing follows, neither way."""
    if subject is None:
        return Judgement(Verdict.INVALID, ("no launch to judge",))
    if not (params.require or params.forbid or params.capture):
        return Judgement(Verdict.INVALID, ("no line is required, forbidden or captured",))
    journal = tools.journal.of(subject)
    if journal.complete:
        answer = _judged(params, journal.lines)
    else:
        words = f"the journal is incomplete: {journal.why}"
        answer = Judgement(Verdict.INVALID, (words,))
    if isinstance(answer, Wait):
        return answer
    answer = replace(answer, findings=_findings(params, journal.lines))
    again = by_hand(log_argv(subject))
    return replace(answer, evidence=(*answer.evidence, again))


def _judged(params: Params, lines: Tuple[JournalLine, ...]) -> Answered:
    """Judge the lines of a whole record; what may still come is waited for."""
    own = [line for line in lines if line.own]
    try:
        wrong = _forbidden(params, lines)
        required, missing = _required(params, own)
        captured, misfits, absent = _captured(params, own)
    except (UnknownPatternError, CompareError, engines.EngineError, re.error) as error:
        return Judgement(Verdict.INVALID, (str(error),))
    if wrong or misfits:
        return Judgement(Verdict.FAIL, tuple(some([*wrong, *misfits], 10)))
    if missing or absent:
        lacking = ", ".join([*missing, *absent])
        return Wait(f"{len(own)} lines of this launch, none matches {lacking}", Verdict.FAIL)
    counted = f"{len(own)} lines of this launch; none of {len(params.forbid)} forbidden kinds"
    return Judgement(Verdict.PASS, (counted, *some([*required, *captured], 10)))


def _findings(params: Params, lines: Iterable[JournalLine]) -> Tuple[str, ...]:
    """Name the findings that its own lines tell of, accepted or not, once each."""
    if "@named" not in params.forbid or params.engine not in engines.names():
        return ()
    named = engines.engine(params.engine).named
    hits = (engines.matching(line.text, named) for line in lines if line.own)
    return tuple(dict.fromkeys(hit.finding for hit in hits if hit is not None))


def _forbidden(params: Params, lines: Iterable[JournalLine]) -> List[str]:
    patterns = [pair for word in params.forbid for pair in _patterns(params, word)]
    return [
        f"forbidden {name}: {shown(line.text)}"
        for line in lines
        for name, regex in patterns
        if re.search(regex, line.text)
    ]


def _required(params: Params, lines: List[JournalLine]) -> Tuple[List[str], List[str]]:
    """Give the first line that matches each required pattern, and the patterns none matches."""
    seen, missing = [], []
    for word in params.require:
        for name, regex in _patterns(params, word):
            hit = next((line for line in lines if re.search(regex, line.text)), None)
            if hit is None:
                missing.append(name)
            else:
                seen.append(f"required {name}: {shown(hit.text)}")
    return seen, missing


def _captured(params: Params, lines: List[JournalLine]) -> Tuple[List[str], List[str], List[str]]:
    """Compare the last value of each capture: what is right, what is wrong, what is not there."""
    right: List[str] = []
    wrong: List[str] = []
    absent: List[str] = []
    for capture in params.capture:
        for name, regex in _patterns(params, capture.pattern):
            hits = [hit for line in lines if (hit := re.search(regex, line.text))]
            if not hits:
                absent.append(name)
                continue
            seen = _group(hits[-1], capture.group)
            said = f"{name} is {seen!r}, expected {capture.op} {capture.value!r}"
            (right if holds(capture.op, seen, capture.value) else wrong).append(said)
    return right, wrong, absent


def _group(hit: "re.Match[str]", group: str) -> str:
    try:
        found = hit[group] if group else hit[1] if hit.re.groups else hit[0]
    except IndexError:
        raise CompareError(f"{hit.re.pattern!r} has no group {group!r}") from None
    return found or ""


def _patterns(params: Params, word: str) -> List[Tuple[str, str]]:
    """Turn a word of the parameters into (name, regex) pairs."""
    if not word.startswith("@"):
        return [(repr(word), word)]
    table = engines.engine(params.engine)
    if word == "@named":
        return [
            (f"{one.id} ({one.finding})", one.regex)
            for one in table.named
            if not {one.id, one.finding} & set(params.accept)
        ]
    found = table.pattern(word[1:])
    if found is None:
        raise UnknownPatternError(f"{table.name} has no pattern {word!r}")
    return [(found.id, found.regex)]
