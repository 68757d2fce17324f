"""Unified diffs applied in memory, exactly: a hunk fits where it says or in one other place.

No fuzz, and nothing is written by this module: a patch that does not fit changes no file.
"""

import re
from dataclasses import dataclass
from typing import Callable, Dict, Iterator, List, Optional, Tuple

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_NOTHING = "/dev/null"

Read = Callable[[str], Optional[bytes]]


class PatchError(ValueError):
    """A patch that is no unified diff, or that does not fit: which file, which hunk."""


@dataclass(frozen=True)
class _Hunk:
    at: int  # first line of the old text, counted from 0
    old: Tuple[str, ...]
    new: Tuple[str, ...]


@dataclass(frozen=True)
class _Change:
    old: Optional[str]
    new: Optional[str]
    hunks: Tuple[_Hunk, ...]


def patched(diff: str, read: Read) -> Dict[str, Optional[bytes]]:
    """Give every changed file's new bytes, None for one that goes; paths lose their `a/`, `b/`."""
    results: Dict[str, Optional[bytes]] = {}
    for change in _changes(_lines(diff)):
        name = change.old or change.new or ""
        data = results[name] if name in results else read(name)
        if change.old is not None and data is None:
            raise PatchError(f"{name} does not exist")
        if change.old is None and data is not None:
            raise PatchError(f"{name} exists already")
        lines, grown = _lines((data or b"").decode()), 0
        for number, hunk in enumerate(change.hunks, 1):
            lines = _fit(lines, hunk, hunk.at + grown, f"hunk {number} of {name}")
            grown += len(hunk.new) - len(hunk.old)
        if change.new != change.old and change.old is not None:
            results[change.old] = None
        if change.new is not None:
            results[change.new] = "".join(lines).encode()
    if not results:
        raise PatchError(
            "it changes no file: a unified diff has lines that begin with ---, +++, @@"
        )
    return results


def _fit(lines: List[str], hunk: _Hunk, at: int, what: str) -> List[str]:
    """Apply a hunk where it says (`at`, by the hunks before it), else at the one place it fits."""
    size = len(hunk.old)
    places = range(len(lines) - size + 1)
    fits = [place for place in places if tuple(lines[place : place + size]) == hunk.old]
    if at in fits or (not hunk.old and at <= len(lines)):
        return [*lines[:at], *hunk.new, *lines[at + size :]]
    if len(fits) == 1 and hunk.old:
        return [*lines[: fits[0]], *hunk.new, *lines[fits[0] + size :]]
    raise PatchError(f"{what} fits in {len(fits)} places")


def _changes(rows: List[str]) -> Iterator[_Change]:
    at = 0
    while at < len(rows):
        if not (rows[at].startswith("--- ") and rows[at + 1 : at + 2]):
            at += 1  # words between files: `diff --git`, `index`, a commit message
            continue
        old, new = _name(rows[at]), _name(rows[at + 1])
        at += 2
        hunks = []
        while at < len(rows) and rows[at].startswith("@@"):
            hunk, at = _hunk(rows, at)
            hunks.append(hunk)
        yield _Change(old, new, tuple(hunks))


def _hunk(rows: List[str], at: int) -> Tuple[_Hunk, int]:
    """Read one hunk by the counts in its head; the text of a line may begin with anything."""
    head = _HUNK.match(rows[at])
    if head is None:
        raise PatchError(f"cannot read {rows[at].strip()!r}")
    first, old_left, new_left = int(head[1]), int(head[2] or 1), int(head[3] or 1)
    start = first - 1 if old_left else first
    old: List[str] = []
    new: List[str] = []
    at += 1
    while at < len(rows) and (old_left > len(old) or new_left > len(new)):
        mark, text = rows[at][:1], rows[at][1:]
        if mark in " \n-":
            old.append(text or "\n")
        if mark in " \n+":
            new.append(text or "\n")
        if mark == "\\":
            _chop(old, new, rows[at - 1][:1])
        at += 1
    if at < len(rows) and rows[at].startswith("\\"):
        _chop(old, new, rows[at - 1][:1])
        at += 1
    if (len(old), len(new)) != (old_left, new_left):
        raise PatchError(f"the hunk {rows[at - 1].strip()!r} ends in is cut off")
    return _Hunk(start, tuple(old), tuple(new)), at


def _chop(old: List[str], new: List[str], mark: str) -> None:
    r"""Obey `\ No newline at end of file`, which speaks of the line above it."""
    for side in (old if mark in " -" else None, new if mark in " +" else None):
        if side:
            side[-1] = side[-1].rstrip("\n")


def _lines(text: str) -> List[str]:
    """Split at newlines alone: Python's splitlines also splits at form feeds inside a line."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _name(row: str) -> Optional[str]:
    """Read a path from a `---` or `+++` line; a stamp may follow after a tab."""
    path = row[4:].partition("\t")[0].strip()
    if path == _NOTHING:
        return None
    name = path.partition("/")[2]
    if not name or ".." in name.split("/") or name.startswith("/"):
        raise PatchError(f"{path!r} is no path below a/ or b/")
    return name
