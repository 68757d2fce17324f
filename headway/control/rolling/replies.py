"""Answers to a host's asks: found in threads of their own, said until the host has heard them."""

import threading
from collections.abc import Callable

from headway.control.errors import HeadwayError, LostError
from headway.control.reaching.conversation import Session
from headway.wire.event import Answer, Ask

Answering = Callable[[Ask], str | None]


class Replies:
    """The open asks of one transition. None as an answer leaves it to the ask's own default."""

    def __init__(self, find: Answering) -> None:
        self._find = find
        self._open: dict[int, Answer | None] = {}
        self._session: Session | None = None
        self._lock = threading.Lock()

    def over(self, session: Session | None) -> None:
        """Go on over this connection: what was answered is said again, for it may be lost."""
        with self._lock:
            self._session = session
            answers = [answer for answer in self._open.values() if answer is not None]
        for answer in answers:
            self._say(answer)

    def asked(self, ask: Ask) -> None:
        """Look for the answer; the conversation goes on meanwhile."""
        with self._lock:
            if ask.n in self._open:
                return
            self._open[ask.n] = None
        threading.Thread(target=self._look, args=(ask,), daemon=True).start()

    def replied(self, n: int) -> None:
        """The host went by an answer: it need not be said again."""
        with self._lock:
            self._open.pop(n, None)

    def _look(self, ask: Ask) -> None:
        try:
            value = self._find(ask)
        except HeadwayError as error:
            value = str(error)
        if value is None:
            return
        answer = Answer(ask.n, value, "controller")
        with self._lock:
            if ask.n not in self._open:
                return
            self._open[ask.n] = answer
        self._say(answer)

    def _say(self, answer: Answer) -> None:
        session = self._session
        if session is None:
            return
        try:
            session.say(answer)
        except LostError:
            return  # said again over the next connection
