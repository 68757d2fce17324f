"""One stream of tokens comes as fast, as soon and as evenly as it should, from an idle engine."""

from dataclasses import dataclass
from typing import Any, Dict, Iterator, List, Optional, Tuple

from headway.wire.compare import CompareError, find, number
from headway.wire.gate import Answered, Judgement, Measurement, Subject
from headway.wire.tools import Tools
from headway.wire.verdict import Verdict
from headway_checks.asking import prompts
from headway_checks.asking.answers import Settled, unjudged
from headway_checks.asking.beside import both, within
from headway_checks.asking.counters import Reading, read
from headway_checks.asking.ends import against
from headway_checks.asking.numbers import (
    MILLI,
    deviation,
    mean,
    milli_rate,
    percentile,
    tokens_s,
)
from headway_checks.asking.pulse import FLAT_S, SETTLE_S, Pulse, idle
from headway_checks.asking.service import Service, meet
from headway_checks.asking.stream import Heard
from headway_checks.asking.tokens import Ruler, off

DEADLINE_S = 1800
_SHORT = 800  # characters of a prompt without a depth
_LONGER = 4  # times as many tokens, for the stream beside a prefill
_FEWEST = 16  # tokens that make a rate


@dataclass(frozen=True)
class Params:
    """What to measure, and what it must come to. Every threshold holds for all that is measured.

    Each of `texts` (prose, code) is continued at each of `kv_depths` (tokens of the prompt; 0 is a
    short one): `warmup` runs and then `runs` measured ones of `max_tokens`, one after the other,
    each cold. `beside_prefill` is the length of a cold prompt that another request brings
    meanwhile; 0 is none.
    Rates are tokens/s. `within_percent` compares rates and TTFT with the pinned baseline, 0 does
    not. Runs that spread by more than `max_cv_percent` judge nothing; nor does an engine that works
    for others, but for `idle: false`. It has `settle_s` to come to rest before.
    """

    engine: str
    texts: Tuple[str, ...] = ("prose", "code")
    kv_depths: Tuple[int, ...] = (0,)
    warmup: int = 1
    runs: int = 5
    max_tokens: int = 256
    min_tokens_s: int = 0
    max_ttft_ms: int = 0
    max_gap_p95_ms: int = 0
    min_prefill_tokens_s: int = 0
    beside_prefill: int = 0
    min_beside_tokens_s: int = 0
    within_percent: int = 0
    max_cv_percent: int = 10
    idle: bool = True
    settle_s: int = SETTLE_S
    request_s: int = 300
    flat_s: int = FLAT_S
    port: int = 0
    model: str = ""


def judge(params: Params, subject: Optional[Subject], tools: Tools) -> Answered:
    """Measure all of it, then hold it against the thresholds."""
    if not (params.texts and params.kv_depths and params.runs > 0):
        return Judgement(Verdict.INVALID, ("no text, no depth or no run is asked for",))
    if unknown := set(params.texts) - set(prompts.texts()):
        said = f"no text {', '.join(sorted(unknown))}; there are {', '.join(prompts.texts())}"
        return Judgement(Verdict.INVALID, (said,))
    if params.within_percent and tools.baseline is None:
        said = "within_percent: no baseline is pinned for this class and role (invoke baseline)"
        return Judgement(Verdict.INVALID, (said,))
    try:
        service = meet(tools, subject, params.engine, params.port, params.model)
        if params.idle:
            idle(service, params.settle_s)
        with Pulse(service, params.flat_s) as pulse:
            bench = _Bench(params, service, pulse)
            bench.measure()
        return bench.judged()
    except Settled as settled:
        return settled.answer


class _Bench:
    """One measuring; what was seen and what is wrong with it gather on the way."""

    def __init__(self, params: Params, service: Service, pulse: Pulse) -> None:
        self.params = params
        self.service = service
        self.pulse = pulse
        self.ruler = Ruler(service)
        self.seen: List[str] = []
        self.missed: List[str] = []
        self.noisy: List[str] = []
        self.measured: List[Measurement] = []
        self.findings: Tuple[str, ...] = ()
        self.generated = 0

    def measure(self) -> None:
        """Measure every text at every depth; the first series is the headline."""
        for text in self.params.texts:
            for depth in self.params.kv_depths:
                self._series(text, depth)
        if self.params.beside_prefill:
            self._beside(self.params.texts[0])

    def judged(self) -> Judgement:
        """Weigh it: an engine that works for others or is noisy proves nothing either way."""
        body = self._body(prompts.filler("prose", 80), self.params.max_tokens)
        again = self.service.again("completion", body)
        generated = self.generated + self.ruler.generated
        strangers = self.pulse.strangers(generated) if self.params.idle else ""
        measured = tuple(self.measured)
        if strangers or self.noisy:
            said = (*([strangers] if strangers else []), *self.noisy, *self.missed)
            return Judgement(Verdict.INVALID, (*said, *self.seen, again), measured, self.findings)
        missed = (*self.missed, *self._against_baseline())
        verdict = Verdict.FAIL if missed else Verdict.PASS
        return Judgement(verdict, (*missed, *self.seen, again), measured, self.findings)

    # --- series ------------------------------------------------------------------------------

    def _series(self, text: str, depth: int) -> None:
        label = "" if not self.measured else f" {text}@{depth}" if depth else f" {text}"
        for _ in range(self.params.warmup):
            self._run(text, depth, warmup=True)
        before = read(self.service)
        runs = [self._run(text, depth) for _ in range(self.params.runs)]
        after = read(self.service)
        rates = [_rate(one) for one in runs]
        ttfts = [one.ttft_us for one in runs]
        gaps = [gap for one in runs for gap in one.gaps_us]
        rate, ttft, p95 = mean(rates), percentile(ttfts, 50), percentile(gaps, 95)
        count, spread = len(runs), deviation(rates)
        self.measured += [
            Measurement(f"tokens_s{label}", rate, "milli-tokens/s", count, spread),
            Measurement(f"ttft{label}", ttft, "us", count, deviation(ttfts)),
            Measurement(f"gap_p50{label}", percentile(gaps, 50), "us", len(gaps)),
            Measurement(f"gap_p95{label}", p95, "us", len(gaps)),
        ]
        named = f"{text} at {depth or 'no'} depth"
        cv = 100 * spread // rate if rate else 0
        told = f"TTFT {ttft / 1e3:.1f} ms, gaps p95 {p95 / 1e3:.1f} ms"
        self.seen.append(f"{named}: {tokens_s(rate)} (CV {cv} %, {count} runs), {told}")
        if cv > self.params.max_cv_percent:
            most = self.params.max_cv_percent
            self.noisy.append(f"{named}: runs spread by {cv} %, {most} % is the limit")
        self._at_least(f"{named}:", rate, self.params.min_tokens_s)
        self._at_most(f"{named}: TTFT", ttft, self.params.max_ttft_ms)
        self._at_most(f"{named}: gaps p95", p95, self.params.max_gap_p95_ms)
        self._told(label, runs)
        if depth:
            self._prefill(named, label, runs)
        self._acceptance(label, before, after)

    def _run(self, text: str, depth: int, *, warmup: bool = False) -> Heard:
        """Let it go on with a text that it has not seen behind this salt."""
        salt = prompts.salt()

        def make(characters: int) -> str:
            return salt + prompts.filler(text, characters)

        prompt, counted = self.ruler.fitted(text, depth, make) if depth else (make(_SHORT), None)
        self.service.stays(*self.seen)
        body = self._body(prompt, self.params.max_tokens)
        heard = self._counting(self.pulse.hear("completion", body, self.params.request_s))
        used = heard.usage.prompt
        if depth and used and counted is None:
            self.ruler.learn(text, prompt, used)
        counts = [one for one in (counted, used) if one is not None]
        wrong = [one for one in counts if off(one, depth)]
        if depth and not warmup and (wrong or not counts):
            told = wrong[0] if wrong else "none"
            self._unjudged(f"{depth} tokens asked for, {told} counted: off by more than 1 %")
        return heard

    def _counting(self, heard: Heard) -> Heard:
        """Take an answer that can be measured, or end here."""
        wrong = against(heard, self.pulse)
        if wrong is not None:
            evidence = (*wrong.evidence, *self.missed, *self.seen)
            raise Settled(Judgement(wrong.verdict, evidence, tuple(self.measured)))
        generated = heard.usage.generated
        if generated is None:
            self._unjudged("a stream ended without its usage: nothing counts its tokens")
        elif generated < min(_FEWEST, self.params.max_tokens) or len(heard.arrivals) < 2:  # noqa: PLR2004 # a rate
            said = f"{generated} tokens in {len(heard.arrivals)} pieces: too few for a rate"
            self._unjudged(f"{said} (finish_reason {heard.finish})")
        else:
            self.generated += generated
        return heard

    def _body(self, prompt: str, tokens: int) -> Dict[str, Any]:
        return self.service.completion(prompt, tokens, to_its_limit=True)

    # --- what else is measured ---------------------------------------------------------------

    def _prefill(self, named: str, label: str, runs: List[Heard]) -> None:
        """Tokens that were read, not those a cache knew, by the time to the first word."""
        rates = [
            milli_rate((one.usage.prompt or 0) - (one.usage.cached or 0), one.ttft_us)
            for one in runs
        ]
        rate = mean(rates)
        name = f"prefill_tokens_s{label}"
        self.measured.append(
            Measurement(name, rate, "milli-tokens/s", len(rates), deviation(rates))
        )
        self.seen.append(f"{named}: prefill {tokens_s(rate)}")
        self._at_least(f"{named}: prefill", rate, self.params.min_prefill_tokens_s)

    def _told(self, label: str, runs: List[Heard]) -> None:
        """Keep what the engine says of its own rate, where it does: one measures the other."""
        path = self.service.table.own_rate
        own = [_own_rate(one, path) for one in runs] if path else []
        if own and all(own):
            name = f"own_tokens_s{label}"
            self.measured.append(
                Measurement(name, mean(own), "milli-tokens/s", len(own), deviation(own))
            )
            self.seen.append(f"by its own count {tokens_s(mean(own))}")

    def _acceptance(self, label: str, before: Optional[Reading], after: Optional[Reading]) -> None:
        """Say how many tokens a step of speculative decoding gave, where it is on."""
        if before is None or after is None:
            return
        drafts, accepted = (after.of(name) - before.of(name) for name in ("drafts", "accepted"))
        if drafts > 0:
            length = MILLI + MILLI * accepted // drafts
            self.measured.append(Measurement(f"acceptance{label}", length, "milli-tokens", drafts))
            self.seen.append(f"{accepted} draft tokens accepted in {drafts} steps")
            if not accepted:
                self.findings = ("draft-acceptance-zero",)

    def _beside(self, text: str) -> None:
        """Measure one stream while a cold prompt of another request is read."""
        long, tokens = self.params.beside_prefill, self.params.max_tokens * _LONGER
        salt = prompts.salt()
        prompt, _ = self.ruler.fitted(text, long, lambda size: salt + prompts.filler(text, size))
        short = self._body(prompts.salt() + prompts.filler(text, _SHORT), tokens)
        self.service.stays(*self.seen)
        heard, prompted = both(self.pulse, short, self._body(prompt, 1), self.params.request_s)
        self._counting(heard)
        wrong = against(prompted, self.pulse)
        if wrong is not None:
            self._unjudged(f"the prompt beside it: {wrong.evidence[0]}")
        self.generated += prompted.usage.generated or 0
        words, began, ended = within(heard, prompted)
        if heard.arrivals[-1] < ended:
            said = f"a prompt of {long} tokens took longer than {heard.usage.generated} tokens"
            self._unjudged(f"{said} beside it: raise max_tokens")
        generated = len(words) * (heard.usage.generated or 0) // len(heard.arrivals)
        rate = milli_rate(generated, ended - began)
        stops = [began, *words, ended]
        longest = max(after - before for before, after in zip(stops, stops[1:]))
        self.measured += [
            Measurement("tokens_s beside", rate, "milli-tokens/s"),
            Measurement("gap_max beside", longest, "us", len(words)),
        ]
        named = f"beside a cold prompt of {long} tokens:"
        self.seen.append(f"{named} {tokens_s(rate)}, longest gap {longest / 1e3:.1f} ms")
        self._at_least(named, rate, self.params.min_beside_tokens_s)

    # --- weighing ----------------------------------------------------------------------------

    def _at_least(self, named: str, rate: int, least: int) -> None:
        if rate < least * MILLI:
            self.missed.append(f"{named} {tokens_s(rate)}, at least {least} are required")

    def _at_most(self, named: str, took_us: int, most_ms: int) -> None:
        if most_ms and took_us > most_ms * MILLI:
            self.missed.append(f"{named} {took_us / 1e3:.1f} ms, at most {most_ms} ms are allowed")

    def _against_baseline(self) -> Iterator[str]:
        """Compare with what was pinned: rates must not be lower, TTFT not longer."""
        baseline, percent = self.service.tools.baseline, self.params.within_percent
        if not percent or baseline is None:
            return
        for one in self.measured:
            pinned = baseline.of(one.name)
            rate = "tokens_s" in one.name
            if pinned is None or not (rate or one.name.startswith("ttft")):
                continue
            worse = pinned.value - one.value if rate else one.value - pinned.value
            if worse * 100 > pinned.value * percent:
                by = 100 * worse // pinned.value
                told = f"{one.value} {one.unit}, {pinned.value} in {baseline.name}"
                yield f"{one.name}: {told}: worse by {by} %, {percent} % are allowed"

    def _unjudged(self, said: str) -> None:
        unjudged(said, *self.missed, *self.seen, measured=self.measured)


def _rate(heard: Heard) -> int:
    """Give tokens by the engine's count, after the first, by the time from first to last words."""
    return milli_rate((heard.usage.generated or 1) - 1, heard.arrivals[-1] - heard.arrivals[0])


def _own_rate(heard: Heard, path: str) -> int:
    """Read milli-tokens/s at a stream's end; 0 where none stands there."""
    try:
        return int((number(find(dict(heard.last), path)) or 0) * MILLI)
    except CompareError:
        return 0
