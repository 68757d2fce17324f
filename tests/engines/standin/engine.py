"""The work of the stand-in: what it takes on, slots and a queue, and what is counted of it."""

from __future__ import annotations

import copy
import dataclasses
import os
import signal
import time
from collections import deque
from typing import TYPE_CHECKING, Any

from .counters import Counters, Load
from .dialect import Dialect, Refused, exposition
from .generation import Generation
from .knobs import Knobs, turned
from .llama_cpp import LlamaCpp
from .reply import reply_to
from .sglang import Sglang
from .tgi import Tgi
from .tokens import PrefixCache, Vocabulary
from .vllm import Vllm

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .asked import Asked

DIALECTS = {"vllm": Vllm, "sglang": Sglang, "llama_cpp": LlamaCpp, "tgi": Tgi}
_OTHERS_TOKENS_S = 50  # of each request of other clients
_IMAGE_TOKENS = 64


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
        self._kept: list[bytes] = []
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
        failed = int(knobs.others_fail_s * (time.monotonic() - self.began))
        finished = {**counted.finished, "error": counted.finished.get("error", 0) + failed}
        shown = dataclasses.replace(
            counted,
            failed=counted.failed + failed,
            finished=finished,
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
        self._kept.append(os.urandom(1024) * knobs.keeps_kib)
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
