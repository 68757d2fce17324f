"""`logs`: the lines of one launch of one part, and of no other launch."""

import re
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass

from headway.control.desk import Desk
from headway.control.errors import HeadwayError, UsageError
from headway.wire.phase import Exit
from headway.wire.talk import Logged, LogLine, Logs

CURRENT, PREVIOUS = "current", "previous"
_LAUNCH = re.compile(r"[0-9a-f]{4,32}")
_WORST = 3  # syslog's "err": from there on a line is marked


@dataclass(frozen=True)
class HostLine:
    """A line of a launch, with where it was written."""

    host: str
    part: str
    launch: str
    line: LogLine


def logs(desk: Desk, order: Logs) -> Exit:
    """Show the lines of a launch on one host; what is missing of them is said on stderr."""
    from headway.control.reaching.looks import heard

    _refuse_misfits(order)
    if len(desk.hosts) > 1:
        names = ", ".join(host.name for host in desk.hosts[:4])
        raise UsageError(
            f"logs: of one host, and --host names {len(desk.hosts)}: {names} ...",
            hint="invoke logs --host NAME",
        )
    (host,) = desk.hosts
    words = heard(host, desk.reach, order)
    if isinstance(words, HeadwayError):
        words.hint = words.hint or f"invoke status --host {host.name} shows its parts"
        raise words
    told = [word for word in words if isinstance(word, Logged)]
    if desk.json:
        desk.rows(
            HostLine(host.name, word.part, word.launch, line)
            for word in told
            for line in word.lines
        )
    else:
        sys.stderr.write("".join(f"{row}\n" for row in head(host.name, order, told)))
        for word in told:
            if word.lines:
                desk.print("\n".join(line_text(line) for line in word.lines))
    return Exit.ACCEPTED


def head(host: str, order: Logs, told: list[Logged]) -> Iterator[str]:
    """Say whose lines these are, and what is missing of them."""
    launch = told[0]
    shown = sum(len(word.lines) for word in told)
    which = order.launch if order.launch in (CURRENT, PREVIOUS) else "that"
    matching = f" that match {order.grep!r}" if order.grep else ""
    yield (
        f"{host}  {launch.part}  {which} launch {launch.launch[:8]} of {launch.unit}:"
        f" {shown} lines{matching}"
    )
    if launch.skipped:
        yield f"{host}  {launch.skipped} older ones are left out: --last {shown + launch.skipped}"
    if launch.incomplete:
        yield f"{host}  not whole: {launch.incomplete}"


def line_text(line: LogLine) -> str:
    """Write a line with its time of day; what systemd says, and what is grave, is marked."""
    seconds, us = divmod(line.at_us, 1_000_000)
    at = time.strftime("%H:%M:%S", time.localtime(seconds))
    mark = "!" if line.priority <= _WORST else " " if line.own else "-"
    return f"{at}.{us // 1000:03} {mark} {line.text}"


def _refuse_misfits(order: Logs) -> None:
    try:
        re.compile(order.grep)
    except re.error as error:
        raise UsageError(
            f"--grep: {order.grep!r} is no regular expression: {error}",
            hint=f"for the text itself: invoke logs --grep '{re.escape(order.grep)}'",
        ) from None
    if order.launch not in (CURRENT, PREVIOUS) and not _LAUNCH.fullmatch(order.launch):
        raise UsageError(
            f"--launch: {order.launch!r} is not current, previous or an InvocationID",
            hint="invoke logs --launch previous; reports name launches by their first digits",
        )
