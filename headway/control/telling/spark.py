"""A row of numbers as a line of eight heights, for terminals."""

from collections.abc import Sequence

HEIGHTS = "▁▂▃▄▅▆▇█"
WIDEST = 40


def sparkline(values: Sequence[int]) -> str:
    """Draw the newest numbers, the least of them lowest; numbers that are all equal lie midway."""
    shown = values[-WIDEST:]
    least, most = min(shown, default=0), max(shown, default=0)
    if least == most:
        return HEIGHTS[3] * len(shown)
    top = len(HEIGHTS) - 1
    return "".join(HEIGHTS[round(top * (value - least) / (most - least))] for value in shown)
