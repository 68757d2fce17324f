"""The process that serves runs with exactly the words and variables the release gave it.

Of variables the names are compared. The values of those that decide which cards are used, and how
they talk, are compared as well: they are no secrets.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Dict, List, Optional, Sequence, Tuple

from headway.wire import engines
from headway.wire.evidence import by_hand, shown
from headway.wire.gate import Answered, Judgement, Subject, Wait
from headway.wire.resources import is_container
from headway.wire.tools import Tools
from headway.wire.unit_text import set_values
from headway.wire.verdict import Verdict

DEADLINE_S = 30
OPEN = ("NCCL_", "CUDA_")  # how variables begin whose values are compared and shown
Words = Tuple[bytes, ...]


@dataclass(frozen=True)
class Params:
    """`engine` lets short and long spellings of an option count as the same one."""

    engine: str = ""


def judge(params: Params, subject: Optional[Subject], tools: Tools) -> Answered:
    """Compare byte for byte; the main process counts first, then what listens in its cgroup."""
    wanted = tuple(word.encode() for row in tools.part.argv for word in row)
    if subject is None or not wanted:
        said = "no launch to judge" if subject is None else "the release holds no command line"
        return Judgement(Verdict.INVALID, (said,))
    seen = {pid: _argv(tools, pid) for pid in _candidates(subject, tools)}
    readable = {pid: words for pid, words in seen.items() if words}
    if not readable:
        return Wait(f"no process of {subject.unit} shows the words it was started with")
    pid = min(readable, key=lambda one: not _same(readable[one], wanted))
    again = by_hand(["xargs", "-0", "-a", f"/proc/{pid}/cmdline", "printf", "%s\\n"])
    names = by_hand(["sed", "-z", "s/=.*/\\n/", f"/proc/{pid}/environ"])
    environ = tools.proc.environ(pid)
    absent = [name for name in tools.part.env_names if name not in environ]
    wrong = [f"variable {name} is not in the environment of pid {pid}" for name in absent]
    cards = {
        name: value
        for name, value in set_values(tools.part, tools.host.content).items()
        if name.startswith(OPEN) and name in environ
    }
    wrong += [
        f"variable {name} is {shown(environ[name])!r} in pid {pid}, the release sets {value!r}"
        for name, value in cards.items()
        if environ[name] != value
    ]
    twice = _twice(readable[pid], params)
    if not _same(readable[pid], wanted):
        wrong = [*_differences(readable[pid], wanted), *wrong, *twice]
    if wrong:
        return Judgement(Verdict.FAIL, (*wrong, again, names))
    said = f"pid {pid}: {len(wanted)} words and {len(tools.part.env_names)} variables as wanted"
    reached = [f"reached pid {pid}: {name}={value}" for name, value in cards.items()]
    return Judgement(Verdict.PASS, (said, *reached, *twice, again, names))


def _candidates(subject: Subject, tools: Tools) -> List[int]:
    """Name whose words count: a launcher may stay in front of the process that listens.

    The first process of a container may be docker-init, whose words end with those of any command:
    what listens counts there, and nothing else where something does.
    """
    listening = [
        listener.pid
        for port in tools.part.listens
        for listener in tools.proc.listeners(port)
        if listener.is_of(subject)
    ]
    first = [] if listening and is_container(subject.unit) else [subject.pid]
    return [pid for pid in dict.fromkeys([*first, *listening]) if pid]


def _argv(tools: Tools, pid: int) -> Words:
    """Read a process's words; () where it overwrote them with a title, which leaves empty rests."""
    words = tools.proc.argv(pid)
    titled = len(words) > 1 and not any(words[1:])
    return () if titled else words


def _same(seen: Words, wanted: Words) -> bool:
    """Tell whether these are the words; the kernel puts a script's interpreter in front of them."""
    return seen == wanted or (len(seen) > len(wanted) and seen[-len(wanted) :] == wanted)


def _differences(seen: Words, wanted: Words) -> List[str]:
    """Say what is missing, what is extra, and in which order where that is all."""
    ours, theirs = Counter(_rows(wanted)), Counter(_rows(seen))
    missing = [f"missing: {_joined(row)}" for row in (ours - theirs).elements()]
    extra = [f"extra: {_joined(row)}" for row in (theirs - ours).elements()]
    return [*missing, *extra] or ["the same words in another order: " + _joined(seen)]


def _rows(words: Words) -> List[Words]:
    """Group words into options: a word that begins with a dash begins one."""
    rows: List[Words] = []
    for word in words:
        if rows and not word.startswith(b"-"):
            rows[-1] = (*rows[-1], word)
        else:
            rows.append((word,))
    return rows


def _twice(words: Words, params: Params) -> List[str]:
    """Name options given more than once, and the one that wins: engines take the last."""
    aliases = engines.engine(params.engine).options if params.engine else {}
    given: Dict[str, List[Words]] = {}
    for row in _rows(words):
        if row[0].startswith(b"-"):
            name = row[0].partition(b"=")[0].decode(errors="replace")
            given.setdefault(aliases.get(name, name), []).append(row)
    return [
        f"{name} is given {len(rows)} times; the last one wins: {_joined(rows[-1])}"
        for name, rows in given.items()
        if len(rows) > 1
    ]


def _joined(words: Sequence[bytes]) -> str:
    return shown(" ".join(repr(word.decode(errors="replace"))[1:-1] or "''" for word in words))
