"""The work of the stand-in: slots, a queue, tokens in their time, and what is counted of it."""

from __future__ import annotations

import asyncio
import copy
import dataclasses
import os
import random
import signal
import time
from collections import deque
from typing import TYPE_CHECKING, Any, Protocol

from .counters import Counters, Load
from .dialect import Dialect, Refused, Timing, Usage, exposition
from .knobs import Knobs, turned
from .llama_cpp import LlamaCpp
from .reply import Reply, reply_to
from .sglang import Sglang
from .tgi import Tgi
from .tokens import PrefixCache, Vocabulary
from .vllm import Vllm

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .asked import Asked

DIALECTS = {"vllm": Vllm, "sglang": Sglang, "llama_cpp": LlamaCpp, "tgi": Tgi}
_OTHERS_TOKENS_S = 50  # of each request of other clients
_PREEMPTED_S = 0.01
_IMAGE_TOKENS = 64

Tokens = list[tuple[str, str]]  # each with the field it belongs to


class Sink(Protocol):
    """Where the tokens of a request go."""

    def tokens(self, tokens: Tokens, finish: str | None) -> None:
        """Take what one step gave; `finish` is "" or a reason with the last ones, None before."""
        ...

    def cut(self) -> None:
        """Close the connection in the middle."""
        ...


class Engine:
    """One launch. `again` starts the program anew with the knobs given."""

    def __init__(self, knobs: Knobs, again: Callable[[Knobs], None]) -> None:
        self.again = again
        self.vocabulary = Vocabulary()
        self.cache = PrefixCache()
        self.counters = Counters()
        self.running: set[Generation] = set()
        self.waiting: deque[Generation] = deque()
        self.requests = 0
        self.prefilling = 0
        self.began = time.monotonic()
        self.dialect: Dialect
        self._frozen: Counters | None = None
        self._last_text = ""
        self._set(knobs)

    def turn(self, values: Mapping[str, Any]) -> None:
        """Turn knobs while it runs, or raise KnobError."""
        self._set(turned(self.knobs, values))

    def _set(self, knobs: Knobs) -> None:
        self.knobs = knobs
        self.dialect = DIALECTS[knobs.engine](knobs, self.vocabulary)
        if not knobs.counters_frozen:
            self._frozen = None
        elif self._frozen is None:
            self._frozen = copy.deepcopy(self.counters)

    # --- what is shown of it -----------------------------------------------------------------

    def is_loading(self) -> bool:
        """Tell whether the model is not there yet."""
        return time.monotonic() < self.began + self.knobs.load_ms / 1000

    def load(self) -> Load:
        """Say how busy it is."""
        held = sum(one.context for one in self.running)
        others = self.knobs.others
        return Load(len(self.running) + others, len(self.waiting), held / self.knobs.kv_tokens)

    def metrics(self) -> str:
        """Write /metrics."""
        counted, knobs = self._frozen or self.counters, self.knobs
        part = knobs.counters_percent / 100
        theirs = int(knobs.others * _OTHERS_TOKENS_S * (time.monotonic() - self.began))
        shown = dataclasses.replace(
            counted,
            prompt=int(counted.prompt * part),
            generated=int(counted.generated * part) + theirs,
        )
        series = self.dialect.series(shown, self.load())
        missing = knobs.counters_missing
        return exposition([row for row in series if not any(name in row[0] for name in missing)])

    # --- requests ----------------------------------------------------------------------------

    def accept(self, asked: Asked) -> Generation:
        """Take a request on, or raise Refused."""
        self.requests += 1
        knobs = self.knobs.of_request(self.requests)
        dialect = self.dialect
        if knobs.answer_status:
            broken = dialect.broken()
            raise Refused(knobs.answer_status, broken.body)
        if dialect.strict_model and asked.model != knobs.model:
            said = f"The model `{asked.model}` does not exist. Valid aliases: {knobs.model}."
            raise dialect.error(404, said, "NotFoundError")
        if asked.images and not knobs.sees:
            raise dialect.error(400, f"{knobs.model} is not a multimodal model", "BadRequestError")
        asked = self._with_text(asked)
        numbers = list(asked.numbers) or self.vocabulary.encode(asked.prompt)
        count = len(numbers) + _IMAGE_TOKENS * len(asked.images)
        limit = min(knobs.context, knobs.context_lie or knobs.context)
        if count >= limit:
            raise dialect.too_long(count, limit)
        kept = knobs.prefix_cache and asked.cache
        cached = self.cache.take(numbers, asked.salt) if kept else 0
        answered = dataclasses.replace(asked, text=self._foreign()) if knobs.crosstalk else asked
        self._last_text = asked.text
        reply = reply_to(answered, knobs, count)
        return Generation(self, self.requests, asked, knobs, reply, count, cached)

    def _with_text(self, asked: Asked) -> Asked:
        if not asked.numbers:
            return asked
        text = self.vocabulary.decode(asked.numbers)
        return dataclasses.replace(asked, text=text, prompt=text)

    def _foreign(self) -> str:
        """Find another request's prompt: one that runs now, else the one before."""
        return next((one.asked.text for one in self.running), self._last_text)

    def enqueue(self, generation: Generation) -> None:
        """Let a request wait for a slot."""
        self.waiting.append(generation)
        self._admit()

    def leave(self, generation: Generation, reason: str) -> None:
        """Take a request out, wherever it is by now."""
        if generation in self.waiting:
            self.waiting.remove(generation)
        elif generation in self.running:
            self.running.discard(generation)
            self.counters.finish(reason)
        self._admit()

    def _admit(self) -> None:
        while self.waiting and len(self.running) < self.knobs.slots:
            generation = self.waiting.popleft()
            self.running.add(generation)
            self.counters.requests += 1
            generation.admit()

    def end(self, how: str) -> None:
        """End the whole process as the case says."""
        kind, _, code = how.partition(" ")
        if kind == "exit":
            os._exit(int(code))
        if kind == "restart":
            self.again(dataclasses.replace(self.knobs, ends_at=0))
        os.kill(os.getpid(), getattr(signal, kind))


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
