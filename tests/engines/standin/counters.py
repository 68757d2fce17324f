"""What an engine counts of its work, whatever its dialect calls it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Counters:
    """Totals since the start; seconds where the name says so."""

    prompt: int = 0  # tokens, cached ones too
    cached: int = 0
    generated: int = 0
    preemptions: int = 0
    drafts: int = 0
    draft_tokens: int = 0
    accepted: int = 0
    steps: int = 0
    longest: int = 0  # tokens of the longest sequence
    requests: int = 0  # that were admitted
    failed: int = 0
    first_token_seconds: float = 0.0
    first_tokens: int = 0
    queue_seconds: float = 0.0
    prefill_seconds: float = 0.0
    decode_seconds: float = 0.0
    finished: dict[str, int] = field(default_factory=dict)

    def finish(self, reason: str) -> None:
        """Count the end of a request."""
        self.finished[reason] = self.finished.get(reason, 0) + 1


@dataclass(frozen=True)
class Load:
    """How busy an engine is now."""

    running: int
    waiting: int
    kv_use: float  # 0 to 1
