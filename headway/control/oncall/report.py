"""`report`: one file to paste, and a folder of NDJSON, from records alone.

The same records give the same bytes: nothing in it says when it was made, and times are UTC.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from headway.control.desk import Desk
from headway.control.errors import HeadwayError, UsageError
from headway.control.inventory.model import Host
from headway.control.near import near
from headway.control.oncall.cleaning import Cleaner, learned
from headway.control.oncall.finding import Found
from headway.control.oncall.showing import ShownRelease, shown_release
from headway.control.telling import history
from headway.control.telling.history import PastGate, PastMove, PastRollout
from headway.control.telling.redaction import redacted
from headway.wire.loader import line
from headway.wire.phase import Exit
from headway.wire.record import State
from headway.wire.talk import Recall, Recalled, Remembered

ROWS_BYTES = 130_000
"""Of all NDJSON files together, so that with the text a report stays below 200 kB."""

_LOGGED_BY = re.compile(r"^\w{3} [ \d]\d \d\d:\d\d:\d\d\.\d+ (\S+) ", re.MULTILINE)
TRANSITIONS = 10
ROLLOUTS = 20


@dataclass(frozen=True)
class Records:
    """What a report is made of. `state`, `release` and `transitions` are the host's own record.

    `unread` says what could not be had, a sentence each.
    """

    about: str
    state: State | None = None
    release: ShownRelease | None = None
    transitions: tuple[Remembered, ...] = ()
    rollouts: tuple[PastRollout, ...] = ()
    gates: tuple[PastGate, ...] = ()
    moves: tuple[PastMove, ...] = ()
    unread: tuple[str, ...] = ()


@dataclass(frozen=True)
class Report:
    """A report as files: the text, and NDJSON by file name. `taken` is how much was taken out."""

    name: str
    text: str
    rows: Mapping[str, str]
    taken: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class LeftOut:
    """So many rows of this file are not in the report: it is to be pasted."""

    rows: int


@dataclass(frozen=True)
class Written:
    """Where a report was written, and how many of each kind of thing were taken out of it."""

    path: str
    folder: str
    size: int
    taken: dict[str, int]


def report(desk: Desk, rollout: str, out: str, *, hide_names: bool) -> Exit:
    """Write a report of one host, or of a rollout, and say where and what was taken out."""
    if bool(rollout) == bool(desk.patterns):
        raise UsageError(
            "report: of a host or of a rollout",
            hint="invoke report --host NAME, or --rollout ID as `invoke history` shows it",
        )
    everybody = desk.inventory.select(("all",))
    unread = tuple(learned(everybody))
    past = _past(desk)
    found = _of_rollout(rollout, past) if rollout else _of_host(desk, past)
    names = [name for host in everybody for name in (host.name, host.address)]
    names += [name for name in _machines(found) if name]
    cleaner = Cleaner(desk.fleet.secrets.redactor, names, hide=hide_names)
    made = made_of(found, cleaner, unread)
    written = write(made, Path(out or "."))
    if desk.json:
        desk.rows((written,))
    else:
        took = ", ".join(f"{count} {what}" for what, count in written.taken.items() if count)
        desk.print(
            f"wrote {written.path} and {written.folder}/, {written.size // 1000} kB;"
            f" taken out: {took or 'nothing'}"
        )
    return Exit.ACCEPTED


def made_of(found: Records, cleaner: Cleaner, unread: Sequence[str] = ()) -> Report:
    """Clean the records, then write them as text and as rows."""
    from headway.control.oncall.report_text import text

    for person in _people(found):
        cleaner.person(person)
    clean = redacted(found, cleaner)
    rows = _rows(clean)
    counted = dict(sorted((what, count) for what, count in cleaner.counted.items() if count))
    taken = tuple(counted.items())
    name = "report-" + re.sub(r"[^\w.-]+", "-", clean.about.rpartition(" ")[2])
    return Report(name, text(clean, taken, tuple(map(cleaner.text, unread))), rows, taken)


def write(made: Report, out: Path) -> Written:
    """Write the text and the folder beside it."""
    folder = out / made.name
    folder.mkdir(parents=True, exist_ok=True)
    path = out / f"{made.name}.md"
    files = {path: made.text, **{folder / name: rows for name, rows in made.rows.items()}}
    for file, text in files.items():
        file.write_text(text, encoding="utf-8")
    size = sum(len(text.encode()) for text in files.values())
    return Written(str(path), str(folder), size, dict(made.taken))


def _past(desk: Desk) -> Records:
    """Read the fleet's history; one that cannot be read is told in the report."""
    path = history.path_of(desk.fleet)
    try:
        return Records(
            "",
            rollouts=history.past(path, 10_000),
            gates=history.gates(path),
            moves=history.moves(path),
        )
    except OSError as error:
        return Records("", unread=(str(error),))


def _of_host(desk: Desk, past: Records) -> Records:
    from headway.control.reaching.looks import first, heard

    if len(desk.hosts) > 1:
        raise UsageError(
            f"report: of one host, and --host names {len(desk.hosts)}",
            hint=f"invoke report --host {desk.hosts[0].name}",
        )
    (host,) = desk.hosts
    answer = first(heard(host, desk.reach, Recall(("accepted",), TRANSITIONS)), Recalled)
    rollouts = _mine(host, past)
    if isinstance(answer, HeadwayError):
        unread = (*past.unread, str(answer))
        return Records(f"host {host.name}", rollouts=rollouts, unread=unread)
    # Without its state: how long ago it was accepted is no record.
    found = Found(host.name, answer.releases[0], State(), answer.texts)
    return Records(
        f"host {host.name}",
        answer.state,
        shown_release(found, (), 0),
        answer.transitions,
        rollouts,
        unread=past.unread,
    )


def _mine(host: Host, past: Records) -> tuple[PastRollout, ...]:
    mine = (one for one in past.rollouts if any(it.host == host.name for it in one.hosts))
    return tuple(mine)[:ROLLOUTS]


def _of_rollout(wanted: str, past: Records) -> Records:
    fits = [one for one in past.rollouts if one.id.startswith(wanted)]
    if len(fits) != 1:
        names = near(wanted, (one.id for one in past.rollouts))
        raise UsageError(
            f"--rollout: {len(fits)} rollouts begin with {wanted!r}; {names}",
            hint="invoke history shows their ids",
        )
    (one,) = fits
    return Records(
        f"{one.verb} {one.id}",
        rollouts=(one,),
        gates=tuple(gate for gate in past.gates if gate.rollout == one.id),
        moves=tuple(move for move in past.moves if move.rollout == one.id),
        unread=past.unread,
    )


def _people(found: Records) -> Iterator[str]:
    """Name everybody who did something: user@machine, the newest first."""
    if found.state is not None:
        yield from (one.by for one in found.state.accepted)
    yield from (one.transition.orders.by for one in found.transitions)
    yield from (one.by for one in found.rollouts)


def _machines(found: Records) -> Iterator[str]:
    """Name the machines that a log names itself by, and those that people sat at."""
    for one in found.transitions:
        for left in one.left.values():
            yield from _LOGGED_BY.findall(left)
    yield from (person.partition("@")[2] for person in _people(found))


def _rows(found: Records) -> dict[str, str]:
    """Write each kind of record to a file of its own; what does not fit is counted at its end."""
    files: dict[str, Sequence[object]] = {
        "state.ndjson": [one for one in (found.state, found.release) if one is not None],
        "rollouts.ndjson": found.rollouts,
        "transitions.ndjson": [one.transition for one in found.transitions],
        "moves.ndjson": found.moves,
        "gates.ndjson": found.gates,
        "events.ndjson": [event for one in found.transitions for event in one.events],
    }
    left = ROWS_BYTES
    written: dict[str, str] = {}
    for name, values in files.items():
        kept: list[str] = []
        for n, value in enumerate(values):
            row = line(value).decode()
            if len(row) > left:
                kept.append(line(LeftOut(len(values) - n)).decode())
                break
            left -= len(row)
            kept.append(row)
        if kept:
            written[name] = "".join(kept)
    return written
