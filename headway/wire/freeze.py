"""Freeze windows: times in which nothing is rolled out, as an operator writes them. UTC, pure.

- {begins: '2026-12-23 18:00', ends: '2027-01-04 06:00', why: holidays}
- {begins: 'fri 16:00', ends: 'mon 06:00', why: weekend}
"""

import calendar
import re
import time
from dataclasses import dataclass
from typing import Optional, Tuple

_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_WEEKLY = re.compile(r"(?P<day>[a-z]{3}) (?P<hour>\d\d):(?P<minute>\d\d)")
_DATED = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d")
_MINUTE, _DAY, _WEEK = 60, 24 * 60 * 60, 7 * 24 * 60 * 60
_MONDAY = 4 * _DAY  # 1970-01-05, counted from the epoch


class FreezeError(ValueError):
    """A window cannot be read: one sentence."""


@dataclass(frozen=True)
class Freeze:
    """One window, UTC: two dates, or two times of the week that come around again."""

    begins: str
    ends: str
    why: str = ""


def frozen(windows: Tuple[Freeze, ...], now_s: int) -> Optional[str]:
    """Say which window `now_s` (Unix seconds) lies in, and until when; None where in none.

    A window that cannot be read raises FreezeError: it must not pass for none.
    """
    for window in windows:
        if _inside(window, now_s):
            why = f" ({window.why})" if window.why else ""
            return f"frozen from {window.begins} until {window.ends} UTC{why}"
    return None


def _inside(window: Freeze, now_s: int) -> bool:
    begins, ends = _WEEKLY.fullmatch(window.begins), _WEEKLY.fullmatch(window.ends)
    if begins and ends:
        now = (now_s - _MONDAY) % _WEEK
        start, end = _of_week(begins), _of_week(ends)
        return start <= now < end if start < end else now >= start or now < end
    if _DATED.fullmatch(window.begins) and _DATED.fullmatch(window.ends):
        return _dated(window.begins) <= now_s < _dated(window.ends)
    raise FreezeError(
        f"freeze window {window.begins!r} to {window.ends!r}: write two dates"
        " ('2026-12-23 18:00') or two times of the week ('fri 16:00'), UTC"
    )


def _of_week(time_of_week: "re.Match[str]") -> int:
    if time_of_week["day"] not in _DAYS:
        raise FreezeError(f"{time_of_week['day']!r} is no day; there are {', '.join(_DAYS)}")
    day = _DAYS.index(time_of_week["day"])
    return (
        day * _DAY
        + int(time_of_week["hour"]) * 60 * _MINUTE
        + int(time_of_week["minute"]) * _MINUTE
    )


def _dated(text: str) -> int:
    try:
        return calendar.timegm(time.strptime(text, "%Y-%m-%d %H:%M"))
    except ValueError:
        raise FreezeError(f"{text!r} is no date") from None
