"""The sinks of a verb as one: redacted once, told in turn, and none of them stops a rollout."""

import threading
from collections.abc import Sequence

from headway.control.telling import story


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
