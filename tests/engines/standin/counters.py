"""What an engine counts of its work, whatever its dialect calls it."""

from __future__ import annotations

from dataclasses import dataclass, field

EDGES = (0.05, 0.1, 0.2, 0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 60.0)


@dataclass
class Histogram:
    """Seconds that something took: how many were at most each edge, how many in all, their sum."""

    at_most: list[int] = field(default_factory=lambda: [0] * len(EDGES))
    count: int = 0
    total: float = 0.0

    def take(self, seconds: float) -> None:
        """Count one."""
        self.count += 1
        self.total += seconds
        for n, edge in enumerate(EDGES):
            self.at_most[n] += seconds <= edge


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
    first_token: Histogram = field(default_factory=Histogram)
    queue: Histogram = field(default_factory=Histogram)
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
