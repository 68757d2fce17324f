"""A command of the operator's ends as expected, and what it printed as JSON is right."""

import json
from dataclasses import dataclass, field
from typing import Dict, List, Optional, Tuple

from headway.wire.compare import CompareError, find, holds, number
from headway.wire.evidence import by_hand, tail
from headway.wire.gate import Answered, Judgement, Measurement, Subject
from headway.wire.loader import Json
from headway.wire.tools import Ran, Tools
from headway.wire.verdict import Verdict

DEADLINE_S = 300
_AS_LONG_AS_THE_GATE_S = 24 * 60 * 60
_NOT_STARTED = (126, 127)
_BRIEF = 40  # characters


@dataclass(frozen=True)
class Expect:
    """A value of the JSON and what it must be.

    `path` leads to it, as in `choices/0/text`; `op` is ==, !=, <, <=, >, >=, contains or matches.
    A fraction is written as text: "0.83".
    """

    path: str
    value: Json
    op: str = "=="


@dataclass(frozen=True)
class Params:
    """What to run and what to expect of it.

    `by_hand` is what a person types to ask the same, where argv is too long for that.
    `codes_unjudged` are exit codes that mean nothing was judged (pytest's 5: no tests collected).
    `samples_path` leads to a count in the JSON that must be at least `samples`.
    """

    argv: Tuple[str, ...]
    stdin: str = ""
    env: Dict[str, str] = field(default_factory=dict)
    code: int = 0
    codes_unjudged: Tuple[int, ...] = ()
    expect: Tuple[Expect, ...] = ()
    samples_path: str = ""
    samples: int = 1
    by_hand: Tuple[str, ...] = ()


def judge(params: Params, _subject: Optional[Subject], tools: Tools) -> Answered:
    """Run it once. Late, not started, without the JSON that is expected: nothing was judged."""
    ran = tools.run(
        params.argv, stdin=params.stdin.encode(), env=params.env, deadline_s=_AS_LONG_AS_THE_GATE_S
    )
    unjudged = _unjudged(params, ran)
    if unjudged:
        return _judgement(Verdict.INVALID, params, ran, (unjudged,))
    if not params.expect and not params.samples_path:
        return _by_code(params, ran, ())
    document = _json_of(ran.stdout)
    if document is None:
        return _judgement(Verdict.INVALID, params, ran, ("it printed no JSON to judge by",))
    try:
        _enough(params, document)
        wrong = [said for one in params.expect if (said := _against(one, document))]
    except CompareError as error:
        return _judgement(Verdict.INVALID, params, ran, (str(error),))
    if wrong:
        return _judgement(Verdict.FAIL, params, ran, tuple(wrong))
    right = tuple(f"{one.path} {one.op} {one.value!r}" for one in params.expect)
    return _by_code(params, ran, right, _measured(params, document))


def _unjudged(params: Params, ran: Ran) -> str:
    if ran.code is None:
        return f"not done within {ran.took_ms // 1000} s"
    if ran.code in _NOT_STARTED and not ran.stdout:
        return f"it did not start, code {ran.code}"
    if ran.code in params.codes_unjudged:
        return f"code {ran.code} means that nothing was judged"
    return ""


def _by_code(
    params: Params, ran: Ran, right: Tuple[str, ...], measured: Tuple[Measurement, ...] = ()
) -> Judgement:
    said = f"exit code {ran.code}, {params.code} expected"
    verdict = Verdict.PASS if ran.code == params.code else Verdict.FAIL
    return _judgement(verdict, params, ran, (said, *right), measured)


def _json_of(stdout: bytes) -> Json:
    """Read all of it as JSON, or its last line; None where neither is an object or a list."""
    text = stdout.decode(errors="replace").strip()
    for candidate in (text, text.rpartition("\n")[2]):
        try:
            found = json.loads(candidate)
        except ValueError:
            continue
        if isinstance(found, (dict, list)):
            return found
    return None


def _enough(params: Params, document: Json) -> None:
    if params.samples_path:
        seen = find(document, params.samples_path)
        count = number(seen)
        if count is None or count < params.samples:
            raise CompareError(
                f"{params.samples_path} is {seen!r}: at least {params.samples} samples are needed"
            )


def _against(expect: Expect, document: Json) -> str:
    seen = find(document, expect.path)
    if holds(expect.op, seen, expect.value):
        return ""
    wanted = expect.value if expect.op == "matches" else repr(expect.value)
    return f"{expect.path} is {_brief(seen)}, expected: {expect.op} {wanted}"


def _brief(seen: Json) -> str:
    """Show a value within a sentence; the whole output stands below."""
    text = repr(seen)
    return text if len(text) <= _BRIEF else text[: _BRIEF - 2] + "…'"


def _measured(params: Params, document: Json) -> Tuple[Measurement, ...]:
    """Keep the whole numbers that were compared."""
    seen = ((one.path, find(document, one.path)) for one in params.expect)
    return tuple(
        Measurement(path, value, "count")
        for path, value in seen
        if isinstance(value, int) and not isinstance(value, bool)
    )


def _judgement(
    verdict: Verdict,
    params: Params,
    ran: Ran,
    said: Tuple[str, ...],
    measured: Tuple[Measurement, ...] = (),
) -> Judgement:
    words: List[str] = [f"{name}={value}" for name, value in params.env.items()]
    again = by_hand(params.by_hand or [*(["env", *words] if words else []), *params.argv])
    if params.stdin and not params.by_hand:
        again += f" < {len(params.stdin)} characters of stdin"
    output = (*tail("stdout", ran.stdout), *tail("stderr", ran.stderr))
    took = Measurement("took", ran.took_ms, "ms")
    return Judgement(verdict, (*said, *output, again), (took, *measured))
