"""Durations, ages and sizes as people read them; whole units in, short words out."""

_SECOND = 1_000
_MINUTE = 60 * _SECOND
_HOUR = 60 * _MINUTE
_DAY = 24 * _HOUR

_SIZES = (("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000))


def took(ms: int) -> str:
    """Write a duration: 0.3 s, 42 s, 2 min 05 s, 15 min, 1 h 02 min."""
    if ms < 10 * _SECOND:
        return f"{ms / _SECOND:.1f} s"
    if ms < _MINUTE:
        return f"{ms // _SECOND} s"
    if ms < _HOUR:
        return _two(ms, _MINUTE, "min", _SECOND, "s")
    return _two(ms, _HOUR, "h", _MINUTE, "min")


def ago(ms: int) -> str:
    """Write an age roughly, in whole units of which there are two at least: 40 s, 12 min, 3 d."""
    for unit, length in (("d", _DAY), ("h", _HOUR), ("min", _MINUTE)):
        if ms >= 2 * length:
            return f"{ms // length} {unit}"
    return f"{max(ms, 0) // _SECOND} s"


def size(count: int) -> str:
    """Write a number of bytes with at most one decimal: 512 B, 84.2 kB, 3.1 MB."""
    for unit, length in _SIZES:
        if count >= length:
            return f"{count / length:.1f} {unit}"
    return f"{count} B"


def _two(ms: int, large: int, large_name: str, small: int, small_name: str) -> str:
    rest = ms % large // small
    return f"{ms // large} {large_name}" + (f" {rest:02} {small_name}" if rest else "")


_UNITS = {
    "milli-tokens/s": ("tok/s", 1000),
    "milli-tokens": ("tok/step", 1000),
    "us": ("ms", 1000),
    "ms": ("s", 1000),
}


def measured(value: int, unit: str) -> str:
    """Write a measurement in the unit that people think in: 98765 milli-tokens/s is 98.8 tok/s."""
    if unit == "bytes":
        return size(value) if value >= 0 else f"-{size(-value)}"
    shown, per = _UNITS.get(unit, (unit, 1))
    return f"{value / per:.1f} {shown}" if per > 1 else f"{value} {shown}"
