"""One host's part in a verb: connect, give the order, wait for the turn, hear the last word.

A connection may go at any time. What a host was told to do it does by itself, so a visit comes
back and follows, and says "unknown" (6) only when nothing could be learnt within a limit.
"""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headway.control.errors import (
    HeadwayError,
    LostError,
    UnknownOutcomeError,
    UnreachableError,
)
from headway.control.inventory.model import Host
from headway.control.reaching.reach import Reach
from headway.control.rolling.policy import wait_s
from headway.control.rolling.replies import Replies
from headway.control.telling.story import HostEnded, HostSaid, Lost, Note, Sink
from headway.wire.event import Ask, Asked, Event, Moved, Replied, Rested
from headway.wire.phase import Exit
from headway.wire.talk import (
    Check,
    Done,
    Follow,
    FromHost,
    Look,
    Looked,
    Missing,
    Order,
    Request,
    Rollout,
    Said,
    Trouble,
)

if TYPE_CHECKING:
    from headway.control.reaching.conversation import Session

LOST_S = 900.0
TRIES = 3
GOES_ON = "the host goes on by itself: invoke status, or invoke resume to follow"
_UNTOLD = {Exit.ACCEPTED: "done", Exit.WENT_BACK: "failed", Exit.HELD: "not judged"}
"""How an order ended that is no transition (check, park, adopt, a wish), where the host rests."""


@dataclass(frozen=True)
class Task:
    """What one host is told to do, with the bytes that go with it."""

    host: Host
    order: Order
    blobs: Mapping[str, bytes] = field(default_factory=dict, repr=False)


Answering = Callable[["Visit", Ask], str | None]


def _silence(visit: "Visit", ask: Ask) -> str | None:
    """Leave every ask to its default."""


class Visit:
    """`run` is for a thread of its own; the others call `go`, `leave` and `wish`.

    `bring` is called in that thread when the host has its turn and nothing has begun there; what
    it raises ends the visit. `moved` is called when the visit begins to wait for its turn, and
    when it is over.
    """

    def __init__(  # noqa: PLR0913 # what a visit needs of its verb
        self,
        task: Task,
        reach: Reach,
        tell: Sink,
        *,
        answer: Answering = _silence,
        bring: Callable[["Visit"], None] = lambda _visit: None,
        moved: Callable[["Visit"], None] = lambda _visit: None,
        lost_s: float = LOST_S,
    ) -> None:
        self.task = task
        self.missing: Missing | None = None
        self.looked: Looked | None = None
        self.code: Exit | None = None
        self.fault: Exception | None = None
        self.waits = False
        self.over = False
        self._reach = reach
        self._tell = tell
        self._moved = moved
        self._bring = bring
        self._lost_s = lost_s
        self._replies = Replies(lambda ask: answer(self, ask))
        self._turn = threading.Event()
        self._leaving = threading.Event()
        self._session: Session | None = None
        self._given = 0
        self._went = False
        self._transition = ""
        self._seq = 0
        self._opened = False
        self._rested: Rested | None = None

    @property
    def name(self) -> str:
        """Name the host."""
        return self.task.host.name

    @property
    def in_hand(self) -> bool:
        """Say whether the host was let begin and has not said its last word."""
        return self._turn.is_set() and not self.over and not self._leaving.is_set()

    @property
    def leaving(self) -> bool:
        """Say whether nobody waits for this visit any more."""
        return self._leaving.is_set()

    # --- called from other threads -----------------------------------------------------------

    def go(self) -> None:
        """Let the host begin: it is its turn."""
        self._turn.set()

    def leave(self) -> None:
        """Leave the host: what has begun there goes on by itself, what has not never does."""
        self._leaving.set()
        self._turn.set()
        if self._session is not None:
            self._session.close()

    def wish(self, request: Request) -> None:
        """Hand a wish to the transition in hand; say so where nobody could hear it."""
        session = self._session
        try:
            if session is not None:
                session.say(request)
                return
        except LostError:
            pass  # told below: there is no connection any more
        self._tell(Note(self.name, f"{request.what} was not heard: there is no connection now"))

    # --- the thread --------------------------------------------------------------------------

    def run(self) -> None:
        """Do it all. Then `code` is the host's last word; None: it never began, nor ever will."""
        try:
            self._visit()
        except HeadwayError as error:
            if not self._leaving.is_set() or self._may_have_begun():
                hint = f"; {error.hint}" if error.hint else ""
                self._end(error.exit_code, error.exit_code.name.lower(), f"{error}{hint}")
        except Exception as error:  # noqa: BLE001 # raised again in the main thread
            self.fault = error
            self._end(Exit.UNKNOWN, "unknown", f"a fault in headway itself: {error}")
        finally:
            self.waits, self.over = False, True
            self._moved(self)

    def _visit(self) -> None:
        order: Order = self.task.order
        tries, seq, until = 0, 0, time.monotonic() + self._lost_s
        while not self._leaving.is_set():
            try:
                last = self._converse(order, again=tries > 0)
            except UnreachableError as error:
                if not self._may_have_begun():
                    raise
                why = str(error)
            else:
                if last is None or self._is_outcome(last, order):
                    self._settle(last)
                    return
                why = last.sentence
            if self._seq > seq:
                tries, seq, until = 0, self._seq, time.monotonic() + self._lost_s
            if time.monotonic() > until:
                raise UnknownOutcomeError(why, hint=GOES_ON)
            order = self._next_order(why)
            if tries == 0:
                self._tell(Lost(self.name, why, "the host goes on by itself; we come back"))
            self._leaving.wait(wait_s(tries))
            tries += 1
        self._settle(None)

    def _converse(self, order: Order, *, again: bool) -> Done | Trouble | None:
        """Have one conversation to its last word; None when we leave before that."""
        with self._reach.open(self.task.host, self._tell, again=again) as session:
            self._given += order is self.task.order
            words = session.order(order, self.task.blobs)
            self._session = session
            self._replies.over(session)
            try:
                for word in words:
                    if isinstance(word, (Done, Trouble)):
                        return word
                    self._take(word)
                    if self._leaving.is_set():
                        return None
            except LostError:
                if self._leaving.is_set():
                    return None
                raise
            finally:
                self._replies.over(None)
                self._session = None
        return None

    def _take(self, word: FromHost) -> None:
        if isinstance(word, Missing):
            self.missing = word
            self._await_turn()
        elif isinstance(word, Looked):
            self.looked = word
        elif isinstance(word, Said):
            self._take_event(word.event)

    def _await_turn(self) -> None:
        if not self._turn.is_set():
            self.waits = True
            self._moved(self)
            self._turn.wait()
            self.waits = False
        if not self._went and not self._leaving.is_set():
            self._bring(self)
        self._went = self._went or not self._leaving.is_set()

    def _take_event(self, event: Event) -> None:
        if event.transition:
            self._transition = event.transition
            self._seq = max(self._seq, event.seq)
        self._tell(HostSaid(self.name, event))
        if isinstance(event.body, Moved):
            self._opened = True
        elif isinstance(event.body, Rested):
            self._rested = event.body
        elif isinstance(event.body, Asked):
            self._replies.asked(event.body.ask)
        elif isinstance(event.body, Replied):
            self._replies.replied(event.body.answer.n)

    # --- what a lost connection leaves behind --------------------------------------------------

    def _may_have_begun(self) -> bool:
        """Say whether the host may have begun something that goes on without us."""
        if isinstance(self.task.order, Rollout):
            return self._went
        return self._given > 0 and not isinstance(self.task.order, (Look, Check, Follow))

    def _is_outcome(self, last: Done | Trouble, order: Order) -> bool:
        """Say whether a last word says how it ended, and not that nobody knows yet."""
        if last.exit_code == Exit.LOCKED and order is self.task.order and self._given > 1:
            self._opened = True  # by what we ordered before the connection went
            return False
        return last.exit_code != Exit.UNKNOWN or not self._transition

    def _next_order(self, why: str) -> Order:
        """Ask for the rest of the story. A rollout that never opened is ordered again.

        The same rollout twice is one rollout: what was staged is staged, and what did open is
        answered as locked. Nothing else is: a second rollback goes further back.
        """
        rollout = isinstance(self.task.order, Rollout)
        if self._opened or (self._transition and not rollout):
            return Follow(self._transition, self._seq)
        if rollout and self._given <= TRIES:
            return self.task.order
        raise UnknownOutcomeError(why, hint=GOES_ON)

    # --- how it ends -------------------------------------------------------------------------

    def _settle(self, last: Done | Trouble | None) -> None:
        """Tell the host's last word; None: we left."""
        if last is not None:
            code = Exit(last.exit_code)
            untold = _UNTOLD.get(code, code.name.lower())
            outcome = self._rested.outcome if self._rested is not None else untold
            self._end(code, outcome, last.sentence)
        elif self._may_have_begun():
            self._end(Exit.UNKNOWN, "left", GOES_ON)

    def _end(self, code: Exit, outcome: str, sentence: str) -> None:
        self.code = code
        self._tell(HostEnded(self.name, int(code), outcome, sentence))
