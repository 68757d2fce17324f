"""Live traffic is answered: the engine counts no failures, preempts nobody and never restarts."""

import time
from dataclasses import dataclass
from typing import List, Optional

from headway.wire.gate import Answered, Judgement, Measurement, Subject
from headway.wire.tools import Tools
from headway.wire.verdict import Verdict
from headway_checks.asking.answers import Settled, fail, unjudged
from headway_checks.asking.pulse import FLAT_S, Pulse
from headway_checks.asking.service import Service, meet

WHEN = "last"
"""After all others: what serves by now has users."""
_MARGIN_S = 60
_EVERY_S = 1.0
_TOLD = ("requests", "failed", "aborted", "preempted")


@dataclass(frozen=True)
class Params:
    """How long to watch, and how much of what users do not want is put up with.

    For `length_s` the engine's counters are followed; nothing is asked of it but them. `max_failed`
    requests may fail, `max_aborted_percent` of those that ended may have been left or cut off: a
    client may leave for its own reasons, many do not. `max_preemptions` below 0 does not ask.
    Token counters that stand still for `flat_s` with requests running are FAIL.
    A launch that nobody asks for anything is INVALID, but for `idle: true`.
    """

    engine: str
    length_s: int = 300
    max_failed: int = 0
    max_aborted_percent: int = 50
    max_preemptions: int = 0
    idle: bool = False
    flat_s: int = FLAT_S
    port: int = 0


def deadline_s(params: Params) -> int:
    """Give the time that it takes."""
    return params.length_s + _MARGIN_S


def judge(params: Params, subject: Optional[Subject], tools: Tools) -> Answered:
    """Follow the counters to the end, or until they say too much."""
    if tools.left_s() < params.length_s:
        said = f"{params.length_s} s do not fit into the gate's deadline_s"
        return Judgement(Verdict.INVALID, (said,))
    try:
        service = meet(tools, subject, params.engine, params.port)
        with Pulse(service, params.flat_s) as pulse:
            watched = _Watched(params, service, pulse)
            watched.follow()
        return watched.judged()
    except Settled as settled:
        return settled.answer


class _Watched:
    """One stretch of live traffic."""

    def __init__(self, params: Params, service: Service, pulse: Pulse) -> None:
        self.params = params
        self.service = service
        self.pulse = pulse
        self.again = service.again("metrics")

    def follow(self) -> None:
        """Wait for the end of it; too much of anything ends it at once."""
        if self.pulse.first is None:
            option = self.service.table.metrics_option
            how = f"; start it with {option}" if option else ""
            unjudged(f"no metrics at {self.service.url('metrics')}{how}", self.again)
        until = time.monotonic() + self.params.length_s
        while time.monotonic() < until:
            time.sleep(min(_EVERY_S, max(0.0, until - time.monotonic())))
            self.service.stays(*self._seen())
            self._weigh()

    def judged(self) -> Judgement:
        """Weigh all of it; what was not seen to its end is not judged."""
        self._weigh()
        measured = tuple(self._measured())
        mute_s = self.pulse.mute_s(_now_us())
        if mute_s is not None:
            said = f"its metrics answered no more for {mute_s} s, to the end of it"
            unjudged(said, *self._seen(), self.again, measured=measured)
        if not self._traffic() and not self.params.idle:
            said = f"nobody asked it for anything in {self.params.length_s} s: nothing was watched"
            unjudged(said, *self._seen(), self.again, measured=measured)
        return Judgement(Verdict.PASS, (*self._seen(), self.again), measured)

    def _weigh(self) -> None:
        wrong = self._wrong()
        if wrong:
            fail(*wrong, *self._seen(), self.again, measured=self._measured())

    def _wrong(self) -> List[str]:
        """Say what is too much by now."""
        failed, aborted = self._went("failed") or 0, self._went("aborted") or 0
        counted, percent = (
            max(self._went("requests") or 0, aborted),
            self.params.max_aborted_percent,
        )
        preempted, most = self._went("preempted") or 0, self.params.max_preemptions
        said = []
        if self.pulse.began_anew:
            said.append("its counters began anew: it restarted within its unit")
        if failed > self.params.max_failed:
            said.append(f"{failed} requests failed, {self.params.max_failed} are allowed")
        if aborted * 100 > counted * percent:
            share = f"{aborted} of {counted} requests were left or cut off"
            said.append(f"{share}, {percent} % are allowed")
        if 0 <= most < preempted:
            said.append(f"{preempted} preemptions, {most} are allowed: the KV pool is too small")
        silent = self.pulse.silence(0, _now_us())
        return [*said, *(silent.evidence[:1] if silent.verdict is Verdict.FAIL else ())]

    def _went(self, meaning: str) -> Optional[int]:
        """Give how far a counter went; None where this engine does not count that."""
        went = self.pulse.went(meaning)
        if went is None and meaning in self.service.table.lazy:
            return 0
        return went

    def _traffic(self) -> int:
        """Give the tokens it was asked for or said, and the requests that got none."""
        return sum(self._went(one) or 0 for one in ("prompt", "generated", "failed", "aborted"))

    def _seen(self) -> List[str]:
        counted = {one: self._went(one) for one in _TOLD}
        said = [f"{count} {one}" for one, count in counted.items() if count is not None]
        silent = [one for one, count in counted.items() if count is None]
        tokens = f"{self._went('generated') or 0} tokens generated for live traffic"
        absent = f"{self.service.table.name} does not count: {', '.join(silent)}"
        return [", ".join([tokens, *said]), *([absent] if silent else [])]

    def _measured(self) -> List[Measurement]:
        found = ((one, self._went(one)) for one in ("generated", *_TOLD))
        return [Measurement(f"live_{name}", count, "count") for name, count in found if count]


def _now_us() -> int:
    return time.monotonic_ns() // 1000
