"""Xid lines of the kernel log, each with what NVIDIA's catalogue says to do (xid.json)."""

import functools
import os
import re
from dataclasses import dataclass
from typing import Dict, Iterable, Iterator, Tuple

from headway.wire.cards import Xid
from headway.wire.loader import loads

_XID = re.compile(r"NVRM: Xid \((?:PCI:)?([0-9a-fA-F:.]+)[^)]*\): (\d+)")
_FALLEN = re.compile(r"NVRM: .*fallen off the bus")
_BUS = re.compile(r"\b(?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.[0-9a-fA-F])?\b")
_CHANGED = re.compile(r"to 0x[0-9a-fA-F]+ \(([^)]*)\)")
FALLEN, ACTION_CHANGED = 79, 154


@dataclass(frozen=True)
class Row:
    """What a few Xids mean, and the name of what to do."""

    numbers: Tuple[int, ...]
    meaning: str
    action: str


@dataclass(frozen=True)
class Catalogue:
    """The whole file; `actions` words what the names of actions stand for."""

    source: str
    actions: Dict[str, str]
    xids: Tuple[Row, ...]


@functools.cache
def catalogue() -> Catalogue:
    """Read it once."""
    with open(os.path.dirname(__file__) + "/xid.json", "rb") as file:
        return loads(Catalogue, file.read())


def xids(lines: Iterable[Tuple[int, str]]) -> Iterator[Xid]:
    """Find the driver's complaints in kernel lines, each with its second after boot."""
    for at_s, line in lines:
        numbered = _XID.search(line)
        if numbered:
            yield _named(at_s, numbered[1], int(numbered[2]), line)
        elif _FALLEN.search(line):
            bus = _BUS.search(line)
            fallen = _named(at_s, bus[0] if bus else "", FALLEN, line)
            yield Xid(at_s, fallen.bus, None, fallen.meaning, fallen.action, fallen.advice, line)


def _named(at_s: int, bus: str, number: int, line: str) -> Xid:
    known = (row for row in catalogue().xids if number in row.numbers)
    row = next(known, Row((), "unknown", ""))
    advice = catalogue().actions[row.action]
    changed = _CHANGED.search(line) if number == ACTION_CHANGED else None
    if changed:
        advice = f"the driver now wants: {changed[1]}"
    return Xid(at_s, bus.lower(), number, row.meaning, row.action, advice, line)
