"""One request being answered: its wait, its prefill, and its tokens, each in its time."""

from __future__ import annotations

import asyncio
import random
import time
from typing import TYPE_CHECKING, Protocol

from .dialect import Timing, Usage

if TYPE_CHECKING:
    from collections.abc import Callable

    from .asked import Asked
    from .engine import Engine
    from .knobs import Knobs
    from .reply import Reply

_PREEMPTED_S = 0.01

Tokens = list[tuple[str, str]]  # each with the field it belongs to


class Sink(Protocol):
    """Where the tokens of a request go."""

    def tokens(self, tokens: Tokens, finish: str | None) -> None:
        """Take what one step gave; `finish` is "" or a reason with the last ones, None before."""
        ...

    def cut(self) -> None:
        """Close the connection in the middle."""
        ...


class Generation:
    """One request being answered."""

    def __init__(
        self,
        engine: Engine,
        number: int,
        asked: Asked,
        knobs: Knobs,
        reply: Reply,
        prompt_tokens: int,
        cached: int,
    ) -> None:
        self.engine = engine
        self.number = number
        self.asked = asked
        self.knobs = knobs
        self.reply = reply
        self.prompt_tokens = prompt_tokens
        self.cached = cached
        self.produced = 0
        self.sink: Sink
        self._arrived = self._admitted = self._first = time.monotonic()
        self._due = 0.0
        self._credit = 0.0  # accepted draft tokens not yet whole
        self._handle: asyncio.Handle | None = None
        self._prefilling = False

    @property
    def context(self) -> int:
        """Count the tokens it holds."""
        return self.prompt_tokens + self.produced

    def begin(self, sink: Sink) -> None:
        """Get in line; tokens go to the sink."""
        self.sink = sink
        self.engine.enqueue(self)

    def cancel(self) -> None:
        """Give up: the client went away."""
        self._rest()
        self.engine.leave(self, "abort")

    def usage(self) -> Usage | None:
        """Say what it used, as far as the knobs are honest."""
        knobs = self.knobs
        if knobs.no_usage:
            return None
        prompt = round(self.prompt_tokens * knobs.prompt_percent / 100)
        completion = self.produced + knobs.completion_extra
        return Usage(prompt, completion, self.cached + knobs.cached_extra)

    def timing(self) -> Timing:
        """Say what it took."""
        return Timing(self._first - self._admitted, time.monotonic() - self._first)

    # --- on the loop -------------------------------------------------------------------------

    def admit(self) -> None:
        """Begin the prefill."""
        self._admitted = time.monotonic()
        self.engine.counters.queue.take(self._admitted - self._arrived)
        if self.knobs.stall_after == 0:
            return
        rate, computed = self.knobs.prefill_tokens_s, self.prompt_tokens - self.cached
        prefill = computed / rate if rate else 0.0
        wait = (self.knobs.ttft_ms + self.knobs.slow_first_ms) / 1000 + prefill
        self._prefilling = prefill > 0
        self.engine.prefilling += self._prefilling
        self._later(wait, self._prefilled)

    def _prefilled(self) -> None:
        self.engine.prefilling -= self._prefilling
        self._prefilling = False
        self._first = self._due = time.monotonic()
        counters = self.engine.counters
        counters.prompt += self.prompt_tokens
        counters.cached += self.cached
        counters.prefill_seconds += self._first - self._admitted
        counters.first_token.take(self._first - self._arrived)
        self._step()

    def _step(self) -> None:
        """Give all steps that are due, one after the other."""
        steps: list[Tokens] = []
        now = time.monotonic()
        while self._due <= now and not self._is_over():
            tokens = self._next(self._size())
            steps.append(tokens)
            first = self.produced == 0
            self.produced += len(tokens)
            self._count(len(tokens))
            self._due += self._interval() * len(tokens)
            if first:
                break
        if self.number == self.engine.knobs.ends_at:
            self.engine.end(self.engine.knobs.ends_how)
        self._give(steps)

    def _give(self, steps: list[Tokens]) -> None:
        whole = not self.knobs.endless and self.produced >= len(self.reply.tokens)
        if whole:
            counters = self.engine.counters
            counters.decode_seconds += time.monotonic() - self._first
            counters.longest = max(counters.longest, self.context)
            self.engine.leave(self, self.reply.finish)
        last = steps.pop() if whole and steps else []
        for tokens in steps:
            self.sink.tokens(tokens, None)
        if whole:
            self.sink.tokens(last, self.reply.finish)
        elif 0 < self.knobs.cut_after <= self.produced:
            self.engine.leave(self, "abort")
            self.sink.cut()
        elif not self._is_over():
            self._later(max(0.0, self._due - time.monotonic()), self._step)

    def _is_over(self) -> bool:
        """Tell whether it is whole, stalls or is cut by now."""
        stops = [n for n in (self.knobs.stall_after, self.knobs.cut_after) if n > 0]
        if not self.knobs.endless:
            stops.append(len(self.reply.tokens))
        return any(self.produced >= stop for stop in stops)

    def _next(self, count: int) -> Tokens:
        tokens, at = self.reply.tokens, self.produced
        if self.knobs.endless:
            return [tokens[n % len(tokens)] for n in range(at, at + count)]
        return list(tokens[at : at + count])

    def _size(self) -> int:
        """Say how many tokens this step gives: one, and the draft's accepted ones."""
        knobs = self.knobs
        if not knobs.draft_depth:
            return 1
        self._credit += knobs.accepted_percent / 100
        accepted = min(int(self._credit), knobs.draft_depth)
        self._credit -= accepted
        counters = self.engine.counters
        counters.drafts += 1
        counters.draft_tokens += knobs.draft_depth
        counters.accepted += accepted
        return 1 + accepted

    def _interval(self) -> float:
        """Give the seconds from one token to the next."""
        knobs = self.knobs
        if not knobs.tokens_s:
            return 0.0
        slower = 1 + knobs.slower_by_1k_percent / 100 * self.context / 1000
        beside = knobs.beside_prefill_percent / 100 if self.engine.prefilling else 1.0
        jitter = knobs.jitter_percent / 100
        spread = random.uniform(-jitter, jitter) if jitter else 0.0  # noqa: S311 # no secret
        lags = knobs.token_percent / 100
        return slower * beside * lags * (1 + spread) / knobs.tokens_s

    def _count(self, tokens: int) -> None:
        counters, every = self.engine.counters, self.engine.knobs.preempt_every
        before = counters.generated
        counters.generated += tokens
        counters.steps += 1
        if every and before // every != counters.generated // every:
            counters.preemptions += 1
            self._due += _PREEMPTED_S

    def _later(self, seconds: float, then: Callable[[], None]) -> None:
        loop = asyncio.get_running_loop()
        self._handle = loop.call_later(seconds, then) if seconds > 0 else loop.call_soon(then)

    def _rest(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
        self.engine.prefilling -= self._prefilling
        self._prefilling = False
