"""llama.cpp's dialect, after the answers of llama-server b10434."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .asked import templated
from .dialect import Dialect, Refused, Row, Series, Timing, Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .counters import Counters, Load

_FINGERPRINT = "b1-7e4c0a9"
_SAMPLING = {
    "temperature": 0.800000011920929,
    "top_k": 40,
    "top_p": 0.949999988079071,
    "min_p": 0.05000000074505806,
    "repeat_penalty": 1.0,
    "presence_penalty": 0.0,
    "max_tokens": -1,
    "speculative.types": "none",
}


class LlamaCpp(Dialect):
    """llama-server."""

    version = "b10434"
    server = "llama.cpp"
    ready = "0.00.158.000 I main: server is listening on http://{host}:{port}"
    no_metrics_status = 501
    usage_unasked = True
    empty_chunk_usage = False

    def pages(self, load: Load) -> Mapping[str, Any]:
        """Answer what is read."""
        knobs = self.knobs
        meta = {"n_ctx": knobs.context, "n_ctx_train": 262_144, "n_params": 9_838_592}
        card = {"id": knobs.model, "object": "model", "owned_by": "llamacpp", "meta": meta}
        settings = {"params": {**_SAMPLING, **knobs.effective.get("params", {})}}
        shown = {name: value for name, value in knobs.effective.items() if name != "params"}
        props = {
            "default_generation_settings": {**settings, "n_ctx": knobs.context},
            "total_slots": knobs.slots,
            "model_alias": knobs.model,
            "model_ftype": "all F32",
            "model_path": f"{knobs.model}.gguf",
            "modalities": {"vision": knobs.sees, "video": False, "audio": False},
            "chat_template": "{% for m in messages %}{{ m['content'] }}{% endfor %}",
            "build_info": _FINGERPRINT,
            "is_sleeping": False,
            **shown,
        }
        slots = [
            {"id": n, "n_ctx": knobs.context, "is_processing": n < load.running}
            for n in range(knobs.slots)
        ]
        return {
            "/health": {"status": "ok"},
            "/v1/models": {"models": [], "object": "list", "data": [card]},
            "/props": props,
            "/slots": slots,
        }

    def tokenized(self, body: Mapping[str, Any]) -> Any:
        """Count what stands in `content`; of any other body it says that it has no tokens."""
        return {"tokens": self.vocabulary.encode(str(body.get("content", "")))}

    def posts(self) -> Mapping[str, Any]:
        """Take tokens back to text and fill in the chat template, too."""
        more = {"/detokenize": self._text, "/apply-template": self._filled}
        return {**super().posts(), **more}

    def log(self) -> list[str]:
        """Give the lines that tell at its start what it runs with."""
        knobs = self.knobs
        kept = "f16" if knobs.kv_dtype == "auto" else knobs.kv_dtype
        return [
            (
                f"0.00.090.000 I llama_kv_cache: size =  64.00 MiB ({knobs.context} cells, "
                f"2 layers, {knobs.slots}/{knobs.slots} seqs), "
                f"K ({kept}):  32.00 MiB, V ({kept}):  32.00 MiB"
            ),
            (
                f"0.00.120.000 I srv    load_model: initializing, n_slots = {knobs.slots}, "
                f"n_ctx_slot = {knobs.context}, kv_unified = 'true'"
            ),
        ]

    def _text(self, body: Mapping[str, Any]) -> Any:
        return {"content": self.vocabulary.decode(body["tokens"])}

    def _filled(self, body: Mapping[str, Any]) -> Any:
        return {"prompt": templated(body["messages"])}

    def not_found(self) -> Refused:
        """Answer a path that is not there."""
        return self.error(404, "File Not Found", "not_found_error")

    def loading(self) -> Refused:
        """Answer while the model loads."""
        return self.error(503, "Loading model", "unavailable_error")

    def locked(self) -> Refused:
        """Answer a request without the key."""
        return self.error(401, "Invalid API Key", "authentication_error")

    def broken(self) -> Refused:
        """Answer as an engine whose work failed."""
        return self.error(500, "Compute error.", "server_error")

    def too_long(self, tokens: int, limit: int) -> Refused:
        """Refuse with the real numbers."""
        said = f"request ({tokens} tokens) exceeds the available context size ({limit} tokens)"
        error = {"code": 400, "message": said, "type": "exceed_context_size_error"}
        return Refused(400, {"error": {**error, "n_prompt_tokens": tokens, "n_ctx": limit}})

    def usage(self, used: Usage) -> dict[str, Any]:
        """Word the usage."""
        return {**super().usage(used), "prompt_tokens_details": {"cached_tokens": used.cached}}

    def extras(self, used: Usage, timing: Timing) -> dict[str, Any]:
        """Give its timings: what the engine itself says of its speed."""
        prompt, ms = used.prompt - used.cached, 1000 * timing.prefill_s
        decode_ms = 1000 * timing.decode_s
        return {
            "timings": {
                "cache_n": used.cached,
                "prompt_n": prompt,
                "prompt_ms": ms,
                "prompt_per_second": 1000 * prompt / ms if ms else 0.0,
                "predicted_n": used.completion,
                "predicted_ms": decode_ms,
                "predicted_per_second": 1000 * used.completion / decode_ms if decode_ms else 0.0,
            }
        }

    def choice(self, finish: str | None, **content: Any) -> dict[str, Any]:
        """Give a choice; only completions have a place for logprobs."""
        choice = super().choice(finish, **content)
        return choice if "text" in content else {"finish_reason": finish, "index": 0, **content}

    def opening(self) -> dict[str, Any]:
        """Give the delta that a chat's stream begins with."""
        return {"role": "assistant", "content": None}

    def series(self, counters: Counters, load: Load) -> Series:
        """Show what Prometheus reads; series of speculative decoding are 0 without it."""
        computed = counters.prompt - counters.cached
        totals = {
            "prompt_tokens_total": computed,
            "prompt_tokens_cached_total": counters.cached,
            "prompt_seconds_total": counters.prefill_seconds,
            "tokens_predicted_total": counters.generated,
            "tokens_predicted_seconds_total": counters.decode_seconds,
            "n_decode_total": counters.steps,
            "n_tokens_max": counters.longest,
            "spec_decode_num_draft_tokens_total": counters.draft_tokens,
            "spec_decode_num_accepted_tokens_total": counters.accepted,
            "spec_decode_num_drafts_total": counters.drafts,
        }
        prefill, decode = counters.prefill_seconds, counters.decode_seconds
        gauges = {
            "prompt_tokens_seconds": computed / prefill if prefill else 0,
            "predicted_tokens_seconds": counters.generated / decode if decode else 0,
            "requests_processing": load.running,
            "requests_deferred": load.waiting,
        }
        rows: list[Row] = [
            ("llamacpp:" + name, "counter", {}, value) for name, value in totals.items()
        ]
        return rows + [("llamacpp:" + name, "gauge", {}, value) for name, value in gauges.items()]
