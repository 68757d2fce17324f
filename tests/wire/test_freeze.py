"""Freeze windows: what lies in one, to the minute; what cannot be read never passes for none."""

import calendar

import pytest

from headway.wire.freeze import Freeze, FreezeError, frozen

HOLIDAYS = Freeze("2026-12-23 18:00", "2027-01-04 06:00", "holidays")
WEEKEND = Freeze("fri 16:00", "mon 06:00")
NIGHT = Freeze("tue 00:00", "tue 06:30", "backups")


def at(year: int, month: int, day: int, hour: int, minute: int = 0) -> int:
    """Give Unix seconds of a UTC time."""
    return calendar.timegm((year, month, day, hour, minute, 0))


@pytest.mark.parametrize(
    ("now_s", "said"),
    [
        (at(2026, 12, 23, 17, 59), None),
        (
            at(2026, 12, 23, 18),
            "frozen from 2026-12-23 18:00 until 2027-01-04 06:00 UTC (holidays)",
        ),
        (at(2027, 1, 4, 6), None),  # a Monday
        (at(2026, 11, 27, 15, 59), None),  # a Friday
        (at(2026, 11, 27, 16), "frozen from fri 16:00 until mon 06:00 UTC"),
        (at(2026, 11, 29, 23, 59), "frozen from fri 16:00 until mon 06:00 UTC"),
        (at(2026, 11, 30, 6), None),
        (at(2026, 12, 1, 0), "frozen from tue 00:00 until tue 06:30 UTC (backups)"),
        (at(2026, 12, 1, 6, 30), None),
    ],
)
def test_a_time_lies_in_a_window_or_in_none(now_s: int, said: str | None) -> None:
    """The end is outside; a week's window comes around."""
    assert frozen((HOLIDAYS, WEEKEND, NIGHT), now_s) == said


@pytest.mark.parametrize(
    ("begins", "ends", "says"),
    [
        ("fri 16:00", "2027-01-04 06:00", "write two dates"),
        ("friday 16:00", "mon 06:00", "write two dates"),
        ("frx 16:00", "mon 06:00", "'frx' is no day"),
        ("2026-13-01 00:00", "2026-12-02 00:00", "'2026-13-01 00:00' is no date"),
    ],
)
def test_a_window_that_cannot_be_read_is_an_error(begins: str, ends: str, says: str) -> None:
    """A typing error must not open the door."""
    with pytest.raises(FreezeError, match=says):
        frozen((Freeze(begins, ends),), at(2026, 12, 1, 3))
