"""The air this machine breathes is cool enough, before its cards work and while they do."""

import json
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import List, Optional, Tuple
from urllib.parse import quote

from headway.wire.compare import number
from headway.wire.evidence import by_hand, shown
from headway.wire.gate import Answered, Judgement, Measurement, Subject
from headway.wire.tools import Tools, Unreached
from headway.wire.verdict import Verdict

WHEN = "before"
DURING = True
"""Asked again and again while the other gates of its part put the cards to work."""
DEADLINE_S = 30
_OK = 200
_SENSORS = ["ipmitool", "sdr", "type", "Temperature"]
_SENSOR = re.compile(r"^(?P<name>[^|]+?)\s*\|.*\|\s*(?P<celsius>-?\d+(?:\.\d+)?) degrees C\s*$")


@dataclass(frozen=True)
class Params:
    """The limit in degrees Celsius, and exactly one place to read the temperature from.

    `prometheus` is a server's base URL, asked for `query`; `exporter` is a metrics page, read for
    the series `series` (a regular expression over its name and labels); `ipmi` is a regular
    expression over the names of the machine's own sensors. Of several values the highest counts.
    `every_s` is how often it is read while other gates are asked.
    """

    limit_c: int
    prometheus: str = ""
    query: str = ""
    exporter: str = ""
    series: str = ""
    ipmi: str = ""
    every_s: int = 15


@dataclass(frozen=True)
class _Read:
    """Temperatures by the name of what measured them, or why there are none."""

    found: Tuple[Tuple[str, Decimal], ...]
    trouble: str
    again: str


def judge(params: Params, _subject: Optional[Subject], tools: Tools) -> Answered:
    """Read it once. Too warm is INVALID: the release is not at fault, and nothing was judged."""
    sources = [
        read
        for given, read in (
            (params.prometheus, _from_prometheus),
            (params.exporter, _from_exporter),
            (params.ipmi, _from_ipmi),
        )
        if given
    ]
    if len(sources) != 1:
        said = "give exactly one of prometheus, exporter and ipmi to read the temperature from"
        return Judgement(Verdict.INVALID, (said,))
    seen = sources[0](params, tools)
    if seen.trouble:
        return Judgement(Verdict.INVALID, (seen.trouble, seen.again))
    name, celsius = max(seen.found, key=lambda one: one[1])
    measured = (Measurement("intake", int(celsius * 1000), "m°C", len(seen.found)),)
    said = f"{name}: {celsius} °C, limit {params.limit_c} °C"
    if celsius >= params.limit_c:
        return Judgement(Verdict.INVALID, (f"too warm to judge: {said}", seen.again), measured)
    return Judgement(Verdict.PASS, (said, seen.again), measured)


def _from_prometheus(params: Params, tools: Tools) -> _Read:
    url = f"{params.prometheus.rstrip('/')}/api/v1/query?query={quote(params.query)}"
    again = by_hand(["curl", "-sS", url])
    body = _body(url, tools)
    if isinstance(body, str):
        return _Read((), body, again)
    try:
        rows = json.loads(body)["data"]["result"]
        values = [(_series(row["metric"]), number(row["value"][1])) for row in rows]
    except (ValueError, LookupError, TypeError):
        said = f"{url} answers what is no vector: {shown(body.decode(errors='replace'))}"
        return _Read((), said, again)
    found = tuple((name, value) for name, value in values if value is not None)
    return _Read(found, "" if found else f"no series answers {params.query!r}", again)


def _from_exporter(params: Params, tools: Tools) -> _Read:
    again = by_hand(["curl", "-sS", params.exporter])
    body = _body(params.exporter, tools)
    if isinstance(body, str):
        return _Read((), body, again)
    found: List[Tuple[str, Decimal]] = []
    for row in body.decode(errors="replace").splitlines():
        name, _, text = row.rpartition(" ")
        value = number(text)
        if value is not None and not row.startswith("#") and re.search(params.series, name):
            found.append((name, value))
    return _Read(tuple(found), "" if found else f"no series matches {params.series!r}", again)


def _from_ipmi(params: Params, tools: Tools) -> _Read:
    ran = tools.run(_SENSORS, deadline_s=DEADLINE_S)
    again = by_hand(_SENSORS)
    if ran.code != 0:
        why = ran.stderr.decode(errors="replace").strip().splitlines()[:1] or ["no answer"]
        return _Read((), f"the machine's sensors do not answer: {shown(why[0])}", again)
    rows = filter(None, map(_SENSOR.match, ran.stdout.decode(errors="replace").splitlines()))
    found = tuple(
        (row["name"], Decimal(row["celsius"]))
        for row in rows
        if re.search(params.ipmi, row["name"])
    )
    return _Read(found, "" if found else f"no sensor is called like {params.ipmi!r}", again)


def _body(url: str, tools: Tools) -> "bytes | str":
    """Fetch a page, or say why it is not to be had."""
    try:
        answer = tools.http.ask("GET", url, timeout_s=10)
    except Unreached as error:
        return str(error)
    return answer.body if answer.status == _OK else f"{url} answers {answer.status}"


def _series(metric: "dict[str, str]") -> str:
    """Write a series as Prometheus does."""
    name = metric.get("__name__", "")
    labels = ",".join(
        f'{key}="{value}"' for key, value in sorted(metric.items()) if key != "__name__"
    )
    return f"{name}{{{labels}}}"
