"""TGI's dialect, after the sources of its router (server.rs, 3.x)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .dialect import Dialect, Refused, Row, Series, histogram
from .tokens import pieces

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .counters import Counters, Load


class Tgi(Dialect):
    """The router of text-generation-inference."""

    version = "3.3.6"
    server = ""
    ready = '{{"level":"INFO","message":"Connected","target":"text_generation_router::server"}}'
    event = "data:"
    finish_apart = False

    def pages(self, load: Load) -> Mapping[str, Any]:
        """Answer what is read."""
        del load
        knobs = self.knobs
        card = {"id": knobs.model, "object": "model", "created": 0, "owned_by": knobs.model}
        info = {
            "model_id": knobs.model,
            "model_sha": "e8e7e5e0",
            "model_pipeline_tag": "text-generation",
            "max_concurrent_requests": 128,
            "max_best_of": 2,
            "max_stop_sequences": 4,
            "max_input_tokens": knobs.context - 1,
            "max_total_tokens": knobs.context,
            "validation_workers": 2,
            "max_client_batch_size": 4,
            "router": "text-generation-router",
            "version": self.told_version,
            "sha": "sha-3.3.6",
            "docker_label": None,
            **knobs.effective,
        }
        return {
            "/health": None,
            "/ping": None,
            "/info": info,
            "/v1/models": {"object": "list", "data": [card]},
        }

    def tokenized(self, body: Mapping[str, Any]) -> Any:
        """Cut what stands in `inputs`: each token with its place."""
        if "inputs" not in body:
            raise self.error(422, "missing field `inputs`", "Input validation error")
        found, start = [], 0
        for piece in pieces(str(body["inputs"])):
            (number,) = self.vocabulary.encode(piece)
            end = start + len(piece)
            found.append({"id": number, "text": piece, "start": start, "stop": end})
            start = end
        return found

    def error(self, status: int, message: str, kind: str) -> Refused:
        """Word an error."""
        return Refused(status, {"error": message, "error_type": kind})

    def not_found(self) -> Refused:
        """Answer a path that is not there."""
        return Refused(404, None)

    def loading(self) -> Refused:
        """Answer while its shards load."""
        return self.error(503, "unhealthy", "healthcheck")

    def broken(self) -> Refused:
        """Answer as an engine whose work failed."""
        said = "Request failed during generation: Server error: CUDA error"
        return self.error(424, said, "generation")

    def too_long(self, tokens: int, limit: int) -> Refused:
        """Refuse with the real numbers."""
        given = f"Given: {tokens} `inputs` tokens"
        said = f"`inputs` tokens + `max_new_tokens` must be <= {limit}. {given}"
        return self.error(422, f"Input validation error: {said}", "validation")

    def series(self, counters: Counters, load: Load) -> Series:
        """Show what Prometheus reads: no totals of tokens but the sums of its histograms."""
        count = float(sum(counters.finished.values()))
        rows: list[Row] = [
            ("tgi_batch_current_size", "gauge", {}, float(load.running)),
            ("tgi_queue_size", "gauge", {}, float(load.waiting)),
            ("tgi_request_count", "counter", {"method": "generate"}, float(counters.requests)),
            ("tgi_request_success", "counter", {"method": "generate"}, count),
            ("tgi_request_failure", "counter", {"err": "generation"}, float(counters.failed)),
        ]
        sums = {"input_length": counters.prompt, "generated_tokens": counters.generated}
        for name, total in sums.items():
            rows.append((f"tgi_request_{name}_sum", "histogram", {}, float(total)))
            rows.append((f"tgi_request_{name}_count", "histogram", {}, float(counters.requests)))
        return rows + histogram("tgi_request_queue_duration", {}, counters.queue)
