"""A gate that watches beside another one calls it off: nothing is judged, and it is said why."""

import time
from collections.abc import Callable
from functools import partial
from types import ModuleType, SimpleNamespace
from typing import Any, cast

from headway.runner import judge
from headway.runner.beside import Beside, beside
from headway.wire.gate import Answered, Gate, Judgement, Wait
from headway.wire.tools import Tools
from headway.wire.verdict import Verdict
from tests.checks import tables

THERMAL = Gate("air", "thermal", "web", params={"limit_c": 30, "ipmi": "Inlet", "every_s": 0})
COOL, WARM = (f"Inlet Temp  | 04h | ok  |  7.1 | {celsius} degrees C" for celsius in (23, 31))


def watching(check: ModuleType, tools: Tools, gate: Gate = THERMAL) -> Beside:
    """Make a watch of one gate."""
    return Beside(((gate, check),), lambda _gate: tools)


def until(so: Callable[[], object]) -> None:
    """Wait a second at most."""
    end = time.monotonic() + 1
    while not so() and time.monotonic() < end:
        time.sleep(0.001)


def test_air_that_gets_warm_makes_a_pass_unjudged() -> None:
    """What was measured is kept as evidence, and proves nothing."""
    world: dict[str, Any] = {"run": {"stdout": COOL}}
    with watching(tables.check("thermal"), tables.tools_of(world)) as watch:
        time.sleep(0.01)
        assert watch.warning is None
        world["run"]["stdout"] = WARM
        until(lambda: watch.warning)
    found = watch.ends(Judgement(Verdict.PASS, ("92 tok/s",)))
    assert found.verdict is Verdict.INVALID
    assert found.evidence[0] == (
        "called off by gate air: too warm to judge: Inlet Temp: 31 °C, limit 30 °C"
    )
    assert found.evidence[-1] == "92 tok/s"


def test_cool_air_changes_nothing() -> None:
    """Nor does it cost anything to leave at once."""
    answer = Judgement(Verdict.FAIL, ("wrong",))
    with watching(tables.check("thermal"), tables.tools_of({"run": {"stdout": COOL}})) as watch:
        pass
    assert watch.ends(answer) is answer


def check(answers: Callable[[], Answered]) -> ModuleType:
    """Make a check that gives this answer."""
    asked = SimpleNamespace(Params=tables.check("thermal").Params, judge=lambda *_: answers())
    return cast("ModuleType", asked)


def broken() -> Answered:
    """Be an operator's check with a fault."""
    raise KeyError("inlet")


def test_a_watch_that_cannot_see_calls_off_as_well() -> None:
    """It broke, it has nothing yet, or its parameters do not fit: nobody watched."""
    cases = [
        (check(broken), THERMAL, "check thermal broke: KeyError"),
        (check(lambda: Wait("no answer yet")), THERMAL, "no answer yet"),
        (check(broken), Gate("air", "thermal", "web"), "key 'limit_c' is missing"),
    ]
    for module, gate, says in cases:
        with watching(module, tables.tools_of({}), gate) as watch:
            until(partial(getattr, watch, "warning"))
        assert watch.warning is not None
        assert says in watch.warning.evidence[0]


def test_a_gate_is_watched_by_those_of_its_own_part() -> None:
    """And none that watches is watched."""
    decode = Gate("decode", "decode", "web")
    other = Gate("air", "thermal", "other")
    when = {"thermal": judge.when(tables.check("thermal")), "decode": ("after",)}
    assert when["thermal"] == ("before", "during")
    gates = (decode, THERMAL, other)
    assert beside(decode, gates, lambda kind: when[kind]) == (THERMAL,)
    assert beside(THERMAL, gates, lambda kind: when[kind]) == ()
