"""Asks the child that asks NVML: keeps one for several looks, and leaves one that hangs behind.

It is loaded before the vocabulary of the wire is, so that the child asks while that loads.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time

from headway.runner.process import Companion, ProcessError

TYPE_CHECKING = False  # `typing` is loaded while the child asks, too
if TYPE_CHECKING:
    from typing import Callable, List, Optional

    from headway.wire.cards import Card, CardsSeen

LONGEST_S = 30
"""A first look may start cards up, seconds each, where nothing keeps them awake."""


def start() -> Companion:
    """Start the child: this Python, cut off from the host's own environment."""
    here = os.path.dirname(os.path.realpath(__file__))
    library = (folder for folder in sys.path if os.path.exists(folder + "/pynvml.py"))
    folders = [os.path.abspath(here + "/../../.."), next(library, "")]
    return Companion([sys.executable, "-I", "-S", here + "/child.py", *folders])


class Asker:
    """One child at a time, from any thread; `start` starts it."""

    def __init__(self, start: Callable[[], Companion] = start) -> None:
        self._start = start
        self._turn = threading.Lock()
        self._child: Optional[Companion] = None
        self._asked = b""
        self._stuck: Optional[Companion] = None
        self._finding: Optional[CardsSeen] = None

    def ask_ahead(self, *, pairs: bool) -> None:
        """Start the child and put the question; what goes wrong is for the look to find."""
        with self._turn, contextlib.suppress(ProcessError):
            if self._child is None and self._stuck is None:
                self._put(_question(pairs=pairs))

    def look(self, *, pairs: bool, deadline_s: int) -> CardsSeen:
        """Read every card; a child that went away since the last look is started again once."""
        from headway.wire.cards import CardsSeen

        with self._turn:
            if self._finding and self._stuck is not None and not self._stuck.gone():
                return self._finding
            said = "nothing"
            for _ in range(1 if self._child is None else 2):
                try:
                    return self._ask(_question(pairs=pairs), deadline_s)
                except ProcessError as error:
                    self.close()
                    said = str(error)
            return CardsSeen(trouble=(f"what asks NVML ended: {said}",))

    def close(self) -> bool:
        """End the child; False when it hangs in the driver and does not die."""
        child, self._child, self._asked = self._child, None, b""
        return child is None or child.end()

    def _ask(self, question: bytes, deadline_s: int) -> CardsSeen:
        from dataclasses import replace

        from headway.runner.cards.words import Begun, Word
        from headway.wire.cards import CardsSeen
        from headway.wire.loader import load, parse

        limit_s = max(1, min(deadline_s, LONGEST_S))
        until = time.monotonic() + limit_s
        if self._asked not in (b"", question):
            self.close()
        child = self._put(question)
        self._asked = b""
        at = "the driver"
        cards: List[Card] = []
        while True:
            heard = child.hear(until)
            if heard is None:
                return self._left(child, at, limit_s, cards)
            word: Word = load(Word, parse(heard))  # type: ignore[arg-type] # mypy knows no Type[Union]
            if isinstance(word, CardsSeen):
                return replace(word, cards=tuple(cards))
            if isinstance(word, Begun):
                at = word.what
            else:
                cards.append(word)

    def _put(self, question: bytes) -> Companion:
        if self._child is None:
            self._child = self._start()
        if not self._asked:
            self._child.say(question)
            self._asked = question
        return self._child

    def _left(self, child: Companion, at: str, limit_s: int, cards: List[Card]) -> CardsSeen:
        """Leave a child that hangs: that is the finding. One that does not die hangs for all."""
        from headway.wire.cards import CardsSeen

        where = waits_in(child.pid)
        sentence = f"NVML did not answer within {limit_s} s: it hangs at {at}"
        if not self.close():
            self._stuck = child
            sentence += f"; process {child.pid} does not die{where}: the machine needs a reboot"
        self._finding = CardsSeen(cards=tuple(cards), trouble=(sentence,), closed="hangs")
        return self._finding


def _question(*, pairs: bool) -> bytes:
    return b"look pairs\n" if pairs else b"look\n"


def waits_in(pid: int) -> str:
    """Say where in the kernel a process waits, " in FUNCTION"; "" where it does not, or is gone."""
    try:
        with open(f"/proc/{pid}/wchan") as file:
            name = file.read().strip()
    except OSError:
        return ""
    return f" in {name}" if name not in ("", "0") else ""


ASKER = Asker()
