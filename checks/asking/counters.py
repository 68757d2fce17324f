"""The engine's own counters, out of the Prometheus text that it shows."""

import functools
import re
import time
from dataclasses import dataclass
from decimal import Decimal
from typing import Dict, List, Mapping, Optional, Tuple

from headway.wire.compare import number
from headway.wire.tools import Unreached
from headway_checks.asking.service import OK, Service

_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


@dataclass(frozen=True)
class Sample:
    """One series of a metric and its value."""

    labels: Mapping[str, str]
    value: Decimal


@dataclass(frozen=True)
class Reading:
    """The table's counters at one time, added up over their labels; None: there is no such one."""

    at_us: int
    counted: Mapping[str, Optional[int]]
    page: bytes = b""

    def of(self, meaning: str) -> int:
        """Give a counter by its meaning; 0 where there is none."""
        return self.counted.get(meaning) or 0

    @property
    def steps(self) -> int:
        """Give a number that moves with the engine's work, whatever it shows of it."""
        return sum(map(self.of, ("heartbeat", "generated", "prompt", "cached")))

    @property
    def requests(self) -> int:
        """Give how many requests it works on or keeps waiting."""
        return self.of("running") + self.of("waiting")


def samples(page: bytes, name: str) -> Tuple[Sample, ...]:
    """Give every series of a metric by its full name, `name{label="value"}` those so labelled."""
    found = []
    series, _, picked = name.partition("{")
    wanted = set(_LABEL.findall(picked))
    for labels, text in _line(series).findall(page):
        seen, told = number(text.decode()), _LABEL.findall(labels.decode(errors="replace"))
        if seen is not None and wanted.issubset(told):
            found.append(Sample(dict(told), seen))
    return tuple(found)


def total(page: bytes, names: Tuple[str, ...]) -> Optional[Decimal]:
    """Add up a metric over its labels, under the first of its names that is there; or None."""
    for name in names:
        found = [one.value for one in samples(page, name)]
        if found:
            return sum(found, Decimal(0))
    return None


def read(service: Service, timeout_s: int = 5) -> Optional[Reading]:
    """Read all counters of the table; None where the engine shows no metrics."""
    try:
        answer = service.ask("metrics", timeout_s=timeout_s)
    except Unreached:
        return None
    if answer.status != OK:
        return None
    counted: Dict[str, Optional[int]] = {}
    for meaning, names in service.table.counters.items():
        found = total(answer.body, names)
        counted[meaning] = None if found is None else int(found)
    return Reading(time.monotonic_ns() // 1000, counted, answer.body)


def quantile_ms(before: bytes, after: bytes, names: Tuple[str, ...], percent: int) -> Optional[int]:
    """Give the upper edge of the bucket that holds this share of what a histogram took meanwhile.

    None where there is no such histogram, or nothing was taken; its last edge stands for more.
    """
    for name in names:
        was, now = (_buckets(page, name) for page in (before, after))
        edges = sorted(now)
        taken = [now[edge] - was.get(edge, Decimal(0)) for edge in edges]
        if taken and taken[-1] > 0:
            wanted = taken[-1] * percent / 100
            edge = next(edge for edge, count in zip(edges, taken) if count >= wanted)
            finite: List[Decimal] = [one for one in edges if one.is_finite()]
            return int(min(edge, finite[-1]) * 1000) if finite else None
    return None


def _buckets(page: bytes, name: str) -> Dict[Decimal, Decimal]:
    """Add up a histogram in seconds over its other labels, by upper edge."""
    found: Dict[Decimal, Decimal] = {}
    for one in samples(page, name + "_bucket"):
        edge = Decimal(one.labels.get("le", "NaN").replace("+Inf", "Infinity"))
        found[edge] = found.get(edge, Decimal(0)) + one.value
    return found


@functools.lru_cache(maxsize=256)
def _line(name: str) -> "re.Pattern[bytes]":
    return re.compile(rb"^%s(\{.*\})? (\S+)" % re.escape(name.encode()), re.MULTILINE)
