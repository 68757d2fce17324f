"""Blots out what a part's secret files hold in what gates say of it: an engine may log its key.

The controller hides secrets by value wherever it shows something, but only those it was asked to
open; a host's own event file and its history are read without it, too.
"""

import re
from typing import Callable, Iterator, Set

from headway.runner.machine import Machine
from headway.wire.release import Part

MASK = "***"
SHORTEST = 8
"""Shorter values stand in too many words."""
_VALUE = re.compile(r"""[=:]\s*(["']?)(?P<value>.+?)\1\s*$""")
_ESCAPED = re.compile(r'\\(["\\`$])')
_PLAIN = re.compile(r"[/~].*|[\d.,: -]+|https?://[^@]*")  # paths, numbers, open addresses


def hushed(machine: Machine, part: Part) -> Callable[[str], str]:
    """Give a function that blots out the values in this part's secret files."""
    values = sorted(_values(machine, part), key=len, reverse=True)
    if not values:
        return lambda text: text
    pattern = re.compile("|".join(map(re.escape, values)))
    return lambda text: pattern.sub(MASK, text)


def _values(machine: Machine, part: Part) -> Set[str]:
    found: Set[str] = set()
    for blob in part.blobs():
        if blob.secret:
            data = machine.blobs.read_if_whole(blob.sha256) or b""
            found.update(_values_in(data.decode(errors="replace")))
    return {value for value in found if len(value) >= SHORTEST and not _PLAIN.fullmatch(value)}


def _values_in(text: str) -> Iterator[str]:
    """Give what stands behind = and : in lines, and a line that has neither, as a key file's."""
    for line in text.splitlines():
        match = _VALUE.search(line)
        value = match.group("value") if match else line.strip()
        yield value
        yield _ESCAPED.sub(r"\1", value)
