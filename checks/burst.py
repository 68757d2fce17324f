"""N requests, C at once, are all answered, each with its own answer, in time; none is preempted."""

import time
from dataclasses import dataclass
from typing import List, Optional, Tuple

from headway.wire.evidence import some
from headway.wire.gate import Answered, Judgement, Measurement, Subject
from headway.wire.tools import Tools
from headway.wire.verdict import Verdict, combine
from headway_checks.asking.answers import Settled
from headway_checks.asking.cards import Peak
from headway_checks.asking.counters import Reading, quantile_ms, read
from headway_checks.asking.crowd import Crowd, Told, wrong_with
from headway_checks.asking.numbers import (
    MILLI,
    OUR_LIMIT,
    SECOND_US,
    milli_rate,
    percentile,
    tokens_s,
)
from headway_checks.asking.pulse import FLAT_S, SETTLE_S, Pulse, idle
from headway_checks.asking.service import Service, meet
from headway_checks.asking.stream import Heard

DEADLINE_S = 1800
_ROUNDS = 2  # requests a place of a rung before the last


@dataclass(frozen=True)
class Params:
    """How many to send, and what must come of them. Rates are tokens/s.

    `requests` in all, `at_once` at any time; after a forced kill of the launch before, at least
    `requests_after_kill`. `ladder` are rungs of `at_once` before that, each with twice as many
    requests; it ends at the first that is not answered whole. Each request reads `prompt_tokens`
    and says `max_tokens` within `request_s`.
    `min_tokens_s` is for all of the burst together, `min_request_tokens_s` for 95 of 100 requests
    of any rung. `cards` demands that the peak of their memory was seen, `min_card_free_mib` that so
    much was left on each. `max_preemptions` below 0 does not ask. With `idle` the engine must work
    for nobody else; it has `settle_s` to come to rest before.
    """

    engine: str
    requests: int = 128
    at_once: int = 64
    requests_after_kill: int = 150
    ladder: Tuple[int, ...] = ()
    prompt_tokens: int = 200
    max_tokens: int = 64
    request_s: int = 120
    min_tokens_s: int = 0
    min_request_tokens_s: int = 0
    max_queue_p95_ms: int = 0
    max_preemptions: int = 0
    cards: bool = False
    min_card_free_mib: int = 0
    idle: bool = True
    settle_s: int = SETTLE_S
    flat_s: int = FLAT_S
    port: int = 0
    model: str = ""


def judge(params: Params, subject: Optional[Subject], tools: Tools) -> Answered:
    """Climb the rungs, the burst itself last."""
    if min(params.requests, params.at_once, *params.ladder) < 1:
        return Judgement(Verdict.INVALID, ("no requests are asked for",))
    try:
        service = meet(tools, subject, params.engine, params.port, params.model)
        if params.idle:
            idle(service, params.settle_s)
        with Pulse(service, params.flat_s) as pulse, Peak(tools.cards) as peak:
            burst = _Burst(params, service, pulse)
            burst.climb()
        return burst.judged(peak)
    except Settled as settled:
        return settled.answer


class _Burst:
    """One climb; what was seen and what is wrong with it gather on the way."""

    def __init__(self, params: Params, service: Service, pulse: Pulse) -> None:
        self.params = params
        self.service = service
        self.pulse = pulse
        size = params.prompt_tokens, params.max_tokens
        self.crowd = Crowd(pulse, *size, params.request_s)
        self.seen: List[str] = []
        self.wrong: List[Tuple[Verdict, str]] = []  # answers
        self.missed: List[Tuple[Verdict, str]] = []  # what was measured of right ones
        self.measured: List[Measurement] = []
        self.generated = 0

    def climb(self) -> None:
        """Send every rung, as long as all of it is answered."""
        killed = self.service.tools.killed
        last = max(self.params.requests, self.params.requests_after_kill if killed else 0)
        rungs = [(_ROUNDS * width, width) for width in self.params.ladder]
        if killed:
            self.seen.append(f"the launch before had to be killed: {last} requests")
        for count, width in [*rungs, (last, self.params.at_once)]:
            self.service.stays(*self.seen)
            headline = (count, width) == (last, self.params.at_once)
            self._rung(count, width, "" if headline else f" {width}")
            if self.wrong:
                return

    def judged(self, peak: Peak) -> Judgement:
        """Weigh it: FAIL beats what judges nothing."""
        self._preemptions()
        self._memory(peak)
        ours = self.generated + self.crowd.ruler.generated
        strangers = self.pulse.strangers(ours) if self.params.idle else ""
        if strangers and not self.wrong:
            return self._answer([(Verdict.INVALID, strangers)])
        return self._answer(self.wrong if strangers else [*self.wrong, *self.missed])

    def _answer(self, against: List[Tuple[Verdict, str]]) -> Judgement:
        verdict = combine(verdict for verdict, _ in against) if against else Verdict.PASS
        said = some(dict.fromkeys(text for _, text in against))
        return Judgement(verdict, (*said, *self.seen, self.crowd.again()), tuple(self.measured))

    # --- a rung ------------------------------------------------------------------------------

    def _rung(self, count: int, width: int, label: str) -> None:
        asked = [self.crowd.asked() for _ in range(count)]
        told: List[Told] = []
        before = read(self.service)
        cpu = time.process_time()
        self.crowd.ask(iter(asked), width, told.append)
        if len(told) < count:
            self.service.stays(f"{len(told)} of {count} asked, {width} at once", *self.seen)
        heard = [one.heard for one in told]
        took = max(one.ended_us for one in heard) - min(one.sent_us for one in heard)
        ours = round(100 * (time.process_time() - cpu) * SECOND_US / max(1, took))
        whole = self._whole(told)
        named = f"{len(whole)} of {count} answered, {width} at once"
        named = f"{named}, in {took / SECOND_US:.1f} s"
        self.seen.append(f"{named}; our side took {ours} % of a core")
        if whole:
            self._rates(whole, label, ours)
        self._queue(whole, label, before)

    def _whole(self, told: List[Told]) -> List[Heard]:
        """Give the answers that are right; say what is wrong with the others."""
        markers = {one.marker for one in told}
        whole = []
        for one in told:
            self.generated += one.heard.usage.generated or 0
            wrong = wrong_with(one, markers, self.pulse)
            if wrong is None:
                whole.append(one.heard)
            else:
                self.wrong.append(wrong)
        return whole

    # --- what is measured --------------------------------------------------------------------

    def _rates(self, whole: List[Heard], label: str, ours: int) -> None:
        tokens = sum(one.usage.generated or 0 for one in whole)
        took = max(one.ended_us for one in whole) - min(one.sent_us for one in whole)
        rate = milli_rate(tokens, took)
        each = [milli_rate(one.usage.generated or 0, one.ended_us - one.sent_us) for one in whole]
        slow, ttft = percentile(each, 5), percentile([one.ttft_us for one in whole], 95)
        pieces = sum(len(one.arrivals) for one in whole) * SECOND_US // max(1, took)
        count = len(whole)
        self.measured += [
            Measurement(f"burst_tokens_s{label}", rate, "milli-tokens/s", count),
            Measurement(f"request_tokens_s_p5{label}", slow, "milli-tokens/s", count),
            Measurement(f"ttft_p95{label}", ttft, "us", count),
            Measurement(f"our_cpu{label}", ours, "percent"),
        ]
        alone = f"{tokens_s(slow)} or more for 95 of 100 requests, TTFT p95 {ttft // 1000} ms"
        limit = f"{pieces} pieces/s came, {pieces * 100 // max(1, ours)} would fill a core of ours"
        self.seen.append(f"{tokens_s(rate)} together, {alone}; {limit}")
        for named, seen, least in (
            ("together", rate, 0 if label else self.params.min_tokens_s),
            ("the slowest of 95 in 100", slow, self.params.min_request_tokens_s),
        ):
            if seen < least * MILLI:
                verdict = Verdict.INVALID if ours > OUR_LIMIT else Verdict.FAIL
                said = f"{named}: {tokens_s(seen)}, at least {least} are required"
                own = f"; our side took {ours} % of a core itself" if ours > OUR_LIMIT else ""
                self.missed.append((verdict, said + own))

    def _queue(self, whole: List[Heard], label: str, before: Optional[Reading]) -> None:
        """Say how long 95 of 100 waited: as the engine counts it, else at most so long, by TTFT."""
        after = read(self.service)
        names = self.service.table.counters.get("queue", ())
        waited = quantile_ms(before.page, after.page, names, 95) if before and after else None
        how = "by its own histogram"
        if waited is None and whole:
            ttfts = [one.ttft_us for one in whole]
            waited = (percentile(ttfts, 95) - min(ttfts)) // 1000
            how = "at most: TTFT beyond the quickest one's"
        if waited is not None:
            self.measured.append(Measurement(f"queue_p95{label}", waited, "ms", len(whole)))
            self.seen.append(f"queue wait p95 {waited} ms, {how}")
            most = self.params.max_queue_p95_ms
            if most and waited > most:
                said = f"queue wait p95 {waited} ms, at most {most} ms are allowed"
                self.missed.append((Verdict.FAIL, said))

    def _preemptions(self) -> None:
        preempted = self.pulse.went("preempted")
        if self.params.max_preemptions < 0:
            return
        if preempted is None:
            self.seen.append("preemptions: this engine does not count them")
            return
        self.measured.append(Measurement("preemptions", preempted, "count"))
        self.seen.append(f"{preempted} preemptions")
        if preempted > self.params.max_preemptions:
            said = f"{preempted} preemptions, {self.params.max_preemptions} are allowed"
            self.missed.append((Verdict.FAIL, f"{said}: the KV pool is too small for this load"))

    def _memory(self, peak: Peak) -> None:
        """Say how full the cards were at their fullest."""
        self.seen += [f"cards: {said}" for said in peak.trouble]
        if self.params.cards and not peak.cards:
            self.missed.append((Verdict.INVALID, "no card's memory could be read"))
        for card in peak.cards.values():
            used, total = card.used or 0, card.total or 0
            free = (total - used - (card.reserved or 0)) >> 20
            self.measured.append(Measurement(f"card{card.index}_peak", used, "bytes"))
            self.seen.append(f"card {card.index}: {used >> 20} MiB used at most, {free} MiB free")
            if free < self.params.min_card_free_mib:
                least = self.params.min_card_free_mib
                said = f"card {card.index}: {free} MiB free, at least {least} are required"
                self.missed.append((Verdict.FAIL, said))
