"""The worked examples of docs/harnesses.md judge what real harnesses printed."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from headway.wire.gate import Judgement
from headway.wire.verdict import Verdict
from tests.checks import tables

REPO = Path(__file__).parents[2]
BENCH = REPO / "tests/cases/bench"
_BLOCK = re.compile(r"```yaml\n# fixture: (\S+)\n(.*?)```", re.DOTALL)
_OWN = ("name", "deadline_s")


def examples() -> dict[str, dict[str, Any]]:
    """Read the gates that the page shows, by the fixture each is tried on."""
    text = (REPO / "docs/harnesses.md").read_text()
    return {name: yaml.safe_load(block)[0]["command"] for name, block in _BLOCK.findall(text)}


def judged(name: str, printed: str, code: int = 0) -> Judgement:
    """Ask the example's gate with this output of its command."""
    params = {key: value for key, value in examples()[name].items() if key not in _OWN}
    world = {"run": {"stdout": printed, "code": code}}
    found = tables.answer("command", params, tables.subject(), tables.tools_of(world))
    assert isinstance(found, Judgement)
    return found


@pytest.mark.parametrize("name", sorted(path.name for path in BENCH.glob("*.[jt][sx]*")))
def test_every_example_passes_what_its_harness_printed(name: str) -> None:
    """And keeps the numbers it compared, fractions in thousandths."""
    found = judged(name, (BENCH / name).read_text())
    assert found.verdict is Verdict.PASS, found.evidence
    if name == "lm-eval.json":
        kept = {one.name: (one.value, one.unit) for one in found.measurements}
        assert kept["results/needle_local/exact_match,strip"] == (833, "thousandths")


def put(path: str, value: Any) -> Callable[[Any], None]:
    """Make a change of one place in a document."""

    def change(document: Any) -> None:
        *steps, last = path.split("/")
        for step in steps:
            document = document[int(step) if isinstance(document, list) else step]
        document[last] = value

    return change


CASES: list[tuple[str, Callable[[Any], None], Verdict, str]] = [
    ("vllm-bench.json", put("completed", 0), Verdict.INVALID, "completed is 0: at least 8 samples"),
    ("vllm-bench.json", put("failed", 1), Verdict.FAIL, "failed is 1, expected: == 0"),
    ("vllm-bench.json", put("p95_ttft_ms", 501.5), Verdict.FAIL, "p95_ttft_ms is 501.5"),
    (
        "guidellm.json",
        put("benchmarks/0/metrics/request_totals/successful", 0),
        Verdict.INVALID,
        "at least 6 samples",
    ),
    (
        "guidellm.json",
        put("benchmarks/0/metrics/request_totals/errored", 1),
        Verdict.FAIL,
        "errored is 1",
    ),
    ("aiperf.json", put("request_count", None), Verdict.INVALID, "there is no 'request_count/avg'"),
    ("aiperf.json", put("is_complete", False), Verdict.FAIL, "is_complete is False"),
    (
        "lm-eval.json",
        put("n-samples/needle_local/effective", 5),
        Verdict.INVALID,
        "effective is 5: at least 6 samples",
    ),
    (
        "lm-eval.json",
        put("results/needle_local/exact_match,strip", float("nan")),
        Verdict.INVALID,
        "not both numbers",
    ),
    (
        "lm-eval.json",
        put("results/needle_local/exact_match,strip", 0.5),
        Verdict.FAIL,
        "exact_match,strip is 0.5",
    ),
]


@pytest.mark.parametrize(("name", "change", "verdict", "says"), CASES)
def test_a_run_that_proves_nothing_or_too_little_is_told_apart(
    name: str, change: Callable[[Any], None], verdict: Verdict, says: str
) -> None:
    """Zero collected and NaN are INVALID; a threshold missed is FAIL."""
    document = json.loads((BENCH / name).read_text())
    change(document)
    found = judged(name, json.dumps(document))
    assert found.verdict is verdict, found.evidence
    assert says in "\n".join(found.evidence)


@pytest.mark.parametrize(
    ("printed", "code", "verdict", "says"),
    [
        ("3 skipped in 0.01s", 0, Verdict.INVALID, "it judged nothing: at least 1 is needed"),
        ("no tests ran in 0.00s", 5, Verdict.INVALID, "code 5 means that nothing was judged"),
        ("1 failed, 3 passed in 0.1s", 1, Verdict.FAIL, "exit code 1, 0 expected"),
    ],
)
def test_all_skipped_and_none_collected_are_no_pass(
    printed: str, code: int, verdict: Verdict, says: str
) -> None:
    """Pytest leaves with 0 when every test was skipped."""
    found = judged("pytest.txt", printed, code)
    assert found.verdict is verdict, found.evidence
    assert says in found.evidence[0]


def test_inside_is_the_engines_own_environment() -> None:
    """Its variables and programs are there; what of them is secret is not shown."""
    world = {
        "run": {"stdout": "1 passed"},
        "environ": {200: {"PATH": "/bin", "VLLM_API_KEY": "canary-key"}},
        "argv": {200: ["/opt/venv/bin/python3", "serve"]},
    }
    tools = tables.tools_of(world)
    params = {"argv": ["pytest"], "inside": True, "env": {"SEED": "1"}}
    found = tables.answer("command", params, tables.subject(), tools)
    assert isinstance(found, Judgement)
    asked = getattr(tools.http, "asked")[-1]  # noqa: B009 # the table stands behind every tool
    assert "'PATH': '/opt/venv/bin:/bin'" in asked
    assert "'VLLM_API_KEY': 'canary-key'" in asked
    assert "'SEED': '1'" in asked
    assert "canary-key" not in "\n".join(found.evidence)
    assert found.evidence[-1].endswith("pytest   # in the environment of the serving process")
    gone = tables.answer("command", params, None, tools)
    assert isinstance(gone, Judgement)
    assert gone.verdict is Verdict.INVALID
