"""What many numbers come to: share, mean, spread; whole units, as measurements are."""

import math
from typing import Sequence

MILLI = 1000
SECOND_US = 1_000_000
OUR_LIMIT = 90
"""Percent of a core that our side took: above it a rate may be ours."""


def percentile(values: Sequence[int], percent: int) -> int:
    """Give the smallest value that at least so many percent do not exceed; 0 of none."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)] if ordered else 0


def mean(values: Sequence[int]) -> int:
    """Give the mean; 0 of none."""
    return round(sum(values) / len(values)) if values else 0


def deviation(values: Sequence[int]) -> int:
    """Give the standard deviation of a sample; 0 of fewer than two."""
    if len(values) < 2:  # noqa: PLR2004 # one value spreads nowhere
        return 0
    middle = sum(values) / len(values)
    return round(math.sqrt(sum((one - middle) ** 2 for one in values) / (len(values) - 1)))


def milli_rate(tokens: int, took_us: int) -> int:
    """Give milli-tokens a second."""
    return tokens * MILLI * SECOND_US // took_us if took_us > 0 else 0


def tokens_s(rate: int) -> str:
    """Show a rate of milli-tokens a second to people."""
    return f"{rate / MILLI:.1f} tokens/s"
