"""What the services of the release said in their last launch, and journald of them."""

import functools
import json
import os
import re
from dataclasses import dataclass
from typing import Dict, Iterator, List, Tuple

from headway.runner.diagnosis import units
from headway.runner.diagnosis.ago import span
from headway.runner.diagnosis.ordering import Found
from headway.runner.diagnosis.seen import Line, Seen
from headway.runner.tools.journal import decoded
from headway.wire import engines
from headway.wire.engines import Pattern, matching
from headway.wire.evidence import shown
from headway.wire.loader import loads
from headway.wire.release import Part
from headway.wire.tools import Run

LINES = 400
LIMIT_S = 2
STALLS = 3  # lines in a row, ten seconds each, before an engine counts as stalled
HANGS_S = 60
_LAUNCHES = 2  # of a loop, before its newest one, which may just have begun
_SUPPRESSED = "a596d6fe7bfa4994828e72309e95d61e"
_VIA = re.compile(r"Channel \d+(?:/\d+)? : .* via (P2P|SHM|NET)/?\S*")
_NCCL = re.compile(r"NCCL version (\S+)")
_ROUTERS = re.compile(r"haproxy|litellm|nginx|router", re.IGNORECASE)
_FIELDS = (
    "MESSAGE,MESSAGE_ID,JOB_TYPE,_SYSTEMD_INVOCATION_ID,INVOCATION_ID,_PID,"
    "OBJECT_SYSTEMD_INVOCATION_ID"
)


@dataclass(frozen=True)
class Patterns:
    """Lines that mean the same whichever engine wrote them (lines.json).

    `causes` say why a start failed, `stalls` count when they repeat, `hangs` when nothing follows;
    `named` degrade a service that runs.
    """

    causes: Tuple[Pattern, ...]
    stalls: Tuple[Pattern, ...]
    hangs: Tuple[Pattern, ...]
    named: Tuple[Pattern, ...]
    routers: Tuple[Pattern, ...]


@functools.cache
def patterns() -> Patterns:
    """Read them once."""
    with open(os.path.dirname(__file__) + "/lines.json", "rb") as file:
        return loads(Patterns, file.read())


# --- looking ------------------------------------------------------------------------------------


def argv(unit: str) -> List[str]:
    """Read the newest lines of a unit, and of systemd and journald about it."""
    return [
        *("journalctl", "--quiet", "--no-pager", "--all", "--output=json", f"--lines={LINES}"),
        *(f"--output-fields={_FIELDS}", f"--unit={unit}"),
    ]


def look(run: Run, unit: str) -> Tuple[Line, ...]:
    """Read them; TimeoutError: journald does not answer."""
    ran = run(argv(unit), deadline_s=LIMIT_S)
    if ran.code is None:
        raise TimeoutError(f"journalctl: nothing within {LIMIT_S} s")
    rows = (json.loads(row) for row in ran.stdout.splitlines() if row.startswith(b"{"))
    return tuple(line(row) for row in rows)


def line(row: Dict[str, object]) -> Line:
    """Read an entry of the journal, and who wrote it about which launch."""
    by_systemd = row.get("_PID") == "1" or "OBJECT_SYSTEMD_INVOCATION_ID" in row
    names = ("INVOCATION_ID", "OBJECT_SYSTEMD_INVOCATION_ID", "_SYSTEMD_INVOCATION_ID")
    launch = next((str(row[name]) for name in names if row.get(name)), "")
    own = not by_systemd and "INVOCATION_ID" not in row
    text = " ".join(decoded(row.get("MESSAGE")).split())
    at_s = int(str(row.get("__REALTIME_TIMESTAMP", 0))) // 1_000_000
    kind = str(row.get("MESSAGE_ID", ""))
    again = kind == units.STOPPED and row.get("JOB_TYPE") != "stop"  # a part of a restart
    return Line(at_s, text, own, launch, "" if again else kind)


# --- what follows from it -----------------------------------------------------------------------


def probes(seen: Seen) -> Iterator[Found]:
    """Say by its own words why a service is not well; of a good one, what degrades it."""
    if "journal" in seen.unseen:
        yield Found("journal-silent", "", (seen.unseen["journal"],))
    for unit, part in seen.subjects.items():
        lines = seen.logs.get(unit, ())
        if lines:
            yield from _of_unit(seen, unit, part, lines)
        elif unit in seen.logs and seen.unit(unit).up:
            yield Found(
                "journal-empty", unit, (f"StandardOutput={seen.unit(unit)['StandardOutput']}",)
            )
    for unit, lines in seen.logs.items():
        if is_router(unit):
            yield from _router(unit, lines)


def _of_unit(seen: Seen, unit: str, part: Part, lines: Tuple[Line, ...]) -> Iterator[Found]:
    launch = seen.launch(unit)
    suppressed = [one.text for one in launch if one.kind == _SUPPRESSED]
    if suppressed:
        yield Found("journal-suppressed", unit, tuple(suppressed[-1:]))
    own = [one for one in launch if one.own]
    tables = _tables(seen, part)
    if not serves(seen, unit, part):
        values = {"port": str(next(iter(part.listens), ""))}
        yield from _failed(seen, unit, tables, values)
        yield from _hangs(seen, unit, own)
    yield from _stalls(unit, own)
    for table in tables:
        hits = ((matching(one.text, (*table.named, *patterns().named)), one) for one in own)
        for hit, one in hits:
            if hit is not None:
                yield Found(hit.finding, unit, (shown(one.text),))
    yield from _peers(unit, lines, own)


def serves(seen: Seen, unit: str, part: Part) -> bool:
    """Say whether a service runs and answered what it was asked; one without a port: it runs."""
    if not seen.unit(unit).up:
        return False
    mine = [one for one in seen.answers if one.port in part.listens]
    if not part.listens:
        return seen.unit(unit).number("NRestarts") == 0
    return bool(mine) and all(0 < one.status < 500 for one in mine)  # noqa: PLR2004 # HTTP


def said(
    texts: Tuple[str, ...], tables: Tuple[engines.Engine, ...], *, ended: bool
) -> Tuple[Tuple[str, str], ...]:
    """Find why a launch failed in what it said: (finding, line), the line that says best first."""
    common = ((matching(text, patterns().causes), text) for text in texts)
    found = {hit.finding: text for hit, text in reversed([*common]) if hit is not None}
    cause = engines.first_cause(texts, tables, ended=ended)
    if cause is not None and cause.pattern.finding not in found:
        found[cause.pattern.finding] = cause.line
    return tuple(found.items())


def _failed(
    seen: Seen, unit: str, tables: Tuple[engines.Engine, ...], values: Dict[str, str]
) -> Iterator[Found]:
    """Look through the newest launches until one says why; older ones only where systemd loops."""
    lines = seen.logs[unit]
    loops = seen.unit(unit).number("NRestarts")
    launches = list(dict.fromkeys(one.launch for one in reversed(lines) if one.launch))
    for launch in launches[: 1 + min(loops, _LAUNCHES)]:
        texts = tuple(one.text for one in lines if one.own and one.launch == launch)
        ended = launch != launches[0] or not seen.unit(unit).up
        found = said(texts, tables, ended=ended)
        for finding, text in found:
            yield Found(finding, unit, (shown(text),), values)
        if found:
            return


def _hangs(seen: Seen, unit: str, own: List[Line]) -> Iterator[Found]:
    """Know a start that stopped in the middle of a thing by its last line."""
    if not own or not seen.unit(unit).up:
        return
    quiet = seen.now_ms // 1000 - own[-1].at_s
    hit = matching(own[-1].text, patterns().hangs)
    if hit is not None and quiet > HANGS_S:
        yield Found(hit.finding, unit, (shown(own[-1].text), f"nothing since {span(quiet)}"))


def _stalls(unit: str, own: List[Line]) -> Iterator[Found]:
    recent = own[-4 * STALLS :]
    for pattern in patterns().stalls:
        hits = [one for one in recent if matching(one.text, (pattern,))]
        if len(hits) >= STALLS:
            yield Found(
                pattern.finding, unit, (shown(hits[-1].text), f"{len(hits)} times at the end")
            )


def _peers(unit: str, lines: Tuple[Line, ...], own: List[Line]) -> Iterator[Found]:
    """Compare the ways cards talk now with those of earlier launches of the same service."""
    now = _ways(own)
    if not now or set(now) == {"P2P"}:
        return
    worse = next(text for way, text in now.items() if way != "P2P")
    mine = {one.launch for one in own}
    before = [one for one in lines if one.own and one.launch not in mine]
    then = _ways(before)
    if "P2P" in then:
        versions = (_version(before), _version(own))
        told = (
            f"NCCL {versions[0]} then, {versions[1]} now" if all(versions) else shown(then["P2P"])
        )
        yield Found("p2p-lost", unit, (shown(worse), told))
    yield Found("nccl-not-p2p", unit, (shown(worse),))


def _ways(lines: List[Line]) -> Dict[str, str]:
    hits = ((_VIA.search(one.text), one.text) for one in lines)
    return {hit[1]: text for hit, text in hits if hit is not None}


def _version(lines: List[Line]) -> str:
    hits = [hit for one in lines if (hit := _NCCL.search(one.text))]
    return hits[-1][1] if hits else ""


def is_router(unit: str) -> bool:
    """Know a router's unit by its name."""
    return _ROUTERS.search(unit) is not None


def _router(unit: str, lines: Tuple[Line, ...]) -> Iterator[Found]:
    """Believe a router's last word about its servers."""
    for line in reversed(lines):
        if matching(line.text, patterns().routers):
            yield Found("router-sees-none", unit, (shown(line.text),))
            return
        if " is UP" in line.text:
            return


def _tables(seen: Seen, part: Part) -> Tuple[engines.Engine, ...]:
    """Give the table of the part's engine, as its gates name it; all of them where none does."""
    gates = seen.record.criteria.gates if seen.record.criteria else ()
    names = [str(gate.params.get("engine", "")) for gate in gates if gate.part == part.name]
    known = [name for name in dict.fromkeys(names) if name in engines.names()]
    return tuple(engines.engine(name) for name in known or engines.names())


def table_of(seen: Seen, part: Part) -> Tuple[engines.Engine, ...]:
    """Give the one table of the part's engine; () where its gates name none."""
    found = _tables(seen, part)
    return found if len(found) == 1 else ()
