"""A command of the operator's ends as expected, and what it printed as JSON is right."""

import json
import re
from dataclasses import dataclass, field
from typing import Dict, Optional, Tuple

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
_DOCKER_S = 20
_STATE = (
    *("docker", "container", "inspect", "--format"),
    "{{.State.Running}} {{.Id}} {{.State.StartedAt}}",
)


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
    `inside` runs it in the serving process's own environment, its program's folder first on PATH:
    a harness of the same virtual environment. `container` names a running one of Docker's to run
    it in; there it is not ended when it is late. `codes_unjudged` are exit codes that mean nothing
    was judged (pytest's 5: no tests collected). `samples_path` leads to a count in the JSON that
    must be at least `samples`; `judged` is an expression whose first group is such a count in what
    it printed (all that match add up): all skipped is no PASS.
    """

    argv: Tuple[str, ...]
    stdin: str = ""
    env: Dict[str, str] = field(default_factory=dict)
    code: int = 0
    codes_unjudged: Tuple[int, ...] = ()
    expect: Tuple[Expect, ...] = ()
    inside: bool = False
    container: str = ""
    samples_path: str = ""
    samples: int = 1
    judged: str = ""
    by_hand: Tuple[str, ...] = ()


def judge(params: Params, subject: Optional[Subject], tools: Tools) -> Answered:
    """Run it once. Late, not started, without the JSON that is expected: nothing was judged."""
    if params.inside and params.container:
        return Judgement(Verdict.INVALID, ("inside or container: it runs in one place",))
    if params.inside and subject is None:
        return Judgement(Verdict.INVALID, ("no launch whose environment to run it in",))
    if params.container:
        return _contained(params, tools)
    env = {**_environment(subject, tools), **params.env} if params.inside else params.env
    return _judged(params, _run(params.argv, env, params, tools))


def _contained(params: Params, tools: Tools) -> Judgement:
    """Run it in a container; what another launch of it was asked halfway proves nothing."""
    state = (*_STATE, params.container)
    before = tools.run(state, deadline_s=_DOCKER_S)
    if not before.stdout.startswith(b"true "):
        why = "is not running" if before.code == 0 else "is not to be seen"
        output = tail("stderr", before.stderr)
        said = f"container {params.container} {why}"
        return Judgement(Verdict.INVALID, (said, *output, by_hand(state)))
    ran = _run(_argv(params), params.env, params, tools)
    if tools.run(state, deadline_s=_DOCKER_S).stdout != before.stdout:
        said = f"container {params.container} ended or was started again meanwhile"
        return _judgement(Verdict.INVALID, params, ran, (said,))
    return _judged(params, ran)


def _run(argv: Tuple[str, ...], env: Dict[str, str], params: Params, tools: Tools) -> Ran:
    stdin = params.stdin.encode()
    return tools.run(argv, stdin=stdin, env=env, deadline_s=_AS_LONG_AS_THE_GATE_S)


def _argv(params: Params) -> Tuple[str, ...]:
    """Give the words that run it. Docker hands a variable on by its name: no value is in `ps`."""
    if not params.container:
        return params.argv
    names = [word for name in params.env for word in ("--env", name)]
    return ("docker", "exec", "-i", *names, params.container, *params.argv)


def _judged(params: Params, ran: Ran) -> Judgement:
    unjudged = _unjudged(params, ran)
    if unjudged:
        return _judgement(Verdict.INVALID, params, ran, (unjudged,))
    if not params.expect and not params.samples_path:
        return _by_code(params, ran, ())
    return _by_json(params, ran)


def _by_json(params: Params, ran: Ran) -> Judgement:
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


def _environment(subject: Optional[Subject], tools: Tools) -> Dict[str, str]:
    """Give the environment of the serving process, with its own programs found first."""
    pid = subject.pid if subject else 0
    found = tools.proc.environ(pid)
    program = next(iter(tools.proc.argv(pid)), b"").decode(errors="replace")
    folder = program.rpartition("/")[0] if program.startswith("/") else ""
    paths = [folder, found.get("PATH", "/usr/local/bin:/usr/bin:/bin")]
    return {**found, "PATH": ":".join(filter(None, paths))}


def _unjudged(params: Params, ran: Ran) -> str:
    if ran.code is None:
        return f"not done within {ran.took_ms // 1000} s"
    if ran.code in _NOT_STARTED and not ran.stdout:
        return f"it did not start, code {ran.code}"
    if ran.code in params.codes_unjudged:
        return f"code {ran.code} means that nothing was judged"
    if params.judged:
        counts = re.findall(params.judged, (ran.stdout + ran.stderr).decode(errors="replace"))
        if sum(int(count) for count in counts if count.isdigit()) < params.samples:
            return (
                f"it judged {' + '.join(counts) or 'nothing'}: at least {params.samples} is needed"
            )
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
    """Keep the numbers that were compared, a fraction in thousandths."""
    found = []
    for one in params.expect:
        seen = find(document, one.path)
        if isinstance(seen, float):
            found.append(Measurement(one.path, round(seen * 1000), "thousandths"))
        elif isinstance(seen, int) and not isinstance(seen, bool):
            found.append(Measurement(one.path, seen, "count"))
    return tuple(found)


def _judgement(
    verdict: Verdict,
    params: Params,
    ran: Ran,
    said: Tuple[str, ...],
    measured: Tuple[Measurement, ...] = (),
) -> Judgement:
    words = [f"{name}={value}" for name, value in params.env.items()]
    again = by_hand(params.by_hand or (*(["env", *words] if words else []), *_argv(params)))
    if params.inside:
        again += "   # in the environment of the serving process"
    if params.stdin and not params.by_hand:
        again += f" < {len(params.stdin)} characters of stdin"
    output = (*tail("stdout", ran.stdout), *tail("stderr", ran.stderr))
    took = Measurement("took", ran.took_ms, "ms")
    return Judgement(verdict, (*said, *output, again), (took, *measured))
