"""SGLang's dialect, after the sources of 0.5.23 (protocol.py, http_server.py, the collector)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .dialect import Dialect, Refused, Row, Series, histogram

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .counters import Counters, Load


class Sglang(Dialect):
    """The HTTP server of SGLang."""

    version = "0.5.23"
    ready = "[2026-11-29 22:33:17] The server is fired up and ready to roll!"

    def pages(self, load: Load) -> Mapping[str, Any]:
        """Answer what is read."""
        knobs = self.knobs
        card = {"id": knobs.model, "object": "model", "owned_by": "sglang", "root": knobs.model}
        info = self._info()
        return {
            "/health": None,
            "/health_generate": None,
            "/v1/models": {"object": "list", "data": [{**card, "max_model_len": knobs.context}]},
            "/server_info": info,
            "/get_server_info": info,
            "/get_model_info": {"model_path": f"/srv/models/{knobs.model}", "is_generation": True},
            "/get_load": [
                {"dp_rank": 0, "num_reqs": load.running, "num_waiting_reqs": load.waiting}
            ],
        }

    def _info(self) -> dict[str, Any]:
        """Give the resolved arguments, what the scheduler found and its states."""
        knobs = self.knobs
        memory = {"weight": 1.0, "kvcache": 1.0, "token_capacity": knobs.kv_tokens}
        states: dict[str, Any] = {"last_gen_throughput": 0.0, "memory_usage": memory}
        if knobs.draft_depth:
            states["avg_spec_accept_length"] = 1 + knobs.accepted_percent / 100
        return {
            "model_path": f"/srv/models/{knobs.model}",
            "served_model_name": knobs.model,
            "context_length": knobs.context,
            "kv_cache_dtype": knobs.kv_dtype,
            "attention_backend": knobs.backend.lower(),
            "tp_size": 1,
            "max_running_requests": knobs.slots,
            "speculative_algorithm": "EAGLE" if knobs.draft_depth else None,
            "speculative_num_steps": knobs.draft_depth or None,
            "speculative_num_draft_tokens": knobs.draft_depth + 1 if knobs.draft_depth else None,
            "sampling_defaults": "model",
            "preferred_sampling_params": None,
            "max_total_num_tokens": knobs.kv_tokens,
            "max_req_input_len": knobs.context - 6,
            "internal_states": [states],
            "version": self.told_version,
            **knobs.effective,
        }

    def log(self) -> list[str]:
        """Give the lines that tell at its start what it runs with."""
        knobs, at = self.knobs, "[2026-11-29 22:33:10]"
        return [
            (
                f"{at} server_args=ServerArgs(model_path='/srv/models/{knobs.model}', "
                f"context_length={knobs.context}, kv_cache_dtype='{knobs.kv_dtype}')"
            ),
            (
                f"{at} KV Cache is allocated. dtype: torch.bfloat16, #tokens: {knobs.kv_tokens}, "
                "K size: 1.00 GB, V size: 1.00 GB"
            ),
            (
                f"{at} max_total_num_tokens={knobs.kv_tokens}, chunked_prefill_size=8192, "
                f"max_running_requests={knobs.slots}, context_len={knobs.context}"
            ),
        ]

    def tokenized(self, body: Mapping[str, Any]) -> Any:
        """Count a prompt's tokens."""
        numbers = self.vocabulary.encode(str(body["prompt"]))
        return {"tokens": numbers, "count": len(numbers), "max_model_len": self.knobs.context}

    def posts(self) -> Mapping[str, Any]:
        """Answer under both of its paths."""
        return {**super().posts(), "/v1/tokenize": self.tokenized}

    def error(self, status: int, message: str, kind: str) -> Refused:
        """Word an error."""
        body = {"object": "error", "message": message, "type": kind, "param": None, "code": status}
        return Refused(status, body)

    def too_long(self, tokens: int, limit: int) -> Refused:
        """Refuse with the real numbers."""
        longer = f"longer than the model's context length ({limit} tokens)."
        said = f"The input ({tokens} tokens) is {longer}"
        return self.error(400, said, "BadRequestError")

    def series(self, counters: Counters, load: Load) -> Series:
        """Show what Prometheus reads."""
        own = {"engine_type": "unified", "model_name": self.knobs.model, "tp_rank": "0"}
        gauges: dict[str, float] = {
            "num_running_reqs": load.running,
            "num_queue_reqs": load.waiting,
            "token_usage": load.kv_use,
            "num_used_tokens": int(load.kv_use * self.knobs.kv_tokens),
            "max_total_num_tokens": self.knobs.kv_tokens,
            "cache_hit_rate": counters.cached / counters.prompt if counters.prompt else 0.0,
            "gen_throughput": 0.0,
            "num_retracted_reqs": 0,
        }
        if self.knobs.draft_depth:
            length = counters.accepted / counters.drafts if counters.drafts else 0.0
            gauges["spec_accept_length"] = 1 + length
            gauges["spec_accept_rate"] = length / self.knobs.draft_depth
        totals: dict[str, float] = {
            "prompt_tokens_total": counters.prompt,
            "generation_tokens_total": counters.generated,
            "cached_tokens_total": counters.cached,
            "num_requests_total": counters.requests,
            "num_retracted_requests_total": counters.preemptions,
            "num_aborted_requests_total": counters.finished.get("abort", 0),
        }
        rows: list[Row] = [
            ("sglang:" + name, kind, own, float(value))
            for kind, named in (("gauge", gauges), ("counter", totals))
            for name, value in named.items()
        ]
        rows += histogram("sglang:time_to_first_token_seconds", own, counters.first_token)
        return rows + histogram("sglang:queue_time_seconds", own, counters.queue)
