"""The sinks of a verb as one: redacted once, told in turn, and none of them stops a rollout."""

import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from headway.control.telling import story

if TYPE_CHECKING:
    from headway.control.telling.settings import Outlet


def together(sinks: Sequence[story.Sink]) -> story.Sink:
    """Tell every sink, one piece at a time whatever thread it comes from.

    A sink that cannot be written to any more (its reader left, its disk is full) is let go: a
    rollout never stops for a screen.
    """
    left = list(sinks)
    lock = threading.Lock()

    def tell(told: story.Told) -> None:
        with lock:
            for sink in tuple(left):
                try:
                    sink(told)
                except OSError:
                    left.remove(sink)

    return tell


def opened(
    outlets: "Sequence[Outlet]", stack: ExitStack, warn: Callable[[str], None]
) -> tuple[story.Sink, ...]:
    """Open the sinks of headway.yaml; `stack` closes them. One that breaks is told once."""
    from headway.control.telling.settings import Ndjson, Textfile

    made: list[story.Sink] = []
    for outlet in outlets:
        if isinstance(outlet.setting, Textfile):
            from headway.control.telling import textfile

            made.append(_told_once(textfile.Textfile(outlet.path), outlet.where, warn))
        elif isinstance(outlet.setting, Ndjson):
            made.append(_told_once(_appending(outlet), outlet.where, warn))
        else:
            from headway.control.telling.courier import Courier

            made.append(stack.enter_context(Courier(outlet, warn)))
    return tuple(made)


def _appending(outlet: "Outlet") -> story.Sink:
    from headway.control.telling.ndjson import row

    def tell(told: story.Told) -> None:
        with outlet.path.open("a", encoding="utf-8") as file:
            file.write(row(told) + "\n")

    return tell


def _told_once(sink: story.Sink, where: str, warn: Callable[[str], None]) -> story.Sink:
    """Say it when a sink cannot be written, before it is let go."""

    def tell(told: story.Told) -> None:
        try:
            sink(told)
        except OSError as error:
            warn(f"{where}: not written any more: {error}")
            raise

    return tell
