"""The lines of one launch: this one, the one before it, or one that is named."""

import json
import re
from collections import deque
from typing import Any, Callable, Deque, Dict, Iterator, List, Sequence

from headway.runner import process, subject, systemd
from headway.runner.orders.session import Session
from headway.runner.process import ProcessError
from headway.runner.records import RecordError
from headway.runner.supervisor_error import SupervisorError
from headway.runner.tools.journal import decoded, journal_argv
from headway.wire.phase import Exit
from headway.wire.release import Part, Release
from headway.wire.resources import is_container
from headway.wire.talk import Done, FromHost, Logged, LogLine, Logs, Trouble

AT_ONCE = 500  # lines a word
READ_S = 120
_BEGINS = "7d4958e842da4a758f6c1cdc7b36dcc5", "39f53479d3a045ac8e11786248231fbf"
_SUPPRESSED = "a596d6fe7bfa4994828e72309e95d61e"

Lines = Callable[[Sequence[str], int], Iterator[bytes]]


class NoSuch(Exception):  # noqa: N818 # it names what there is none of
    """There is no such part or launch here: which ones there are."""


def tell(session: Session, order: Logs, lines: Lines = process.lines) -> FromHost:
    """Say the lines of the launch that is asked for; exit 2 says which launches there are."""
    try:
        release = session.records.release(session.records.state().running())
        part = part_of(release, order.part)
        unit = part.subject.unit if part.subject else ""
        if is_container(unit):
            for word in _container_words(session, part.name, unit, order, lines):
                session.channel.say(word)
            return Done(Exit.ACCEPTED)
        launch = _launch(session, unit, order.launch, lines)
        for word in _words(part.name, unit, launch, order, lines):
            session.channel.say(word)
    except NoSuch as error:
        return Trouble(Exit.USAGE, str(error))
    except (RecordError, SupervisorError, ProcessError, ValueError) as error:
        return Trouble(Exit.REFUSED, f"the journal is not readable: {error}")
    return Done(Exit.ACCEPTED)


def part_of(release: Release, name: str) -> Part:
    """Give the part of this name, or the only one that has a service; NoSuch names them."""
    served = [part for part in release.parts if part.subject is not None]
    fits = [part for part in served if name in ("", part.name)]
    if len(fits) == 1:
        return fits[0]
    there = ", ".join(part.name for part in served) or "none"
    raise NoSuch(f"which part? --part: there are {there}" if fits else f"no part {name!r}: {there}")


def launches_argv(unit: str) -> List[str]:
    """Ask for systemd's own words at each start of a unit, whatever its launches wrote."""
    begins = [f"MESSAGE_ID={one}" for one in _BEGINS]
    fields = "--output-fields=INVOCATION_ID"
    words = ["_PID=1", f"UNIT={unit}", *begins]
    return ["journalctl", *words, "--output=json", fields, "--no-pager", "--quiet"]


def _launch(session: Session, unit: str, wanted: str, lines: Lines) -> str:
    now = subject.current(session.machine.run, unit)
    known = [
        str(json.loads(row).get("INVOCATION_ID", "")) for row in lines(launches_argv(unit), READ_S)
    ]
    seen = list(dict.fromkeys([*filter(None, known), *([now.id] if now else [])]))
    if wanted == "current":
        if now is not None or not seen:
            return now.id if now is not None else _none(unit, seen)
        return _last(session, unit) or seen[-1]
    if wanted == "previous":
        current = now.id if now is not None else _last(session, unit) or "".join(seen[-1:])
        before = seen[: seen.index(current)] if current in seen else seen
        return before[-1] if before else _none(unit, seen)
    fits = [one for one in seen if one.startswith(wanted)]
    return fits[0] if len(fits) == 1 else _none(unit, seen)


def _last(session: Session, unit: str) -> str:
    """Name the launch of a unit that is down: systemd keeps it until the unit is unloaded."""
    return systemd.show(session.machine.run, unit, ["InvocationID"])["InvocationID"]


def _none(unit: str, seen: Sequence[str]) -> str:
    there = ", ".join(one[:8] for one in seen[-8:]) or "none"
    raise NoSuch(f"no such launch of {unit} in the journal; oldest first there are {there}")


def _container_words(
    session: Session, part: str, name: str, order: Logs, lines: Lines
) -> Iterator[Logged]:
    """Give the lines of a service's container, as those of a unit are given."""
    from headway.runner.containers import history  # where there are containers

    try:
        launch, rows, why = history.read(session.machine, name, order.launch, lines)
    except history.NoLaunchError as error:
        raise NoSuch(str(error)) from None
    wanted = re.compile(order.grep) if order.grep else None
    fits = [row for row in rows if wanted is None or wanted.search(row.text)]
    kept = fits[-order.last :] if order.last else fits
    yield Logged(part, name, launch, tuple(kept[:AT_ONCE]), len(fits) - len(kept), why)
    for start in range(AT_ONCE, len(kept), AT_ONCE):
        yield Logged(part, name, launch, tuple(kept[start : start + AT_ONCE]))


def _words(part: str, unit: str, launch: str, order: Logs, lines: Lines) -> Iterator[Logged]:
    """Give the lines some at a time; the first word says what is missing of them."""
    wanted = re.compile(order.grep) if order.grep else None
    kept: Deque[LogLine] = deque(maxlen=order.last or None)
    found, began, lost = 0, False, ""
    for row in lines(journal_argv(launch), READ_S):
        entry = json.loads(row)
        line = _line(entry, launch)
        kind = entry.get("MESSAGE_ID")
        began = began or (entry.get("_PID") == "1" and kind in _BEGINS)
        lost = line.text if kind == _SUPPRESSED else lost
        if wanted is None or wanted.search(line.text):
            found += 1
            kept.append(line)
    why = f"journald dropped lines: {lost}" if lost else ""
    why = why or ("" if began else "its first entry is lost: rotated away, or never written")
    rows = list(kept)
    yield Logged(part, unit, launch, tuple(rows[:AT_ONCE]), found - len(rows), why)
    for start in range(AT_ONCE, len(rows), AT_ONCE):
        yield Logged(part, unit, launch, tuple(rows[start : start + AT_ONCE]))


def _line(entry: Dict[str, Any], launch: str) -> LogLine:
    priority = str(entry.get("PRIORITY", "6"))
    return LogLine(
        int(entry.get("__REALTIME_TIMESTAMP", 0)),
        int(priority) if priority.isdigit() else 6,
        entry.get("_SYSTEMD_INVOCATION_ID") == launch,
        decoded(entry.get("MESSAGE")),
    )
