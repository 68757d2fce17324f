"""What a sweep measured, for people: a table, a plot, and whether the obvious best is the best."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from headway.control.telling.table import table
from headway.wire.gate import Measurement, Report
from headway.wire.verdict import Verdict, combine

SPEED, ACCEPTANCE = "tokens_s", "acceptance"
"""Measurements by which values are compared: throughput, and tokens a step of a draft model."""

_BAR = 40
_UNITS = {"milli-tokens/s": ("tok/s", 1000), "milli-tokens": ("tok/step", 1000), "us": ("ms", 1000)}
_HEADLINE = (SPEED, ACCEPTANCE, "ttft")


@dataclass(frozen=True)
class Launched:
    """One value, and what the gates said of its launch; no report: it did not get that far."""

    value: Any
    reports: tuple[Report, ...] = ()
    trouble: str = ""

    @property
    def verdict(self) -> Verdict:
        """Add up what its gates said."""
        return combine(report.verdict for report in self.reports)

    def measured(self, name: str) -> Measurement | None:
        """Find a measurement of this launch by its name."""
        found = (one for report in self.reports for one in report.measurements if one.name == name)
        return next(found, None)


def text(name: str, rungs: Sequence[Launched], width: int = 0) -> str:
    """Draw the table, the plot of throughput, and the sentence about the best."""
    return "\n".join([_table(name, rungs, width), *_plot(name, rungs), *best(name, rungs)])


def best(name: str, rungs: Sequence[Launched]) -> Iterator[str]:
    """Say which value is the fastest, and when another one only looks better.

    A draft that is accepted more often is no gain where each step takes longer than it saves.
    """
    passed = [rung for rung in rungs if rung.verdict is Verdict.PASS and rung.measured(SPEED)]
    if not passed:
        yield f"no value of {name} passed with a throughput: nothing to choose from"
        return
    fastest = max(passed, key=lambda rung: _number(rung, SPEED))
    yield f"fastest: {name}={fastest.value} with {_shown(fastest, SPEED)}"
    drafting = [rung for rung in passed if rung.measured(ACCEPTANCE)]
    if drafting:
        longest = max(drafting, key=lambda rung: _number(rung, ACCEPTANCE))
        if longest.value != fastest.value:
            said = f"{_shown(longest, ACCEPTANCE)}, {_shown(longest, SPEED)}"
            yield f"the longest acceptance is slower: {name}={longest.value}, {said}"


def _table(name: str, rungs: Sequence[Launched], width: int) -> str:
    names = [*_HEADLINE, *sorted(set(_names(rungs)) - set(_HEADLINE))]
    kept = [one for one in names if any(rung.measured(one) for rung in rungs)]
    rows = [
        (
            str(rung.value),
            rung.verdict.value if rung.reports else "no launch",
            *(_shown(rung, one) for one in kept),
            rung.trouble or _why(rung),
        )
        for rung in rungs
    ]
    return table((name.upper(), "VERDICT", *(one.upper() for one in kept), "SAYS"), rows, width)


def _plot(name: str, rungs: Sequence[Launched]) -> Iterator[str]:
    """Draw throughput as bars, the longest the fastest."""
    most = max((_number(rung, SPEED) for rung in rungs), default=0)
    if not most:
        return
    yield ""
    yield f"{SPEED} by {name}"
    wide = max(len(str(rung.value)) for rung in rungs)
    for rung in rungs:
        bar = "█" * round(_BAR * _number(rung, SPEED) / most)
        yield f"{rung.value!s:>{wide}}  {bar} {_shown(rung, SPEED)}".rstrip()
    yield ""


def _names(rungs: Sequence[Launched]) -> Iterator[str]:
    for rung in rungs:
        for report in rung.reports:
            yield from (one.name for one in report.measurements)


def _number(rung: Launched, name: str) -> int:
    found = rung.measured(name)
    return found.value if found else 0


def _shown(rung: Launched, name: str) -> str:
    found = rung.measured(name)
    if found is None:
        return ""
    unit, per = _UNITS.get(found.unit, (found.unit, 1))
    spread = f" ± {found.spread / per:.1f}" if found.spread and per > 1 else ""
    amount = f"{found.value / per:.1f}" if per > 1 else str(found.value)
    return f"{amount}{spread} {unit}"


def _why(rung: Launched) -> str:
    bad = (report for report in rung.reports if report.verdict is not Verdict.PASS)
    return next((f"{one.gate}: {one.evidence[0]}" for one in bad if one.evidence), "")
