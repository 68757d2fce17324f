"""Times as a person reads them at night: how long ago, and when."""

import time

_MINUTE, _HOUR, _DAY = 60, 3600, 86400


def span(seconds: int) -> str:
    """Write a length of time roughly: 40 s, 12 min, 5 h, 3 d."""
    for unit, length in (("d", _DAY), ("h", _HOUR), ("min", _MINUTE)):
        if seconds >= 2 * length:
            return f"{seconds // length} {unit}"
    return f"{max(0, seconds)} s"


def when(at_s: int) -> str:
    """Write a moment of the host's clock."""
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(at_s))


def since(seconds: int, now_s: int) -> str:
    """Write a moment so long ago, with its distance: 2026-11-30 07:27:45 UTC, 12 min ago."""
    return f"{when(now_s - seconds)}, {span(seconds)} ago"
