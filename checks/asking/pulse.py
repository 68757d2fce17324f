"""A second look at the engine, by its counters, while it is asked: that it works, and for whom."""

import threading
import time
from dataclasses import replace
from typing import List, Mapping, Optional, Tuple

from headway.wire.gate import Judgement
from headway.wire.loader import Json
from headway.wire.verdict import Verdict
from headway_checks.asking.answers import unjudged
from headway_checks.asking.counters import Reading, read
from headway_checks.asking.service import Service
from headway_checks.asking.stream import Heard, hear

FLAT_S = 60  # so long nothing may move with requests running (DESIGN 5)
_EVERY_S = 1.0
SETTLE_S = 10  # what a gate before this one left behind may take to go
_TWICE = 2  # looks: a request that ended may be counted a moment longer


class Pulse:
    """Reads the counters every second in a thread; `ours` is how many requests we have there now.

    Used as a context. Where the engine shows no metrics, `readings` stays empty. `unanswered_us` is
    when the first look began that got no answer since the last reading; 0: all got theirs.
    """

    def __init__(self, service: Service, flat_s: int = FLAT_S) -> None:
        self.service = service
        self.flat_s = flat_s
        self.readings: List[Reading] = []
        self.unanswered_us = 0
        self.foreign = 0
        self._ours = 0
        self._beyond: List[int] = []
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)

    def __enter__(self) -> "Pulse":  # noqa: PYI034 # Self is newer than the hosts' Python
        self._take()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self._take()

    @property
    def first(self) -> Optional[Reading]:
        """Give the first reading, from before our requests."""
        return self.readings[0] if self.readings else None

    @property
    def last(self) -> Optional[Reading]:
        """Give the newest reading."""
        return self.readings[-1] if self.readings else None

    def went(self, meaning: str) -> Optional[int]:
        """Give how far a counter went from the first reading to the last; None: it is not there."""
        if self.first is None or self.last is None or self.last.counted.get(meaning) is None:
            return None
        return self.last.of(meaning) - self.first.of(meaning)

    @property
    def began_anew(self) -> bool:
        """Say whether its counters went back: what counts was started again."""
        return any(new.steps < old.steps for old, new in _pairs(self.readings))

    def asking(self, more: int) -> None:
        """Say that we have so many more requests there, or fewer."""
        with self._lock:
            self._ours += more

    def hear(self, what: str, body: Mapping[str, Json], timeout_s: int) -> Heard:
        """Ask as one of ours, and listen to the end."""
        self.asking(1)
        try:
            return hear(lambda: self.service.stream(what, body, timeout_s))
        finally:
            self.asking(-1)

    def strangers(self, generated: int) -> str:
        """Say how it worked for others meanwhile; "" where it generated so many tokens, for us."""
        if self.foreign > 0:
            return f"{self.foreign} requests of other clients ran meanwhile"
        went = self.went("generated")
        if went is None or went <= generated:
            return ""
        said = f"it generated {went} tokens meanwhile, {generated} of them for this gate"
        return f"{said} by the usage of its answers: other clients, or a usage that is wrong"

    def mute_s(self, until_us: int) -> Optional[int]:
        """Give how long its metrics have answered no more; None: the last look was answered."""
        since_us = self.unanswered_us
        return (until_us - since_us) // 1_000_000 if since_us else None

    def silence(self, since_us: int, until_us: int) -> Judgement:
        """Judge an answer that did not come within our time, by whether the engine stood still.

        Metrics that answered and then no more until the end are as still as counters can be: vLLM
        that got SIGTERM ends its engine, closes its port, and waits for the streams it keeps open.
        """
        seen = [one for one in self.readings if one.at_us >= since_us]
        if len(seen) < _TWICE:
            return Judgement(Verdict.INVALID, ("too few looks at its metrics to tell if it works",))
        moved = next(
            (new.at_us for old, new in reversed(_pairs(seen)) if old.steps != new.steps), None
        )
        began = seen[0].at_us if moved is None else moved
        flat_s = (seen[-1].at_us - began) // 1_000_000
        running = seen[-1].of("running")
        mute_s = self.mute_s(until_us)
        if running and mute_s is not None and mute_s >= self.flat_s:
            said = f"its metrics answered no more for {mute_s} s with {running} requests running"
            return Judgement(Verdict.FAIL, (said, self.service.again("metrics")))
        said = f"its token counters stood still for {flat_s} s with {running} requests running"
        if running and flat_s >= self.flat_s:
            return Judgement(Verdict.FAIL, (said, self.service.again("metrics")))
        said = said if moved is None else "our own time was over while its counters moved"
        return Judgement(Verdict.INVALID, (said, self.service.again("metrics")))

    def _beat(self) -> None:
        while not self._over.wait(_EVERY_S):
            self._take()

    def _take(self) -> None:
        with self._lock:
            most = self._ours
        self.unanswered_us = self.unanswered_us or time.monotonic_ns() // 1000
        found = read(self.service)
        if found is None:
            return
        self.unanswered_us = 0
        with self._lock:
            most = max(most, self._ours)
        self.readings.append(replace(found, page=b""))  # pages of hours do not fit into memory
        self._beyond = [*self._beyond, found.requests - most][-_TWICE:]
        if len(self._beyond) == _TWICE:
            self.foreign = max(self.foreign, min(self._beyond))


def idle(service: Service, settle_s: int = SETTLE_S) -> Reading:
    """Wait a moment until the engine works for nobody; Settled where it does not come to rest."""
    until = time.monotonic() + min(settle_s, service.tools.left_s())
    while True:
        found = read(service)
        if found is None:
            how = service.table.metrics_option
            said = f"no metrics at {service.url('metrics')}"
            unjudged(f"{said}{f'; start it with {how}' if how else ''}", service.again("metrics"))
        if not found.requests:
            return found
        if time.monotonic() >= until:
            said = f"{found.requests} requests of other clients run: not an engine to measure on"
            unjudged(said, service.again("metrics"))
        time.sleep(_EVERY_S / 2)


def _pairs(readings: List[Reading]) -> List[Tuple[Reading, Reading]]:
    return list(zip(readings, readings[1:]))
