"""vLLM's dialect, after the answers of 0.32.0."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .asked import templated
from .dialect import Dialect, Refused, Row, Series, histogram

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .counters import Counters, Load

_BLOCK = 16  # tokens of a KV block


class Vllm(Dialect):
    """The API server of vLLM."""

    version = "0.32.0"
    ready = (
        "(APIServer pid={pid}) INFO 11-29 22:33:17 [api_server.py:61] "
        "Starting vLLM server on http://{host}:{port}"
    )
    reasoning_field = "reasoning"
    strict_model = True
    closed_while_loading = True
    finish_apart = False

    def pages(self, load: Load) -> Mapping[str, Any]:
        """Answer what is read."""
        knobs = self.knobs
        card = {
            "id": knobs.model,
            "object": "model",
            "created": 1_795_991_672,
            "owned_by": "vllm",
            "root": f"/srv/models/{knobs.model}",
            "parent": None,
            "max_model_len": knobs.effective.get("max_model_len", knobs.context),
        }
        return {
            "/health": None,
            "/ping": None,
            "/load": {"server_load": load.running + load.waiting},
            "/version": {"version": self.told_version},
            "/v1/models": {"object": "list", "data": [card]},
        }

    def tokenized(self, body: Mapping[str, Any]) -> Any:
        """Count a prompt's or a chat's tokens."""
        messages = body.get("messages")
        if messages is None and "prompt" not in body:
            raise self.error(400, "2 validation errors: prompt: Field required", "Bad Request")
        text = str(body["prompt"]) if messages is None else templated(messages)
        numbers = self.vocabulary.encode(text)
        limit = self.knobs.context
        return {"count": len(numbers), "max_model_len": limit, "tokens": numbers}

    def posts(self) -> Mapping[str, Any]:
        """Take tokens back to text, too."""
        return {**super().posts(), "/detokenize": self._text}

    def log(self) -> list[str]:
        """Give the lines that tell at its start what it runs with."""
        knobs, core = self.knobs, "(EngineCore pid=2) INFO 11-29 22:33:10 "
        method = f"SpeculativeConfig(method='mtp', model=None, num_spec_tokens={knobs.draft_depth})"
        config = {
            "model": f"'/srv/models/{knobs.model}'",
            "speculative_config": method if knobs.draft_depth else None,
            "dtype": "torch.bfloat16",
            "max_seq_len": knobs.context,
            "kv_cache_dtype": knobs.kv_dtype,
        }
        dumped = ", ".join(f"{name}={value}" for name, value in config.items())
        times = knobs.kv_tokens / knobs.context
        return [
            (
                f"{core}[core.py:93] Initializing a V1 LLM engine (v{self.told_version}) "
                f"with config: {dumped}"
            ),
            (
                f"{core}[cuda.py:407] Using {knobs.backend} attention backend out of potential "
                f"backends: ['{knobs.backend}']."
            ),
            (
                f"{core}[kv_cache_utils.py:1643] GPU KV cache size: {knobs.kv_tokens:,} tokens, "
                f"Maximum concurrency for {knobs.context:,} tokens per request: {times:.2f}x"
            ),
        ]

    def _text(self, body: Mapping[str, Any]) -> Any:
        return {"prompt": self.vocabulary.decode(body["tokens"])}

    def error(self, status: int, message: str, kind: str, param: str | None = None) -> Refused:
        """Word an error."""
        error = {"message": message, "type": kind, "param": param, "code": status}
        return Refused(status, {"error": error})

    def too_long(self, tokens: int, limit: int) -> Refused:
        """Refuse; the number said is not the real one: its tokenizer stops early."""
        del tokens
        said = (
            f"This model's maximum context length is {limit} tokens. However, your prompt contains "
            f"at least {limit + 1} input tokens, which exceeds this limit even without any output "
            f"tokens. Please reduce the length of the input prompt. (parameter=input_tokens, "
            f"value={limit + 1})"
        )
        return self.error(400, said, "BadRequestError", "input_tokens")

    def series(self, counters: Counters, load: Load) -> Series:
        """Show what Prometheus reads; without speculative decoding its series are not there."""
        own = {"engine": "0", "model_name": self.knobs.model}
        gauges = {
            "num_requests_running": load.running,
            "num_requests_waiting": load.waiting,
            "kv_cache_usage_perc": load.kv_use,
        }
        totals = {
            "prefix_cache_queries_total": counters.prompt,
            "prefix_cache_hits_total": counters.cached,
            "num_preemptions_total": counters.preemptions,
            "prompt_tokens_total": counters.prompt,
            "prompt_tokens_cached_total": counters.cached,
            "generation_tokens_total": counters.generated,
        }
        refused = {"model_name": self.knobs.model, "reason": "max_num_queued_reqs"}
        if self.knobs.draft_depth:
            totals["spec_decode_num_drafts_total"] = counters.drafts
            totals["spec_decode_num_draft_tokens_total"] = counters.draft_tokens
            totals["spec_decode_num_accepted_tokens_total"] = counters.accepted
        sums = {
            "iteration_tokens_total": (counters.prompt + counters.generated, counters.steps),
            "request_prefill_time_seconds": (counters.prefill_seconds, counters.requests),
            "request_decode_time_seconds": (counters.decode_seconds, counters.requests),
        }
        rows: list[Row] = [
            ("vllm:" + name, "gauge", own, float(value)) for name, value in gauges.items()
        ]
        rows += [("vllm:" + name, "counter", own, float(value)) for name, value in totals.items()]
        rows.append(("vllm:admission_rejections_total", "counter", refused, 0.0))
        for reason in ("stop", "length", "abort", "error", "repetition"):
            labels = {"engine": "0", "finished_reason": reason, "model_name": self.knobs.model}
            count = float(counters.finished.get(reason, 0))
            rows.append(("vllm:request_success_total", "counter", labels, count))
        for name, (total, count) in sums.items():
            rows.append((f"vllm:{name}_sum", "histogram", own, float(total)))
            rows.append((f"vllm:{name}_count", "histogram", own, float(count)))
        waits = {
            "time_to_first_token_seconds": counters.first_token,
            "request_queue_time_seconds": counters.queue,
        }
        for name, taken in waits.items():
            rows += histogram("vllm:" + name, own, taken)
        rows.append(("vllm:cache_config_info", "gauge", self._cache_config(), 1.0))
        return rows

    def _cache_config(self) -> Mapping[str, str]:
        knobs = self.knobs
        labels = {
            "block_size": _BLOCK,
            "cache_dtype": knobs.kv_dtype,
            "enable_prefix_caching": knobs.prefix_cache,
            "engine": 0,
            "gpu_memory_utilization": 0.92,
            "kv_cache_max_concurrency": round(knobs.kv_tokens / knobs.context, 2),
            "kv_cache_size_tokens": knobs.kv_tokens,
            "num_gpu_blocks": knobs.kv_tokens // _BLOCK,
            "num_gpu_blocks_override": None,
            "sliding_window": None,
            **knobs.effective,
        }
        return {name: str(value) for name, value in labels.items()}
