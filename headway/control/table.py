"""Text tables: columns as wide as what stands in them, two blanks between, nothing ruled."""

from collections.abc import Sequence


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Lay out rows below a header; a column that is empty in every row is left out."""
    kept = [n for n in range(len(header)) if any(row[n] for row in rows)]
    lines = [[line[n] for n in kept] for line in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(f"{word:<{width}}" for word, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )
