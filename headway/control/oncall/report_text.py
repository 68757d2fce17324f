"""A report as Markdown that reads in an issue tracker: what stands, what happened, what is left."""

import time
from collections.abc import Iterator, Sequence

from headway.control.oncall.report import Records
from headway.control.oncall.showing import ShownRelease
from headway.control.telling.amounts import took
from headway.wire.event import Moved, Noted, Reported, Rested, Rung, Waiting
from headway.wire.gate import Report
from headway.wire.record import State
from headway.wire.talk import Remembered
from headway.wire.verdict import Verdict

LINES, LINE = 60, 300
"""So much of a log is shown: its last lines, each cut."""

EVIDENCE = 8
WIDEST = 60_000  # characters of the whole text


def text(found: Records, taken: Sequence[tuple[str, int]], unread: Sequence[str]) -> str:
    """Write the whole report."""
    blocks = [f"# headway report: {found.about}", *_blocks(found), _taken(taken, unread)]
    body = "\n\n".join(block for block in blocks[:-1] if block)
    if len(body) > WIDEST:
        body = body[:WIDEST].rsplit("\n", 1)[0]
        fence = "\n```" if body.count("\n```") % 2 else ""
        body += f"{fence}\n\n... cut: the folder beside this file has more"
    return f"{body}\n\n{blocks[-1]}\n"


def _blocks(found: Records) -> Iterator[str]:
    yield "\n".join(f"> could not be read: {one}" for one in found.unread)
    if found.state is not None:
        yield _state(found.state)
    if found.release is not None:
        yield _release(found.release)
    yield _rollouts(found)
    for one in found.transitions:
        yield _transition(one)
    yield _gates(found)


def _state(state: State) -> str:
    rows = [f"- release {state.running()}, phase {state.phase.value}"]
    if state.why:
        rows.append(f"- waits, since {_at(state.since_ms)}: {state.why}")
    if state.parked:
        rows.append(
            f"- parked {_at(state.parked.at_ms)} by {state.parked.by}: {state.parked.reason}"
        )
    rows += [
        f"- accepted {one.release} {_at(one.at_ms)} by {one.by}, criteria {one.criteria or 'none'}"
        f"{', withdrawn' if one.withdrawn else ''}"
        for one in state.accepted
    ]
    rows += [
        f"- rejected {one.release} {_at(one.at_ms)}, transition {one.transition}: {one.why}"
        for one in state.rejected
    ]
    return "\n".join(["## How it stands, by its own record", "", *rows])


def _release(release: ShownRelease) -> str:
    rows = [f"- part {part}" for part in release.parts]
    rows += [f"- not held: {one}" for one in release.unheld]
    words = " ".join(one.words for one in release.options)
    things = [("part", "kind", "name")] + [
        (one.part, one.kind, one.name) for one in release.resources
    ]
    block = [f"## Release {release.release} ({release.origin})", "", *rows, "", *_fenced([words])]
    return "\n".join([*block, "", *_table(things)])


def _rollouts(found: Records) -> str:
    rows = [("when", "id", "verb", "by", "host", "ended", "release", "says")]
    rows += [
        (
            *(_at(one.at_ms), one.id, one.verb, one.by, host.host),
            *(host.outcome or "not touched", host.release, host.sentence),
        )
        for one in found.rollouts
        for host in one.hosts
    ]
    return "\n".join(["## Rollouts", "", *_table(rows)]) if found.rollouts else ""


def _transition(one: Remembered) -> str:
    told = one.transition
    why = f": {told.orders.reason}" if told.orders.reason else ""
    opened = f"opened {_at(told.opened_at_ms)} by {told.orders.by}{why}"
    rows = [f"## Transition {told.id}", ""]
    rows += [f"{told.kind} from {told.start} to {told.target}, {opened}", ""]
    rows += [f"- drift before it: {sentence}" for sentence in told.drift]
    for event in one.events:
        body = event.body
        if isinstance(body, Moved):
            rows.append(f"- {_clock(event.at_ms)} {body.to.value}{': ' * bool(body.why)}{body.why}")
        elif isinstance(body, Reported):
            rows += _report(body.report, _clock(event.at_ms))
        elif isinstance(body, (Noted, Waiting, Rung)):
            said = getattr(body, "text", "") or getattr(body, "reason", "")
            rows += [f"- {_clock(event.at_ms)} {said or getattr(body, 'sentence', '')}"]
        elif isinstance(body, Rested):
            rows.append(f"- {_clock(event.at_ms)} rested: {body.outcome}: {body.sentence}")
    for name, left in one.left.items():
        rows += ["", f"{name}, as the failed release left it:", "", *_fenced(left.splitlines())]
    return "\n".join(rows)


def _report(report: Report, at: str) -> Iterator[str]:
    yield f"- {at} {report.part} gate {report.gate} {report.verdict.value} ({took(report.took_ms)})"
    if report.verdict is not Verdict.PASS:
        yield from (f"    - {row[:LINE]}" for row in report.evidence[:EVIDENCE])


def _gates(found: Records) -> str:
    rows = [("when", "host", "part", "gate", "verdict", "took", "says")]
    rows += [
        (
            *(_at(one.at_ms), one.host, one.part, one.gate, one.verdict, took(one.took_ms)),
            "" if one.verdict == Verdict.PASS.value else "; ".join(one.evidence[:3])[:LINE],
        )
        for one in found.gates
    ]
    moved = [f"- {_at(one.at_ms)} {one.host} {one.phase} {one.why}".rstrip() for one in found.moves]
    if not (found.gates or found.moves):
        return ""
    return "\n".join(["## Gates", "", *_table(rows), "", "## Phases", "", *moved])


def _taken(taken: Sequence[tuple[str, int]], unread: Sequence[str]) -> str:
    rows = [f"- {count} {what}" for what, count in taken] or ["- nothing"]
    rows.append("- values of secret files that the host's record holds, by the host itself")
    rows += [f"- a secret that is not known here, so only by pattern: {one}" for one in unread]
    return "\n".join(["## Taken out before this was written", "", *rows])


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    head, *body = rows
    cells = ["| " + " | ".join(_cell(one) for one in row) + " |" for row in body]
    return ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head), *cells]


def _cell(text: str) -> str:
    return text[:LINE].replace("|", "\\|").replace("\n", " ")


def _fenced(lines: Sequence[str]) -> list[str]:
    shown = [line[:LINE].replace("```", "'''") for line in lines[-LINES:]]
    return ["```", *shown, "```"]


def _at(ms: int) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%SZ", time.gmtime(ms // 1000)) if ms else "-"


def _clock(ms: int) -> str:
    return time.strftime("%H:%M:%S", time.gmtime(ms // 1000))
