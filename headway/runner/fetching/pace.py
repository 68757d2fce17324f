"""How fast bytes may come, how long all of it may take, and who is told how it goes."""

import time
from typing import Callable

from headway.runner.resources.error import ResourceError
from headway.runner.resources.weights import Delivery

TELL_S = 5.0
_MIB = 1024 * 1024
_LARGEST = 1 << 20


class Pace:
    """Counts what comes, sleeps where it came too fast, tells, and ends what takes too long."""

    def __init__(
        self, delivery: Delivery, total: int, done: int, sleep: Callable[[float], None]
    ) -> None:
        self.sleep = sleep
        self._delivery = delivery
        self._total = total
        self._done = done
        self._limit = delivery.how.max_mib_s * _MIB
        self._until = time.monotonic() + delivery.how.deadline_s
        self._free_at = 0.0
        self._told = (time.monotonic(), done)

    def chunk(self) -> int:
        """Say how many bytes to read at once: a small limit comes in small pieces."""
        return min(_LARGEST, max(4096, self._limit // 8)) if self._limit else _LARGEST

    def came(self, count: int) -> None:
        """Count bytes (fewer than none where some were thrown away), and wait for the limit."""
        self._done += count
        now = time.monotonic()
        if self._limit and count > 0:
            self._free_at = max(now, self._free_at) + count / self._limit
            self.sleep(self._free_at - now)
        self.look()

    def look(self) -> None:
        """Tell how far it is; ResourceError when time is over, or nobody listens any more."""
        now = time.monotonic()
        if now >= self._until:
            raise ResourceError(
                f"{self._done} of {self._total} bytes of the weights came within "
                f"{self._delivery.how.deadline_s} s, and no more time is given (deadline_s); "
                "what came stays, the next try goes on there"
            )
        at, done = self._told
        if now - at < TELL_S:
            return
        self._told = (now, self._done)
        self._delivery.tell(self._done, self._total, max(0, int((self._done - done) / (now - at))))
        if not self._delivery.listening():
            raise ResourceError("the controller is gone; what came of the weights stays")
