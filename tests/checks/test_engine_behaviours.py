"""Gates judge what engines do, as tests/cases/engine_behaviours says: verdict and evidence.

The engine is a stand-in (tests/engines/standin): it speaks like one of the four and breaks as the
case says. Everything else that judges is the real thing, see tests/engines/judged.py.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from headway.wire.loader import load
from tests.engines.judged import Asked, Unit, misses, report_of
from tests.engines.launch import standin

CASES = Path(__file__).parents[1] / "cases/engine_behaviours"


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


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_gates_judge_this_behaviour(path: Path, tmp_path: Path) -> None:
    """Each gate's verdict, the fate of the launch and the lines that decided."""
    case = case_of(path)
    with standin(tmp_path, case.argv, case.env, engine=case.engine, **case.behaviour) as engine:
        unit = Unit(engine)
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
            report = report_of(asked, unit, tmp_path, case.engine)

            told = "\n".join((f"{asking.gate} of {case.says}:", *report.evidence))
            assert (report.verdict.value, report.fate.value) == (asking.verdict, asking.fate), told
            assert misses(report, asking.evidence, asking.not_evidence) == [], told
