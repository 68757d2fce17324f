"""Asks the child that asks NVML: keeps one for several looks, and leaves one that hangs behind."""

import importlib.util
import os
import sys
import threading
import time
from dataclasses import replace
from typing import List, Optional

from headway.runner.cards.words import Begun, Word
from headway.runner.launch import runner_folder
from headway.runner.process import Companion, ProcessError
from headway.wire.cards import Card, CardsSeen
from headway.wire.loader import load, parse

LONGEST_S = 30
"""A first look may start cards up, seconds each, where nothing keeps them awake."""


def child_argv() -> List[str]:
    """Word the child's start: this Python, cut off from the host's own environment."""
    found = importlib.util.find_spec("pynvml")
    folders = [runner_folder(), *([os.path.dirname(found.origin or "")] if found else [])]
    return [sys.executable, "-I", "-S", os.path.dirname(__file__) + "/child.py", *folders]


class Asker:
    """One child at a time, from any thread; `argv` starts it."""

    def __init__(self, argv: Optional[List[str]] = None) -> None:
        self._argv = argv
        self._turn = threading.Lock()
        self._child: Optional[Companion] = None
        self._hung: Optional[CardsSeen] = None

    def look(self, *, pairs: bool, deadline_s: int) -> CardsSeen:
        """Read every card; a child that went away since the last look is started again once."""
        with self._turn:
            if self._hung is not None:
                return self._hung
            kept = self._child is not None
            try:
                return self._ask(b"look pairs\n" if pairs else b"look\n", deadline_s)
            except ProcessError as error:
                self.close()
                failed = error
            if kept:
                try:
                    return self._ask(b"look pairs\n" if pairs else b"look\n", deadline_s)
                except ProcessError as error:
                    self.close()
                    failed = error
            return CardsSeen(trouble=(f"what asks NVML ended: {failed}",))

    def close(self) -> bool:
        """End the child; False when it hangs in the driver and does not die."""
        child, self._child = self._child, None
        return child is None or child.end()

    def _ask(self, question: bytes, deadline_s: int) -> CardsSeen:
        limit_s = max(1, min(deadline_s, LONGEST_S))
        until = time.monotonic() + limit_s
        if self._child is None:
            self._child = Companion(self._argv or child_argv())
        child = self._child
        child.say(question)
        at = "the driver"
        cards: List[Card] = []
        while True:
            heard = child.hear(until)
            if heard is None:
                return self._left(child.pid, at, limit_s, cards)
            word: Word = load(Word, parse(heard))  # type: ignore[arg-type] # mypy knows no Type[Union]
            if isinstance(word, CardsSeen):
                return replace(word, cards=tuple(cards))
            if isinstance(word, Begun):
                at = word.what
            else:
                cards.append(word)

    def _left(self, pid: int, at: str, limit_s: int, cards: List[Card]) -> CardsSeen:
        """Leave a child that hangs: that is the finding. One that does not die hangs for all."""
        where = waits_in(pid)
        sentence = f"NVML did not answer within {limit_s} s: it hangs at {at}"
        if self.close():
            return CardsSeen(cards=tuple(cards), trouble=(sentence,))
        never = f"{sentence}; process {pid} does not die{where}: the machine needs a reboot"
        self._hung = CardsSeen(cards=tuple(cards), trouble=(never,))
        return self._hung


def waits_in(pid: int) -> str:
    """Say where in the kernel a process waits, " in FUNCTION"; "" where it does not, or is gone."""
    try:
        with open(f"/proc/{pid}/wchan") as file:
            name = file.read().strip()
    except OSError:
        return ""
    return f" in {name}" if name not in ("", "0") else ""
