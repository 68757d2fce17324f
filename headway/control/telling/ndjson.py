"""`--json`: the story, and answers of verbs that look, as one JSON value a line on stdout.

A line is a mapping with one key, its kind, exactly as on the wire: docs/events.md lists them.
"""

from collections.abc import Callable
from typing import Any, TextIO

from headway.control.telling import story
from headway.wire.loader import line


def row(value: Any) -> str:  # noqa: ANN401 # any frozen dataclass of the story or the wire
    """Write one value under its kind, without a newline."""
    return line(value).decode().rstrip("\n")


def ndjson(out: TextIO) -> Callable[[story.Told], None]:
    """Make a sink that writes each piece of the story as it is told."""

    def tell(told: story.Told) -> None:
        out.write(row(told) + "\n")
        out.flush()

    return tell
