"""How one engine words what all of them say: paths, errors, answers, chunks, metrics.

A Dialect speaks OpenAI's API as vLLM, SGLang, llama.cpp and TGI share it; the four modules beside
this one say where each differs. Shapes are those of recorded answers (vLLM 0.32.0, llama-server
b10434) and, for the two that were never run here, of their sources.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .counters import EDGES, Histogram

if TYPE_CHECKING:
    from .asked import Asked
    from .counters import Counters, Load
    from .knobs import Knobs
    from .tokens import Vocabulary

Json = Any
_PART = re.compile("_(sum|count|bucket)$")


class Refused(Exception):  # noqa: N818 # an answer, no error of ours
    """A request is answered with an error of the engine."""

    def __init__(self, status: int, body: Json) -> None:
        super().__init__(status)
        self.status = status
        self.body = body


@dataclass(frozen=True)
class Usage:
    """What a request is said to have used."""

    prompt: int
    completion: int
    cached: int


@dataclass(frozen=True)
class Timing:
    """What a request took: seconds of its prefill and of its tokens."""

    prefill_s: float
    decode_s: float


Row = tuple[str, str, Mapping[str, str], float]  # of metrics: name, type, labels, value
Series = Sequence[Row]


class Dialect:
    """One engine's way to speak, with the knobs of its launch."""

    version = ""
    server = "uvicorn"
    ready = "ready on http://{host}:{port}"
    event = "data: "  # before the JSON of a stream's event
    reasoning_field = "reasoning_content"
    strict_model = False  # a wrong name is an error
    closed_while_loading = False  # nobody listens until the model is there
    no_metrics_status = 404
    usage_unasked = False  # a stream ends in its usage whether it was asked for or not
    finish_apart = True  # the end of a stream is a chunk of its own, without text
    empty_chunk_usage = True  # usage comes in a chunk of its own, without choices

    def __init__(self, knobs: Knobs, vocabulary: Vocabulary) -> None:
        self.knobs = knobs
        self.vocabulary = vocabulary
        self.told_version = knobs.version or self.version

    # --- pages -------------------------------------------------------------------------------

    def pages(self, load: Load) -> Mapping[str, Json]:
        """Give the JSON of each path that is read with GET; None is an empty body."""
        raise NotImplementedError

    def tokenized(self, body: Mapping[str, Json]) -> Json:
        """Answer /tokenize."""
        raise NotImplementedError

    def series(self, counters: Counters, load: Load) -> Series:
        """Give what /metrics shows."""
        raise NotImplementedError

    def posts(self) -> Mapping[str, Callable[[Mapping[str, Json]], Json]]:
        """Give what answers each path that is written to, besides completions and chats."""
        return {"/tokenize": self.tokenized}

    def log(self) -> list[str]:
        """Give the lines that tell at its start what it runs with."""
        return []

    # --- errors ------------------------------------------------------------------------------

    def error(self, status: int, message: str, kind: str) -> Refused:
        """Word an error."""
        return Refused(status, {"error": {"message": message, "type": kind, "code": status}})

    def not_found(self) -> Refused:
        """Answer a path that is not there."""
        return Refused(404, {"detail": "Not Found"})

    def loading(self) -> Refused:
        """Answer while the model loads."""
        return Refused(503, None)

    def locked(self) -> Refused:
        """Answer a request without the key."""
        return Refused(401, {"error": "Unauthorized"})

    def too_long(self, tokens: int, limit: int) -> Refused:
        """Answer a prompt that the context cannot hold."""
        raise NotImplementedError

    def broken(self) -> Refused:
        """Answer as an engine whose work failed."""
        return self.error(500, "EngineCore encountered an issue.", "InternalServerError")

    # --- answers -----------------------------------------------------------------------------

    def finish_reason(self, reason: str) -> str | None:
        """Name an end as this engine does; "" is none."""
        return reason or None

    def usage(self, used: Usage) -> dict[str, Json]:
        """Word the usage."""
        details = {"cached_tokens": used.cached} if self.knobs.cached_in_usage else None
        return {
            "prompt_tokens": used.prompt,
            "total_tokens": used.prompt + used.completion,
            "completion_tokens": used.completion,
            "prompt_tokens_details": details,
        }

    def extras(self, used: Usage, timing: Timing) -> dict[str, Json]:
        """Give what else stands at the end of an answer."""
        del used, timing
        return {}

    def head(self, asked: Asked, number: int, *, stream: bool) -> dict[str, Json]:
        """Give what every answer and every chunk begins with."""
        if not asked.chat:
            kind = "text_completion"
        else:
            kind = "chat.completion.chunk" if stream else "chat.completion"
        prefix = "chatcmpl" if asked.chat else "cmpl"
        name = {"id": f"{prefix}-{number:016x}", "object": kind, "created": 1_795_991_672}
        return {**name, "model": self.knobs.model}

    def choice(self, finish: str | None, **content: Json) -> dict[str, Json]:
        """Give a choice with its content and its end."""
        return {"index": 0, **content, "logprobs": None, "finish_reason": finish}

    def opening(self) -> dict[str, Json]:
        """Give the delta that a chat's stream begins with."""
        return {"role": "assistant", "content": ""}

    def message(self, fields: Mapping[str, str], calls: list[Json]) -> dict[str, Json]:
        """Give a chat's message; `fields` are reasoning and content."""
        message: dict[str, Json] = {"role": "assistant", "content": fields.get("content")}
        if fields.get("reasoning"):
            message[self.reasoning_field] = fields["reasoning"]
        if calls:
            message["tool_calls"] = calls
        return message


def histogram(name: str, labels: Mapping[str, str], taken: Histogram) -> list[Row]:
    """Give the rows of a histogram in seconds."""
    edges = [*map(str, EDGES), "+Inf"]
    counts = [*taken.at_most, taken.count]
    rows: list[Row] = [
        (name + "_bucket", "histogram", {**labels, "le": edge}, float(counts[n]))
        for n, edge in enumerate(edges)
    ]
    ends = {"_count": float(taken.count), "_sum": taken.total}
    return rows + [(name + end, "histogram", labels, value) for end, value in ends.items()]


def exposition(series: Series) -> str:
    """Write series as Prometheus text."""
    lines, typed = [], set()
    for name, kind, labels, value in series:
        family = _PART.sub("", name) if kind == "histogram" else name
        if family not in typed:
            typed.add(family)
            lines += [f"# HELP {family} {family}", f"# TYPE {family} {kind}"]
        said = ",".join(f'{key}="{text}"' for key, text in labels.items())
        lines.append(f"{name}{{{said}}} {value}" if said else f"{name} {value}")
    return "\n".join(lines) + "\n"
