"""Many hosts, one turn at a time: visits in threads, turns and Ctrl-C in the main one.

Whether a host has anything to do is learnt of all of them at once; one that has waits with
nothing touched until the hosts before it are accepted (DESIGN 4: batch 1, budget 0).
"""

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from queue import SimpleQueue

from headway.control.rolling import policy
from headway.control.rolling.policy import Interrupt
from headway.control.rolling.visit import GOES_ON, Visit
from headway.control.telling.story import Note, Sink, Turn
from headway.wire.phase import Exit
from headway.wire.talk import Request, Rollout


class News(Enum):
    """What wakes the main thread."""

    MOVED = "a visit waits for its turn, or is over"
    PRESSED = "Ctrl-C"


@dataclass(frozen=True)
class Outcome:
    """How the hosts ended, in order; `untouched` are those whose turn never came.

    `called_off`: a person said that no new one starts.
    """

    codes: tuple[Exit, ...]
    untouched: tuple[str, ...]
    called_off: bool = False


class Crew:
    """Runs visits. `ahead` is how many hosts are connected to at once, before their turn.

    `before_first` is asked once, before any host gets its turn; it raises where none may.
    """

    def __init__(
        self,
        tell: Sink,
        by: str,
        *,
        budget: int = 0,
        ahead: int = 0,
        before_first: Callable[[], None] = lambda: None,
    ) -> None:
        self._tell = tell
        self._by = by
        self._budget = budget
        self._ahead = ahead
        self._before_first = before_first
        self._news: SimpleQueue[News] = SimpleQueue()
        self._visits: Sequence[Visit] = ()
        self._started = 0
        self._presses = 0
        self._turns = 0

    def moved(self, _visit: Visit) -> None:
        """Take notice that a visit waits or is over; for any thread."""
        self._news.put(News.MOVED)

    def one_by_one(self, visits: Sequence[Visit]) -> Outcome:
        """Give each its turn after the one before was accepted; stop when the budget is spent."""
        self._visits = visits
        with self._hearing_interrupts():
            try:
                for n, visit in enumerate(visits):
                    if self._presses or not policy.may_go_on(self._codes(n), self._budget):
                        break
                    self._take_turn(n, visit)
            finally:
                for visit in visits[: self._started]:
                    if not visit.over:
                        visit.leave()
        return self._outcome()

    def all_at_once(self, visits: Sequence[Visit]) -> Outcome:
        """Let all begin: for what takes nothing out of service."""
        self._visits = visits
        with self._hearing_interrupts():
            for visit in visits:
                visit.go()
            self._start(len(visits))
            self._until(lambda: all(visit.over for visit in visits))
        return self._outcome()

    # --- turns -------------------------------------------------------------------------------

    def _take_turn(self, n: int, visit: Visit) -> None:
        if self._ahead:
            self._until(lambda: visit.waits or visit.over or self._presses > 0)
            if visit.over or self._presses:
                return
        order = visit.task.order
        release = order.release.id if isinstance(order, Rollout) else ""
        if not self._turns:
            self._before_first()
        self._turns += 1
        self._tell(Turn(visit.name, n + 1, len(self._visits), release))
        visit.go()
        self._start(n + 1)
        self._until(lambda: visit.over)

    def _start(self, up_to: int) -> None:
        while self._started < up_to:
            visit = self._visits[self._started]
            self._started += 1
            threading.Thread(target=visit.run, name=visit.name, daemon=True).start()

    def _start_ahead(self) -> None:
        """Keep as many visits under way as may be; those that wait for their turn count."""
        live = sum(not visit.over for visit in self._visits[: self._started])
        if not self._presses:
            self._start(min(len(self._visits), self._started + max(0, self._ahead - live)))

    def _until(self, done: Callable[[], bool]) -> None:
        while True:
            if self._ahead:
                self._start_ahead()
            if done():
                return
            if self._news.get() is News.PRESSED:
                self._interrupt()

    def _codes(self, n: int) -> list[Exit]:
        return [visit.code for visit in self._visits[:n] if visit.code is not None]

    def _outcome(self) -> Outcome:
        for visit in self._visits:
            if visit.fault is not None:
                raise visit.fault
        untouched = tuple(visit.name for visit in self._visits if visit.code is None)
        called_off = self._presses > 0 and bool(untouched)
        return Outcome(tuple(self._codes(len(self._visits))), untouched, called_off)

    # --- Ctrl-C ------------------------------------------------------------------------------

    @contextmanager
    def _hearing_interrupts(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = signal.signal(signal.SIGINT, lambda *_: self._news.put(News.PRESSED))
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def _interrupt(self) -> None:
        self._presses += 1
        meant = policy.interrupt(self._presses)
        in_hand = [visit for visit in self._visits if visit.in_hand]
        for visit in in_hand:
            self._tell(Note(visit.name, meant.value, _next(self._presses)))
            if meant is Interrupt.ABORT:
                visit.wish(Request("abort", self._by, "Ctrl-C"))
            elif meant is Interrupt.LEAVE:
                visit.leave()
        if not in_hand:
            self._tell(Note("", "no host starts any more"))


def _next(presses: int) -> str:
    meant = policy.interrupt(presses + 1)
    return (
        GOES_ON if policy.interrupt(presses) is Interrupt.LEAVE else f"Ctrl-C again: {meant.value}"
    )
