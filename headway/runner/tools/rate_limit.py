"""Whether journald may have dropped lines of a unit without having said so yet.

Its notice ("Suppressed 19625 messages") comes with the next line after the interval: an engine
that floods and then falls silent leaves none. So a burst as long as the limit lets through is
taken for one that was cut. LogRateLimitIntervalSec=0 in a unit does not turn the limit off, it
means journald's own (systemd#22034; of 100,000 lines 37,500 were kept on 252): a unit needs a
limit that nothing reaches, such as 1s with a burst of 1000000.
"""

import os
import re
from collections import deque
from dataclasses import dataclass
from typing import Deque, Dict, Optional

from headway.wire.tools import Run

_EXPORTED = "/run/systemd/units/log-rate-limit-"  # what PID 1 tells journald of a unit
_SECONDS = {"": 1, "s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600}
_FAR = 200_000  # a burst nobody reaches: looking for it would cost more than it tells


@dataclass(frozen=True)
class RateLimit:
    """At least `burst` lines pass in `interval_us`; journald lets more pass on a large disk."""

    interval_us: int
    burst: int


def rate_limit_of(run: Run, unit: str) -> Optional[RateLimit]:
    """Find the limit that journald holds a unit to; None where there is none."""
    own = RateLimit(_exported("interval", unit), _exported("burst", unit))
    if own.interval_us and own.burst:
        return own
    ran = run(["systemd-analyze", "cat-config", "systemd/journald.conf"])
    return limit_in(ran.stdout.decode(errors="replace"))


def limit_in(config: str) -> Optional[RateLimit]:
    """Read journald.conf with all its drop-ins; 30 s and 10000 where it says nothing."""
    pairs: Dict[str, str] = dict(
        re.findall(r"^(RateLimit\w+)\s*=\s*(.*?)\s*$", config, re.MULTILINE)
    )
    span = re.fullmatch(r"(\d+)\s*(\w*)", pairs.get("RateLimitIntervalSec", "30s"))
    burst = pairs.get("RateLimitBurst", "10000")
    seconds = int(span[1]) * _SECONDS.get(span[2], 1) if span else 30
    lines = int(burst) if burst.isdigit() else 10_000
    return RateLimit(seconds * 1_000_000, lines) if seconds and lines else None


class Burst:
    """Watches the lines of one launch for a burst that its limit may have cut."""

    def __init__(self, limit: Optional[RateLimit]) -> None:
        self.limit = limit if limit and limit.burst < _FAR else None
        self.cut = False
        self._times: Deque[int] = deque(maxlen=self.limit.burst if self.limit else 1)

    def take(self, at_us: int) -> None:
        """Count a line."""
        self._times.append(at_us)
        if self.limit and len(self._times) == self.limit.burst:
            self.cut |= at_us - self._times[0] <= self.limit.interval_us


def _exported(what: str, unit: str) -> int:
    try:
        return int(os.readlink(f"{_EXPORTED}{what}:{unit}"))
    except (OSError, ValueError):
        return 0
