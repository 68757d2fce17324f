"""Gates judge what engines do, as tests/cases/engine_behaviours says: verdict and evidence.

The engine is a stand-in (tests/engines/standin): it speaks like one of the four and breaks as the
case says. Everything else that judges is the real thing, see tests/engines/judged.py.
"""

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from headway.wire import engines
from headway.wire.gate import Report
from headway.wire.loader import load
from tests.engines.judged import Asked, Unit, misses, report_of
from tests.engines.launch import standin

CASES = Path(__file__).parents[1] / "cases/engine_behaviours"
AT_ONCE = 6
MEASURING = {"decode", "burst", "soak"}  # gates whose numbers others beside them would spoil
ROWS = {  # the table of DESIGN 5; a case names its row in its first line
    "wrong, empty or misplaced answer": "FAIL",
    "DIED": "FAIL",
    "no answer within the start deadline": "FAIL",
    "TAKEN or REPLACED": "INVALID",
    "our deadline, our limit, noise, other clients": "INVALID",
    "nothing to judge by": "INVALID",
}


@dataclass(frozen=True)
class Asking:
    """A gate that is asked, and what it must say. `turn` are knobs turned before.

    So many ms after it is asked, somebody stops the unit or puts another launch in its place.
    """

    gate: str
    verdict: str
    params: dict[str, Any] = field(default_factory=dict)
    turn: dict[str, Any] = field(default_factory=dict)
    deadline_s: int = 5
    stopped_ms: int = 0
    replaced_ms: int = 0
    baseline: dict[str, int] = field(default_factory=dict)
    fate: str = "SAME"
    evidence: tuple[str, ...] = ()
    not_evidence: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Case:
    """A behaviour of an engine. `argv` are options it was given, `meant` those of the release."""

    says: str
    engine: str
    gates: tuple[Asking, ...]
    behaviour: dict[str, Any] = field(default_factory=dict)
    argv: tuple[str, ...] = ()
    meant: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)


FILES = sorted(CASES.glob("*.yaml"))


def case_of(path: Path) -> Case:
    """Read one case."""
    return load(Case, yaml.safe_load(path.read_text()), (path.stem,))


def reports_of(case: Case, folder: Path) -> list[Report]:
    """Ask all gates of a case about one launch."""
    with standin(folder, case.argv, case.env, engine=case.engine, **case.behaviour) as engine:
        unit, reports = Unit(engine), []
        for asking in case.gates:
            if asking.turn:
                engine.turn(**asking.turn)
            asked = Asked(
                gate=asking.gate,
                params=asking.params,
                deadline_s=asking.deadline_s,
                stopped_ms=asking.stopped_ms,
                replaced_ms=asking.replaced_ms,
                baseline=asking.baseline,
                meant=case.meant,
            )
            reports.append(report_of(asked, unit, folder, case.engine))
        return reports


@pytest.fixture(scope="module")
def waited(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[Path, Future[list[Report]]]:
    """Ask where nothing is measured, several at once: such cases mostly wait for a deadline."""
    names = {item.name for item in request.session.items}
    chosen = [path for path in FILES if f"test_gates_judge_this_behaviour[{path.stem}]" in names]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return {
            path: pool.submit(reports_of, case_of(path), tmp_path_factory.mktemp(path.stem))
            for path in chosen
            if MEASURING.isdisjoint(asking.gate for asking in case_of(path).gates)
        }


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_gates_judge_this_behaviour(
    path: Path, waited: dict[Path, Future[list[Report]]], tmp_path: Path
) -> None:
    """Each gate's verdict, the fate of the launch and the lines that decided."""
    case = case_of(path)
    reports = waited[path].result() if path in waited else reports_of(case, tmp_path)
    for asking, report in zip(case.gates, reports, strict=True):
        told = "\n".join((f"{asking.gate} of {case.says}:", *report.evidence))
        assert (report.verdict.value, report.fate.value) == (asking.verdict, asking.fate), told
        assert set(asking.findings) <= set(report.findings), told
        assert misses(report, asking.evidence, asking.not_evidence) == [], told


@pytest.mark.parametrize(("row", "verdict"), ROWS.items())
def test_a_row_of_the_table_of_verdicts_has_a_case(row: str, verdict: str) -> None:
    """The first line of such a case is `# DESIGN 5: ` and the row's name."""
    paths = [path for path in FILES if path.read_text().startswith(f"# DESIGN 5: {row}\n")]

    assert verdict in {asking.verdict for path in paths for asking in case_of(path).gates}


def test_there_are_30_behaviours_and_every_engine() -> None:
    """Sound engines among them: a gate that fails whatever it sees proves nothing."""
    cases = [case_of(path) for path in FILES]
    broken = [case for case in cases if any(one.verdict != "PASS" for one in case.gates)]

    assert len(broken) >= 30
    assert {case.engine for case in cases if case not in broken} == set(engines.names())
