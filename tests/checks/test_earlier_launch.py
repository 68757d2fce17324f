"""What an earlier launch did never satisfies a gate on this one (DESIGN 8, test 8).

For every check there is: a world in which the earlier launch passes and the present one has shown
nothing yet, while all that the earlier one left behind (its process on the port, its journal, its
answers) is still there. A new check fails here until it has such a world.
"""

from pathlib import Path
from typing import Any

import pytest
import yaml

from headway.wire.gate import Judgement, Wait
from headway.wire.verdict import Verdict
from tests.checks import tables

FILE = Path(__file__).parents[1] / "cases" / "earlier_launch.yaml"
WORLDS: dict[str, Any] = yaml.safe_load(FILE.read_text())


@pytest.mark.parametrize("kind", tables.kinds())
def test_an_earlier_launch_answers_for_nothing(kind: str) -> None:
    """The earlier launch passes in its own time; asked of the new one, the same world does not."""
    assert kind in WORLDS, f"write a world for {kind} into {FILE.name}"
    case = WORLDS[kind]
    earlier, present = ({**case["both"], **case[when]} for when in ("earlier", "present"))
    unit = {"unit": case["unit"]} if "unit" in case else {}
    old = tables.subject(id="old", pid=100, cgroup="/system.slice/old.scope", **unit)
    new = tables.subject(**{**unit, **case.get("subject", {})})

    then = tables.answer(kind, case["params"], old, tables.tools_of(earlier))
    now = tables.answer(kind, case["params"], new, tables.tools_of(present))

    if kind != "outside":  # the controller judges that one
        assert isinstance(then, Judgement)
        assert then.verdict is Verdict.PASS, then.evidence
    verdict = now.then if isinstance(now, Wait) else now.verdict
    assert verdict is not Verdict.PASS


@pytest.mark.parametrize("kind", tables.kinds())
def test_a_check_keeps_to_its_form(kind: str) -> None:
    """Its first line says what it proves; Params is frozen; WHEN says nothing unknown."""
    module = tables.check(kind)

    assert module.__doc__
    assert module.__doc__.splitlines()[0].endswith(".")
    assert module.Params.__dataclass_params__.frozen
    assert getattr(module, "WHEN", "before") in ("before", "between", "last")
    assert getattr(module, "DEADLINE_S", 1) > 0
