"""What a stand-in pretends to be, how fast it is and what is wrong with it: one flat table.

Knobs made by `fault` belong to one request: they hold for those that `faults_from`, `faults_every`
and `faults_until` pick. All others hold for the engine as a whole.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


class KnobError(ValueError):
    """There is no such knob, or it does not take such a value: one sentence."""


def fault(default: Any) -> Any:
    """Declare a knob that breaks single requests; `default` is how a good engine behaves."""
    return field(default=default, metadata={"fault": True})


@dataclass(frozen=True)
class Knobs:
    """Whole numbers of the units they name; 0 is "at once", "never" or "no limit"."""

    # --- what it says it is ------------------------------------------------------------------
    engine: str = "vllm"  # vllm, sglang, llama_cpp, tgi
    model: str = "copy"
    version: str = ""  # "": the one whose answers were recorded
    context: int = 262_144  # max_model_len; llama.cpp: n_ctx of a slot
    slots: int = 64
    key: str = ""  # an API key: without it 401
    kv_tokens: int = 4_194_304  # tokens of the KV pool
    kv_dtype: str = "auto"
    backend: str = "FLASHINFER"  # of attention
    draft_depth: int = 0  # draft tokens a step; 0 is no speculative decoding
    accepted_percent: int = 0  # draft tokens accepted in 100 steps: 250 is 2.5 a step
    effective: dict[str, Any] = field(default_factory=dict)  # laid over what it says of its config
    thinks: bool = False  # reasons before it answers a chat
    sees: bool = False  # takes images
    prefix_cache: bool = True
    cached_in_usage: bool = False  # as vLLM --enable-prompt-tokens-details; llama.cpp always does
    log: tuple[str, ...] = ()  # lines on stderr at its start

    # --- how fast it is ----------------------------------------------------------------------
    load_ms: int = 0
    tokens_s: int = 0  # of one stream
    ttft_ms: int = 0  # besides the prefill
    prefill_tokens_s: int = 0
    jitter_percent: int = 0  # of the time between tokens, up and down
    slower_by_1k_percent: int = 0  # a token takes longer by so much for each 1k of context
    beside_prefill_percent: int = 100  # what a token takes while a prefill runs

    # --- faults of the engine ----------------------------------------------------------------
    health_status: int = 0  # /health answers this for ever
    redirect: str = ""  # every path leads there, 307
    metrics: bool = True  # False: as an engine started without them
    counters_frozen: bool = False  # token counters stay where they are now
    counters_missing: tuple[str, ...] = ()  # series whose names hold one of these are not there
    counters_percent: int = 100  # token counters count so much of what happened
    preempt_every: int = 0  # tokens from one preemption to the next
    others: int = 0  # requests of other clients that run all the time
    others_fail_s: int = 0  # of such, how many fail a second
    keeps_kib: int = 0  # of memory, for good, of each request
    context_lie: int = 0  # prompts above so many tokens are refused, whatever `context` says
    ends_at: int = 0  # with this request, after its first token
    ends_how: str = "exit 1"  # "exit N", "SIGSEGV" and other signals, "restart"

    # --- which requests the rest is about, counted from 1 ------------------------------------
    faults_from: int = 1
    faults_every: int = 1
    faults_until: int = 0  # 0: for ever

    # --- faults of a request -----------------------------------------------------------------
    garbage_past: int = fault(0)  # tokens of context; what comes after them is no language
    wrong: bool = fault(False)  # fluent, and not what was asked
    repeats: bool = fault(False)  # the same words again and again
    blank: bool = fault(False)  # stops at once and says nothing
    crosstalk: bool = fault(False)  # answers the prompt of the request before
    finish: str = fault("")  # instead of its own finish_reason; "null" is none
    stop_after: int = fault(0)  # ends after so many tokens (with `finish`: length early)
    prompt_percent: int = fault(100)  # usage counts so much of the prompt
    completion_extra: int = fault(0)  # usage counts so many tokens more
    cached_extra: int = fault(0)
    no_usage: bool = fault(False)
    slow_first_ms: int = fault(0)
    token_percent: int = fault(100)  # what each token takes
    stall_after: int = fault(-1)  # tokens; then silence with the slot held. 0 is never a word
    endless: bool = fault(False)  # never stops, whatever max_tokens says
    cut_after: int = fault(0)  # tokens; then the connection closes
    no_done: bool = fault(False)  # a stream without [DONE]
    no_finish: bool = fault(False)  # a stream without a finish_reason
    answer: str = fault("")  # "empty": 200 and no body; "error": 200 and an error; "html"
    answer_status: int = fault(0)  # such an error instead of an answer
    sse: tuple[str, ...] = fault(())  # crlf, pings, multiline
    http_chunk: int = fault(0)  # bytes of an HTTP chunk, wherever that cuts; 0: an event each
    trickle_ms: int = fault(0)  # between one byte and the next
    tool: str = fault("")  # wrong_name, broken_json, as_text, none, empty_arguments
    reasoning: str = fault("")  # leaked (into the content), only (no content)

    def of_request(self, number: int) -> Knobs:
        """Take the faults away where request `number` is none of those they are for."""
        late = number - self.faults_from
        picked = late >= 0 and late % self.faults_every == 0
        if picked and not 0 < self.faults_until < number:
            return self
        return dataclasses.replace(self, **_NO_FAULTS)


_FIELDS = {one.name: one for one in dataclasses.fields(Knobs)}
_NO_FAULTS: dict[str, Any] = {
    name: one.default for name, one in _FIELDS.items() if one.metadata.get("fault")
}
_DEFAULTS = Knobs()


def turned(knobs: Knobs, values: Mapping[str, Any]) -> Knobs:
    """Turn some knobs, or raise KnobError."""
    return dataclasses.replace(knobs, **{name: _read(name, one) for name, one in values.items()})


def _read(name: str, value: Any) -> Any:
    if name not in _FIELDS:
        raise KnobError(f"no knob {name!r}; there are {', '.join(_FIELDS)}")
    default = getattr(_DEFAULTS, name)
    kind: type = type(default)
    if kind is tuple and isinstance(value, list):
        return tuple(value)
    if not isinstance(value, kind) or isinstance(value, bool) is not (kind is bool):
        raise KnobError(f"{name}: {value!r} is no {kind.__name__}")
    return value
