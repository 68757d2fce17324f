"""Checks judge described worlds as tests/cases/checks says, a file a kind."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from headway.wire.gate import Judgement, Wait
from tests.checks import tables

CASES = Path(__file__).parents[1] / "cases" / "checks"


def cases() -> list[Any]:
    """Read every case, its world laid over the base that its file states."""
    found = []
    for path in sorted(CASES.glob("*.yaml")):
        document = yaml.safe_load(path.read_text())
        for case in document["cases"]:
            world = {**document.get("base", {}), **case.get("world", {})}
            params = {**document.get("params", {}), **case.get("params", {})}
            whole = {**case, "world": world, "params": params}
            found.append(pytest.param(path.stem, whole, id=f"{path.stem}: {case['says']}"))
    return found


@pytest.mark.parametrize(("kind", "case"), cases())
def test_a_check_judges_this_world(kind: str, case: dict[str, Any]) -> None:
    """The verdict is the one stated ("WAIT" and what silence becomes), and evidence says why."""
    facts = case.get("subject", {})
    judged = None if facts is None else tables.subject(**facts)

    found = tables.answer(kind, case["params"], judged, tables.tools_of(case["world"]))

    if isinstance(found, Wait):
        verdict, evidence = f"WAIT {found.then.value}", found.reason
    else:
        verdict, evidence = found.verdict.value, "\n".join(found.evidence)
    assert verdict == case["verdict"], evidence
    assert verdict != "PASS" or "by hand: " in evidence, "whoever is paged asks again by hand"
    if "findings" in case:
        assert isinstance(found, Judgement)
        assert list(found.findings) == case["findings"]
    for wanted in case["evidence"]:
        assert re.search(wanted, evidence), f"{wanted!r} is not in: {evidence}"
    for unwanted in case.get("not_evidence", []):
        assert not re.search(unwanted, evidence), f"{unwanted!r} is in: {evidence}"


@pytest.mark.parametrize("kind", tables.kinds())
def test_every_check_has_cases_of_pass_and_not(kind: str) -> None:
    """A check without a case that it does not pass proves nothing; `outside` is judged elsewhere.

    Warm air is never the release's fault: `thermal` has no FAIL.
    """
    verdicts = {case.values[1]["verdict"] for case in cases() if case.values[0] == kind}

    other = {"outside": {"INVALID"}, "thermal": {"PASS", "INVALID"}}
    wanted = other.get(kind, {"PASS", "FAIL"})
    assert wanted <= verdicts
