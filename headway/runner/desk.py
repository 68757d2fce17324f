"""Where the transition asks the controller and hears what people wish.

Asks are level-triggered: the question stays in the event file, the answer lands as a file, and
silence until the deadline counts as the question's own default. A deadline counts in
CLOCK_BOOTTIME, so a clock that jumps changes nothing.
"""

from typing import Optional

from headway.runner.clock import Clock
from headway.runner.records import Records
from headway.runner.teller import Teller
from headway.runner.watch import Watch
from headway.wire.event import Answer, Ask, Asked, Replied
from headway.wire.phase import Phase

CONFIRM = 1  # the confirmation's number: its answer is looked for after a crash, too
_POLL_S = 0.1
_HEEDING = (Phase.OPEN, Phase.TRYING, Phase.PROVEN)


class Desk:
    """Asks, and reads wishes, for one transition."""

    def __init__(self, records: Records, tell: Teller, clock: Clock, watch: Watch) -> None:
        self.records = records
        self.tell = tell
        self.clock = clock
        self.watch = watch

    def ask(self, what: str, part: str, detail: str, deadline_s: int, default: str) -> str:
        """Ask the controller and wait; silence or an abort gives `default`."""
        number = self._number(what)
        self.tell(Asked(Ask(number, what, part, detail, deadline_s, default)))
        self.watch.expect(deadline_s)
        until = self.clock.boot_ms() + deadline_s * 1000
        while self.clock.boot_ms() < until:
            answer = self.records.answer(self.tell.transition, number)
            if answer is not None:
                self.tell(Replied(answer))
                return answer.value
            if self.wish() == "abort":
                break
            self.clock.sleep(_POLL_S)
        self.tell(Replied(Answer(number, default, "silence")))
        return default

    def confirmed(self) -> Optional[bool]:
        """Say what stands on disk as the answer to the confirmation; None is silence."""
        answer = self.records.answer(self.tell.transition, CONFIRM)
        return None if answer is None else answer.value == "yes"

    def wish(self) -> str:
        """Name the wish that the transition must heed now: "abort", "hold" or "".

        Once it keeps or goes back nothing calls it off: a wish that came too late is not heard.
        """
        if self.records.state().phase not in _HEEDING:
            return ""
        for what in ("abort", "hold"):
            if self.records.request(self.tell.transition, what) is not None:
                return what
        return ""

    def _number(self, what: str) -> int:
        """Number a question as its event will be, so that no late answer fits another one."""
        if what == "confirm":
            return CONFIRM
        number = max(self.tell.seq + 1, CONFIRM + 1)
        while self.records.answer(self.tell.transition, number) is not None:
            number += 1
        return number
