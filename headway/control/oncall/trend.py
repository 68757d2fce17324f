"""`trend`: how a measurement moved over transitions and checks, a line a host."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from headway.control.desk import Desk
from headway.control.errors import HeadwayError, UsageError
from headway.control.near import near
from headway.control.telling import history
from headway.control.telling.amounts import measured
from headway.control.telling.history import Sample
from headway.control.telling.spark import sparkline
from headway.control.telling.table import table
from headway.wire.phase import Exit

DEFAULT = "decode"


@dataclass(frozen=True)
class Trend:
    """A measurement of one part of one host, oldest first; `releases` go with `values`."""

    host: str
    machine: str
    part: str
    gate: str
    name: str
    unit: str
    values: tuple[int, ...]
    at_ms: tuple[int, ...]
    releases: tuple[str, ...]

    @property
    def moved(self) -> str:
        """Say how far the newest is from the one before it, in percent."""
        if len(self.values) == 1 or not self.values[-2]:
            return ""
        percent = 100 * (self.values[-1] - self.values[-2]) / self.values[-2]
        return f"{percent:+.0f} %"


def trend(desk: Desk, metric: str, last: int) -> Exit:
    """Show what was measured of these hosts, from the fleet's history."""
    try:
        samples = history.samples(history.path_of(desk.fleet))
    except OSError as error:
        raise HeadwayError(str(error)) from None
    names = {host.name for host in desk.hosts}
    mine = [sample for sample in samples if sample.host in names]
    if not mine:
        raise UsageError("nothing was measured yet", hint="invoke check --host NAME --gate decode")
    found = tuple(trends(mine, metric, last))
    if not found:
        known = {word for sample in mine for word in words(sample)}
        raise UsageError(
            f"--metric: nothing is called {metric!r}; {near(metric, known)}",
            hint=f"invoke trend --metric {min(known)}",
        )
    if desk.json:
        desk.rows(found)
    else:
        desk.print(text(found, desk.width))
    return Exit.ACCEPTED


def words(sample: Sample) -> tuple[str, str, str]:
    """Say by what a measurement may be called: its gate, the gate's kind, its own name."""
    return sample.gate, sample.kind, sample.measurement.name


def trends(samples: Sequence[Sample], metric: str, last: int = 0) -> Iterator[Trend]:
    """Put together what belongs to one line, in the order of hosts and names."""

    def line(sample: Sample) -> tuple[str, str, str, str]:
        return sample.host, sample.part, sample.gate, sample.measurement.name

    wanted = sorted((one for one in samples if metric in words(one)), key=line)
    for (host, part, gate, name), several in groupby(wanted, key=line):
        rows = sorted(several, key=lambda one: one.at_ms)[-last:]
        newest = rows[-1]
        yield Trend(
            host,
            newest.machine,
            part,
            gate,
            name,
            newest.measurement.unit,
            tuple(row.measurement.value for row in rows),
            tuple(row.at_ms for row in rows),
            tuple(row.release for row in rows),
        )


def text(found: Sequence[Trend], width: int = 0) -> str:
    """Draw a sparkline a line, its least, most and newest number, and how far it moved."""
    rows = [
        (
            one.host,
            one.part,
            one.name,
            sparkline(one.values),
            measured(min(one.values), one.unit),
            measured(max(one.values), one.unit),
            measured(one.values[-1], one.unit),
            one.moved,
            one.releases[-1],
        )
        for one in found
    ]
    header = ("HOST", "PART", "METRIC", "TREND", "LEAST", "MOST", "NOW", "MOVED", "RELEASE")
    return table(header, rows, width)
