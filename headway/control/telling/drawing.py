"""Lines of a story for people, as words and styles; nothing here writes to a screen.

One line a fact, one shape for all, made to be read in 80 columns and to be found with grep:

    gpu1  llama  gate health      PASS      3.2 s
"""

import textwrap
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import assert_never

from headway.control.telling import story
from headway.control.telling.amounts import size, took
from headway.control.telling.picture import HostPicture, Picture
from headway.wire import event
from headway.wire.gate import Report
from headway.wire.phase import Exit, Phase
from headway.wire.verdict import Fate, Verdict

WHAT = 22
"""Columns for what a line is about; a longer one pushes the rest of its line to the right."""

INDENT = 8
"""Evidence stands below its line, this far in."""

STYLES = {
    "good": "cyan",
    "bad": "bold red",
    "unsure": "bold yellow",
    "head": "bold",
    "quiet": "dim",
    "": "",
}
"""What a mark looks like. The word itself says everything: colours only repeat it."""

_VERDICTS = {Verdict.PASS: "good", Verdict.FAIL: "bad", Verdict.INVALID: "unsure"}
_PHASES = {
    Phase.OPEN: ("the host is locked for this; is it ready?", "quiet"),
    Phase.TRYING: ("the way back is on disk; changing", "head"),
    Phase.PROVEN: ("every gate on the host passed", "good"),
    Phase.KEEPING: ("kept: no way back is needed any more", "good"),
    Phase.RETURNING: ("going back", "bad"),
    Phase.HELD: ("unproven, waiting for a person", "unsure"),
    Phase.STUCK: ("could not go back", "bad"),
}
_FATES = {
    Fate.SAME: "",
    Fate.DIED: "the launch ended by itself",
    Fate.TAKEN: "somebody else stopped the launch",
    Fate.REPLACED: "another launch took its place",
}
_OUTCOMES = {
    Exit.ACCEPTED: "good",
    Exit.WENT_BACK: "bad",
    Exit.USAGE: "bad",
    Exit.HELD: "unsure",
    Exit.LOCKED: "unsure",
    Exit.UNREACHABLE: "bad",
    Exit.UNKNOWN: "unsure",
    Exit.STUCK: "bad",
    Exit.REFUSED: "unsure",
    Exit.CHANGES: "unsure",
}
_NEXT = {
    "went back": "invoke history --host {host}",
    "held": "invoke resume | accept | rollback --host {host}",
    "locked": "invoke resume --host {host}   follows the transition in hand",
    "unknown": "invoke resume --host {host}   (the host goes on by itself)",
    "stuck": "ssh {host} sudo headway-host status   (then by hand)",
}
"""What to type next, by how the host ended; where none stands, the host's sentence says it all."""


@dataclass(frozen=True)
class Word:
    """Some text in one of STYLES."""

    text: str
    style: str = ""


Line = tuple[Word, ...]


def plain(line: Line) -> str:
    """Write a line without styles."""
    return "".join(word.text for word in line).rstrip()


def wrapped(line: Line, width: int) -> tuple[Line, ...]:
    """Break a line that is too wide: its last word goes on below itself.

    A line of one word stays whole: it may be a command, and is copied as it is.
    """
    *first, last = line or (Word(""),)
    indent = sum(len(word.text) for word in first)
    room = width - indent
    if not first or len(last.text) <= room or room < width // 3:
        return (line,)
    rows = textwrap.wrap(last.text, room, drop_whitespace=True)
    rest = ((Word(" " * indent + row, last.style),) for row in rows[1:])
    return ((*first, Word(rows[0], last.style)), *rest)


def lines(  # noqa: C901, PLR0912 # a table: one row a kind of story
    picture: Picture, told: story.Told
) -> Iterator[Line]:
    """Draw what this piece of the story adds; `picture` already holds it."""
    pen = _Pen(picture, "" if isinstance(told, story.Began | story.Ended) else told.host)
    match told:
        case story.Began():
            of = f"  {told.rollout} by {told.by}: {', '.join(told.hosts)}"
            yield (Word(told.verb, "head"), Word(of))
        case story.Turn():
            release = f"to release {told.release}" if told.release else ""
            yield pen.fact(f"turn {told.n} of {told.of}", release, "head")
        case story.Connecting(again=again):
            yield pen.fact("connecting again" if again else "connecting", told.address)
        case story.Sending():
            if told.done_bytes >= told.total_bytes:
                yield pen.fact(f"sent {told.what}", size(told.total_bytes))
        case story.HostSaid():
            yield from _said(pen, told.event.body)
        case story.Lost():
            yield pen.fact("connection lost", told.why, "unsure")
            yield below(f"meanwhile: {told.then}")
        case story.Note():
            yield pen.fact("note", told.text)
            if told.hint:
                yield below(told.hint)
        case story.HostEnded():
            # One host alone is said in the summary, a line further down.
            if len(picture.hosts) > 1:
                yield _outcome(pen, picture.at(told.host))
        case story.Ended():
            yield from _summary(picture, told)
        case _:
            assert_never(told)


def live(picture: Picture, elapsed_ms: int) -> str:
    """Say what goes on right now and for how long, in one line; "" when nothing does."""
    host = picture.at(picture.now)
    phase = "" if host.phase is Phase.IDLE else host.phase.value
    words = (host.host, host.turn, phase, host.doing, took(elapsed_ms))
    return "  ".join(filter(None, words)) if picture.now else ""


def below(text: str) -> Line:
    """Draw what belongs to the line above."""
    return (Word(" " * INDENT + text),)


@dataclass(frozen=True)
class _Pen:
    """Draws lines that begin with one host's name, in columns that fit all names."""

    picture: Picture
    host: str

    def fact(self, what: str, rest: str, style: str = "") -> Line:
        """HOST  WHAT                    REST."""
        return (self._name(), Word(f"{what:<{WHAT}}", style), Word("  "), Word(rest))

    def step(self, what: str, mark: str, style: str, ms: int, rest: str) -> Line:
        """HOST  WHAT                    MARK      TOOK  REST."""
        words = Word(f"{what:<{WHAT}}  "), Word(f"{mark:<7}", style)
        return (self._name(), *words, Word(f"  {took(ms):>6}  "), Word(rest))

    def _name(self) -> Word:
        width = max(map(len, self.picture.hosts), default=0)
        return Word(f"{self.host:<{width}}  ", "head")


def _said(pen: _Pen, body: event.Body) -> Iterator[Line]:  # noqa: C901 # a table: one row a kind
    match body:
        case event.Moved() if body.to is not Phase.IDLE:
            sentence, style = _PHASES[body.to]
            yield pen.fact(body.to.value, body.why or sentence, style)
        case event.StepDone():
            yield pen.step(_of(body.part, body.step), "done", "quiet", body.took_ms, body.detail)
        case event.Rung():
            yield pen.fact(f"evict {body.rung}", body.sentence or took(body.took_ms), "unsure")
            yield from map(below, body.after)
        case event.Noted():
            yield pen.fact("note", body.text)
        case event.Waiting():
            gate = _of(body.part, f"gate {body.gate}")
            yield pen.step(gate, "wait", "quiet", body.waited_ms, body.reason)
        case event.Reported():
            yield from _report(pen, body.report)
        case event.Asked(ask=ask) if ask.what != "floor":
            silence = f"(default after {took(ask.deadline_s * 1000)}: {ask.default})"
            yield pen.fact(_of(ask.part, f"asks {ask.what}"), f"{ask.detail} {silence}".strip())
        case event.Replied(answer=answer):
            what = pen.picture.at(pen.host).asked.get(answer.n, "answer")
            yield pen.fact(what, f"{answer.value}, by {answer.by}")
        case event.Rested():
            down = pen.picture.at(pen.host).down
            if down:
                spans = ", ".join(f"{part} {took(ms)}" for part, ms in down.items())
                yield pen.fact("down", f"{spans}, from stop to healthy")
        case event.StepBegan() | event.Coming() | event.Asked() | event.Moved():
            # The live line says what begins, comes and is asked for a moment; that the host rests
            # again is said with its last word, when its turn ends.
            return
        case _:
            assert_never(body)


def _report(pen: _Pen, report: Report) -> Iterator[Line]:
    passed = report.verdict is Verdict.PASS
    rest = "" if passed else _FATES[report.fate]
    gate = _of(report.part, f"gate {report.gate}")
    yield pen.step(gate, report.verdict.value, _VERDICTS[report.verdict], report.took_ms, rest)
    if not passed:
        yield from (below(line) for text in report.evidence for line in text.splitlines())


def _outcome(pen: _Pen, host: HostPicture) -> Line:
    sentence = host.sentence.removeprefix(f"{host.host}: ")
    return pen.fact(host.outcome, sentence, _OUTCOMES[Exit(host.exit_code)])


def _summary(picture: Picture, told: story.Ended) -> Iterator[Line]:
    """Say once more how each host ended that needs a person; the rest is counted."""
    yield ()
    ended = [host for host in picture.hosts.values() if host.outcome]
    for host in ended:
        if host.exit_code or len(picture.hosts) == 1:
            yield _outcome(_Pen(picture, host.host), host)
        follows = _NEXT.get(host.outcome)
        if follows:
            yield below("next: " + follows.format(host=host.host))
    for name in told.untouched:
        yield _Pen(picture, name).fact("not touched", "its turn never came", "quiet")
    outcomes = Counter(
        [*(host.outcome for host in ended), *("not touched" for _ in told.untouched)]
    )
    counted = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.items())
    words = f" ended after {took(told.took_ms)}, exit code {told.exit_code}"
    yield (Word(picture.verb, "head"), Word(words), Word(f": {counted}" if counted else ""))


def _of(part: str, what: str) -> str:
    return f"{part}  {what}" if part else what
