"""The screen: a sink of the story. One live line at the bottom of a terminal, plain lines else.

Everything goes to stderr: stdout is for data. NO_COLOR and TERM=dumb are kept to, and no word is
told by its colour alone.
"""

import os
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Self, TextIO

from headway.control.telling import story
from headway.control.telling.drawing import STYLES, Line, Word, lines, live, plain, wrapped
from headway.control.telling.picture import Picture, doing, fold

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text


class Plain:
    """Prints each line as it is told, whole and without colours: for pipes, CI and log files."""

    def __init__(self, out: TextIO) -> None:
        """Write to `out`."""
        self._out = out
        self._picture = Picture()

    def __enter__(self) -> Self:
        """Nothing is held open."""
        return self

    def __exit__(self, *error: object) -> None:
        """Nothing is held open."""

    def __call__(self, told: story.Told) -> None:
        """Print what is new."""
        self._picture = fold(self._picture, told)
        for line in lines(self._picture, told):
            self._out.write(plain(line) + "\n")
        self._out.flush()


class Screen:
    """Draws on a terminal: lines scroll by, and one line at the bottom says what goes on now."""

    def __init__(self, console: "Console", clock: Callable[[], float] = time.monotonic) -> None:
        """Draw on a console of rich's; `clock` gives seconds."""
        from rich.live import Live

        self._clock = clock
        self._picture = Picture()
        self._since = clock()
        self._console = console
        self._live = Live(
            console=console, get_renderable=self._now, transient=True, refresh_per_second=4
        )

    def __enter__(self) -> Self:
        """Take the bottom line of the terminal."""
        self._live.start()
        return self

    def __exit__(self, *error: object) -> None:
        """Give it back, whatever happened."""
        self._live.stop()

    def __call__(self, told: story.Told) -> None:
        """Print what is new above the live line."""
        before, self._picture = self._picture, fold(self._picture, told)
        if doing(before) != doing(self._picture):
            self._since = self._clock()
        for line in lines(self._picture, told):
            for row in wrapped(line, self._console.width):
                self._console.print(_text(row), soft_wrap=True)

    def _now(self) -> "Text":
        elapsed_ms = int(1000 * (self._clock() - self._since))
        text = _text((Word(live(self._picture, elapsed_ms), "quiet"),))
        text.no_wrap, text.overflow = True, "ellipsis"
        return text


def screen(out: TextIO) -> AbstractContextManager[story.Sink]:
    """Choose what fits `out`: a live screen on a terminal, plain lines on everything else."""
    if not out.isatty() or os.environ.get("TERM") == "dumb":
        return Plain(out)
    from rich.console import Console

    return Screen(Console(file=out, highlight=False, markup=False, emoji=False))


def _text(line: Line) -> "Text":
    from rich.text import Text

    return Text.assemble(*((word.text, STYLES[word.style]) for word in line))


def styled(text: str, style: str) -> str:
    """Give a text in a style of rich's, as a terminal takes it."""
    from rich.style import Style

    return Style.parse(style).render(text)
