"""Under load for as long as asked every answer is right, and nothing slows down or grows."""

import time
from dataclasses import dataclass
from typing import Dict, Iterator, List, Optional, Set, Tuple

from headway.wire.evidence import some
from headway.wire.gate import Answered, Judgement, Measurement, Subject
from headway.wire.tools import Tools
from headway.wire.verdict import Fate, Verdict, combine
from headway_checks.asking.answers import Settled, unjudged
from headway_checks.asking.crowd import Asked, Crowd, Told, wrong_with
from headway_checks.asking.footprint import Footprint, footprint
from headway_checks.asking.numbers import (
    OUR_LIMIT,
    SECOND_US,
    milli_rate,
    percentile,
    tokens_s,
)
from headway_checks.asking.pulse import FLAT_S, SETTLE_S, Pulse, idle
from headway_checks.asking.service import Service, meet

_MARGIN_S = 60  # to meet the engine, and for its last answers
_LOOKS = 12  # at the launch in a short soak; in a long one it is looked at every second
_FEWEST = 4  # answers in a third, to compare it with another
_MIB = 1024 * 1024


@dataclass(frozen=True)
class Params:
    """How long and how hard, and what must not get worse meanwhile.

    For `length_s` there are `at_once` requests at any time; each reads `prompt_tokens` and says
    `max_tokens` within `request_s`. The last third of it is compared with the first: its rate may
    be lower by `max_slower_percent`, the launch may take `max_growth_percent` more memory, of the
    machine and of the cards; what grows by less than `growth_mib` does not count.
    With `idle` the engine must work for nobody else; it has `settle_s` to come to rest before.
    """

    engine: str
    length_s: int = 600
    at_once: int = 16
    prompt_tokens: int = 400
    max_tokens: int = 128
    request_s: int = 120
    max_slower_percent: int = 10
    max_growth_percent: int = 5
    growth_mib: int = 256
    max_ttft_p95_ms: int = 0
    idle: bool = True
    settle_s: int = SETTLE_S
    flat_s: int = FLAT_S
    port: int = 0
    model: str = ""


def deadline_s(params: Params) -> int:
    """Give the time that it takes with its last answers."""
    return params.length_s + params.request_s + params.settle_s + _MARGIN_S


def judge(params: Params, subject: Optional[Subject], tools: Tools) -> Answered:
    """Ask for so long, or until an answer is wrong; then compare the last third with the first."""
    if min(params.length_s, params.at_once) < 1:
        return Judgement(Verdict.INVALID, ("no time or no requests are asked for",))
    if tools.left_s() < params.length_s:
        said = f"{params.length_s} s of load do not fit into the gate's deadline_s"
        return Judgement(Verdict.INVALID, (said,))
    try:
        service = meet(tools, subject, params.engine, params.port, params.model)
        if params.idle:
            idle(service, params.settle_s)
        with Pulse(service, params.flat_s) as pulse:
            soak = _Soak(params, service, pulse)
            soak.ask()
        return soak.judged()
    except Settled as settled:
        return settled.answer


@dataclass(frozen=True)
class _Right:
    """An answer that was right: when it began and ended, its first words, its tokens."""

    began_us: int
    ended_us: int
    ttft_us: int
    tokens: int

    def within(self, began_us: int, ended_us: int) -> int:
        """Give its tokens of a stretch of time, in thousandths, as if they came evenly."""
        shared = min(self.ended_us, ended_us) - max(self.began_us, began_us)
        return max(0, shared) * 1000 * self.tokens // max(1, self.ended_us - self.began_us)


class _Soak:
    """One soak. What is right is kept as numbers: answers of hours do not fit into memory."""

    def __init__(self, params: Params, service: Service, pulse: Pulse) -> None:
        self.params = params
        self.service = service
        self.pulse = pulse
        self.crowd = Crowd(pulse, params.prompt_tokens, params.max_tokens, params.request_s)
        self.right: List[_Right] = []
        self.wrong: List[Tuple[Verdict, str]] = []  # answers
        self.missed: List[Tuple[Verdict, str]] = []  # what was measured of right ones
        self.seen: List[str] = []
        self.measured: List[Measurement] = []
        self.generated = 0
        self.ours = 0  # percent of a core
        self._markers: Set[str] = set()
        self._looks: List[Footprint] = []
        self._began_us = _now_us()
        self._until_us = self._began_us + params.length_s * SECOND_US

    def ask(self) -> None:
        """Keep so many requests under way until the time is over."""
        cpu = time.process_time()
        self.crowd.ask(self._questions(), self.params.at_once, self._take)
        took = _now_us() - self._began_us
        self.ours = round(100 * (time.process_time() - cpu) * SECOND_US / max(1, took))
        count, wrong = len(self.right), len(self.wrong)
        said = f"{count} of {count + wrong} answered, {self.params.at_once} at once"
        self.seen.append(
            f"{said}, in {took / SECOND_US:.0f} s; our side took {self.ours} % of a core"
        )
        if not self.wrong:
            self.service.stays(*self.seen)

    def judged(self) -> Judgement:
        """Weigh it: FAIL beats what judges nothing."""
        if not self.wrong:
            self._speed()
            self._growth("resident", {one.at_us: one.resident for one in self._looks})
            self._growth("card", {one.at_us: one.on_cards for one in self._looks})
        ours = self.generated + self.crowd.ruler.generated
        strangers = self.pulse.strangers(ours) if self.params.idle else ""
        against = self.wrong or ([(Verdict.INVALID, strangers)] if strangers else self.missed)
        verdict = combine(verdict for verdict, _ in against) if against else Verdict.PASS
        said = some(dict.fromkeys(text for _, text in against))
        return Judgement(verdict, (*said, *self.seen, self.crowd.again()), tuple(self.measured))

    # --- asking ------------------------------------------------------------------------------

    def _questions(self) -> Iterator[Asked]:
        """Give the next one as long as there is time, all were right, and the launch lives."""
        every_us = min(SECOND_US, self.params.length_s * SECOND_US // _LOOKS)
        looked_us = 0
        while True:
            now = _now_us()
            if now >= self._until_us or self.wrong:
                return
            if now - looked_us >= every_us:
                looked_us = now
                if (
                    self.service.tools.fate()[0] is not Fate.SAME
                    or self.service.tools.left_s() <= 1
                ):
                    return
                self._looks.append(footprint(self.service.tools, self.service.subject, now))
            asked = self.crowd.asked()
            self._markers.add(asked[0])
            yield asked

    def _take(self, told: Told) -> None:
        heard, now = told.heard, _now_us()
        generated = heard.usage.generated or 0
        self.generated += generated
        wrong = wrong_with(told, self._markers, self.pulse)
        if wrong is not None:
            self.wrong.append(wrong)
            return
        took = heard.ended_us - heard.sent_us
        self.right.append(_Right(now - took, now, heard.ttft_us, generated))

    # --- comparing ---------------------------------------------------------------------------

    def _speed(self) -> None:
        """Compare the rates of the last third and of the first, of all streams together."""
        third = (self._until_us - self._began_us) // 3
        stretches = [(start, start + third) for start in (self._began_us, self._until_us - third)]
        first, last = (
            milli_rate(sum(one.within(*stretch) for one in self.right), third) // 1000
            for stretch in stretches
        )
        fewest = min(
            sum(began <= one.ended_us < ended for one in self.right) for began, ended in stretches
        )
        ttft = percentile([one.ttft_us for one in self.right], 95)
        count = len(self.right)
        self.measured += [
            Measurement("soak_tokens_s", last, "milli-tokens/s", count),
            Measurement("soak_tokens_s first", first, "milli-tokens/s", count),
            Measurement("soak_ttft_p95", ttft, "us", count),
        ]
        told = f"first third {tokens_s(first)}, last third {tokens_s(last)}"
        self.seen.append(f"{told}, TTFT p95 {ttft // 1000} ms")
        if fewest < _FEWEST:
            unjudged(f"{fewest} answers in a third: too few to compare", *self.seen)
        most, busy = self.params.max_slower_percent, self.ours > OUR_LIMIT
        if (first - last) * 100 > first * most:
            by = (first - last) * 100 // first
            own = f"; our side took {self.ours} % of a core itself" if busy else ""
            said = f"slower by {by} % in the last third, {most} % are allowed{own}"
            self.missed.append((Verdict.INVALID if busy else Verdict.FAIL, said))
        limit_ms = self.params.max_ttft_p95_ms
        if limit_ms and ttft > limit_ms * 1000:
            said = f"TTFT p95 {ttft // 1000} ms, at most {limit_ms} ms are allowed"
            self.missed.append((Verdict.FAIL, said))

    def _growth(self, kind: str, sizes: Dict[int, Optional[int]]) -> None:
        """Compare the most of the first third with the most of the last."""
        third = (self._until_us - self._began_us) // 3
        early, late = self._began_us + third, self._until_us - third
        first = max((size or 0 for at, size in sizes.items() if at < early), default=0)
        last = max((size or 0 for at, size in sizes.items() if at >= late), default=0)
        if not (first and last):
            self.seen.append(f"{kind} memory: nobody says how much this launch takes")
            return
        grown, most = last - first, self.params.max_growth_percent
        self.measured.append(Measurement(f"{kind}_growth", grown, "bytes"))
        said = f"{kind} memory: {first // _MIB} MiB in the first third, {last // _MIB} in the last"
        self.seen.append(said)
        if grown > self.params.growth_mib * _MIB and grown * 100 > first * most:
            by = f"by {grown * 100 // first} %, {most} % are allowed"
            self.missed.append((Verdict.FAIL, f"{kind} memory grew {by}"))


def _now_us() -> int:
    return time.monotonic_ns() // 1000
