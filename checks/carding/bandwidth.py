"""An all-reduce over all cards in the engine's own environment: right, by what, and how fast."""

from dataclasses import dataclass
from statistics import median, pstdev
from typing import Any, Dict, List, Tuple

from headway.wire.evidence import by_hand, shown, some, tail
from headway.wire.gate import Judgement, Measurement
from headway.wire.tools import Ran, Tools
from headway.wire.unit_text import set_values
from headway.wire.verdict import Verdict
from headway_checks.carding import inside, trying
from headway_checks.carding.transports import Start, start_of

LONGEST_S = 20
MEASURED = "allreduce"
"""Bus bandwidth in MB/s: algorithm bandwidth (bytes / time) times 2 (n - 1) / n, as nccl-tests
words it, so that a figure holds for any number of cards."""


@dataclass(frozen=True)
class Expected:
    """The transport of every pair ("" is any), the least GB/s, and the most below the baseline."""

    via: str
    min_gbps: int
    slower_percent: int


def judged(expected: Expected, seconds: int, tools: Tools) -> Judgement:
    """Run it, 256 MiB a card and `seconds` at most, and weigh what it says."""
    allowed_s = min(seconds, LONGEST_S, max(1, tools.left_s() - 5))
    if not seconds:
        return Judgement(Verdict.PASS, ("no run is asked for between stop and start", _again()))
    ran = trying.inside_unit(
        tools, ["all-reduce", str(allowed_s), trying.program(tools)], allowed_s
    )
    said, lines = inside.results(ran.stdout)
    start = start_of(lines)
    troubles = [one for one in said if "trouble" in one]
    timed = next((one for one in said if "times_us" in one), None)
    if troubles:
        return _troubled(troubles, start)
    if timed is None:
        return _unfinished(ran, said, start, allowed_s)
    return _weighed(expected, timed, start, tools)


def _weighed(expected: Expected, timed: Dict[str, Any], start: Start, tools: Tools) -> Judgement:
    rates = bus_mb_s(timed["times_us"], timed["bytes"], timed["ranks"])
    rate = int(median(rates))
    measured = Measurement(MEASURED, rate, "MB/s", len(rates), int(pstdev(rates)))
    pinned = tools.baseline.of(MEASURED) if tools.baseline else None
    wrong: Dict[str, List[str]] = {
        "nccl-not-applied": start.not_taken(set_values(tools.part, tools.host.content)),
        "nccl-not-p2p": start.other_than(expected.via) if expected.via else [],
        "nccl-slow": [],
    }
    if rate < 1000 * expected.min_gbps:
        wrong["nccl-slow"].append(f"{gb(rate)}, {expected.min_gbps} GB/s are the least")
    if pinned and 100 * rate < (100 - expected.slower_percent) * pinned.value:
        said = f"{gb(rate)}, more than {expected.slower_percent} % below {gb(pinned.value)}"
        wrong["nccl-slow"].append(f"{said} of {tools.baseline.name if tools.baseline else ''}")
    found = {name: lines for name, lines in wrong.items() if lines}
    sized = f"{timed['bytes'] // inside.MIB} MiB over {timed['ranks']} cards"
    evidence = (
        *(line for lines in found.values() for line in some(lines)),
        f"all-reduce of {sized}: {gb(rate)} on the bus, median of {len(rates)}, every value right",
        start.word(),
        f"by {timed['nccl']}",
        _again(),
    )
    verdict = Verdict.FAIL if found else Verdict.PASS
    return Judgement(verdict, evidence, (measured,), tuple(found))


def bus_mb_s(times_us: List[int], size: int, ranks: int) -> List[int]:
    """Give the bus bandwidth of each round in MB/s: a byte a microsecond is one."""
    return [2 * (ranks - 1) * size // (ranks * max(1, us)) for us in times_us]


def gb(mb_s: int) -> str:
    """Word a rate as people do."""
    return f"{mb_s / 1000:.1f} GB/s"


def _troubled(troubles: List[Dict[str, Any]], start: Start) -> Judgement:
    """Tell wrong numbers and failures of NCCL apart from what is lacking to ask at all."""
    said = tuple(shown(f"rank {one['rank']}: {one['trouble']}") for one in troubles)
    wrong = [one for one in troubles if one["trouble"].startswith("wrong values")]
    if wrong:
        return Judgement(Verdict.FAIL, (*said, start.word()), (), ("nccl-wrong-values",))
    lacking = all("cannot open shared object" in one["trouble"] for one in troubles)
    return Judgement(
        Verdict.INVALID if lacking else Verdict.FAIL, (*said, *start.refused, _again())
    )


def _unfinished(ran: Ran, said: List[Dict[str, Any]], start: Start, allowed_s: int) -> Judgement:
    if any(one.get("ranks") == 1 for one in said):
        return Judgement(Verdict.INVALID, ("one card is seen: there is nobody to talk to",))
    if ran.code is None or any("late" in one for one in said) or ran.took_ms >= allowed_s * 1000:
        where = start.hanging() or ["every rank came through, and the first all-reduce hangs"]
        silent = ["no rank began within the time"] if not start.begun else where
        late = f"no end after {allowed_s} s"
        return Judgement(Verdict.FAIL, (late, *some(silent), *start.refused), (), ("nccl-hang",))
    why: Tuple[str, ...] = tail("it said", ran.stderr) or (f"it ended with code {ran.code}",)
    return Judgement(Verdict.INVALID, ("the run did not come about", *why, _again()))


def _again() -> str:
    return by_hand(["all_reduce_perf", "-b", "256M", "-e", "256M", "-g", "2", "-c", "1"])
