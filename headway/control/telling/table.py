"""Text tables: columns as wide as what stands in them, two blanks between, nothing ruled."""

import textwrap
from collections.abc import Iterator, Sequence

_NARROWEST = 20


def table(header: Sequence[str], rows: Sequence[Sequence[str]], width: int = 0) -> str:
    """Lay out rows below a header; a column that is empty in every row is left out.

    With a `width`, what is too long in the last column goes on below itself; 0 is for pipes,
    where a row is a line.
    """
    kept = [n for n in range(len(header)) if any(row[n] for row in rows)]
    lines = [[line[n] for n in kept] for line in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    indent = sum(widths[:-1]) + 2 * (len(widths) - 1)
    room = max(width - indent, _NARROWEST) if width else 0
    return "\n".join(row for line in lines for row in _rows(line, widths, indent, room))


def _rows(line: Sequence[str], widths: Sequence[int], indent: int, room: int) -> Iterator[str]:
    *words, last = line
    first = "".join(f"{word:<{size}}  " for word, size in zip(words, widths, strict=False))
    shown = (textwrap.wrap(last, room) if room else [last]) or [""]
    yield f"{first}{shown[0]}".rstrip()
    yield from (" " * indent + more for more in shown[1:])
