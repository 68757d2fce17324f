"""`trend`: numbers over transitions as a line of heights."""

import pytest

from headway.control.oncall.trend import text, trends
from headway.control.telling.amounts import measured
from headway.control.telling.history import Sample
from headway.control.telling.spark import WIDEST, sparkline
from headway.wire.gate import Measurement


def _sample(host: str, at_ms: int, value: int, name: str = "tokens_s") -> Sample:
    seen = Measurement(name, value, "milli-tokens/s")
    return Sample(
        *(seen, at_ms, f"r{at_ms}", "rollout", host, "h200", f"rel{at_ms}", "accepted"),
        *("llama", "decode", "decode"),
    )


def test_a_line_a_host_with_the_newest_last() -> None:
    """Least, most and newest stand beside the heights, and how far the last step went."""
    samples = [_sample("gpu2", 3, 90_000), _sample("gpu1", 2, 50_000), _sample("gpu1", 1, 100_000)]
    found = tuple(trends(samples, "decode"))
    assert [one.values for one in found] == [(100_000, 50_000), (90_000,)]
    rows = [line.split() for line in text(found).splitlines()]
    assert rows[1] == [
        *("gpu1", "llama", "tokens_s", "█▁", "50.0", "tok/s", "100.0", "tok/s"),
        *("50.0", "tok/s", "-50", "%", "rel2"),
    ]


def test_a_metric_is_a_gate_or_a_name() -> None:
    """`--metric decode` is all that the gate measured, `--metric ttft` one of it."""
    samples = [_sample("gpu1", 1, 1), _sample("gpu1", 1, 2, "ttft")]
    assert len(tuple(trends(samples, "decode"))) == 2
    assert [one.name for one in trends(samples, "ttft")] == ["ttft"]
    assert tuple(trends(samples, "vibes")) == ()


def test_only_the_newest_are_drawn() -> None:
    """`--last 2`, and at most what fits a line."""
    samples = [_sample("gpu1", n, n) for n in range(1, 60)]
    [two] = trends(samples, "decode", 2)
    assert two.values == (58, 59)
    [every] = trends(samples, "decode")
    assert len(sparkline(every.values)) == WIDEST


@pytest.mark.parametrize(
    ("value", "unit", "said"),
    [
        (98_765, "milli-tokens/s", "98.8 tok/s"),
        (1_500, "us", "1.5 ms"),
        (-3_000_000, "bytes", "-3.0 MB"),
        (7, "percent", "7 percent"),
    ],
)
def test_a_measurement_reads_in_the_unit_people_think_in(value: int, unit: str, said: str) -> None:
    """Whole units on the wire, short words on a screen."""
    assert measured(value, unit) == said


def test_numbers_that_do_not_move_are_a_level_line() -> None:
    """And no division by nothing."""
    assert sparkline((5, 5, 5)) == "▄▄▄"
    assert sparkline(()) == ""
