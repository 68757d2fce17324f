"""The gate judged from here says PASS only of tests that ran and passed; the rest is INVALID."""

from pathlib import Path

import pytest

from headway.control.fleet import Fleet
from headway.control.inventory.model import Host
from headway.control.rolling.outside import Counts, counted, described, judge, pytest_argv, verdict
from headway.wire.gate import Gate, Report, Where
from headway.wire.verdict import Verdict

HOST = Host("gpu1", "10.0.0.1", (), {}, port=2201, user="root", key_file="/key")


def judged(root: Path, source: str, deadline_s: int = 60) -> Report:
    """Judge a fleet that has these tests."""
    (root / "tests").mkdir()
    (root / "tests/test_engine.py").write_text(source)
    (root / "config").write_text("")
    gate = Gate(
        "outside", "outside", "llama", Where.OUTSIDE, deadline_s, params={"tests": ["tests"]}
    )
    return judge(Fleet(root), HOST, gate, root / "config")


WHOM = """
import os
def test_a():
    assert os.environ["HEADWAY_ADDRESS"] == "10.0.0.1"
    assert os.environ["HEADWAY_PART"] == "llama"
"""
SKIPPED = """
import pytest
@pytest.mark.skip(reason="not today")
def test_a():
    pass
"""


@pytest.mark.parametrize(
    ("source", "wanted", "words"),
    [
        (WHOM, Verdict.PASS, "1 passed"),
        ("def test_a(): assert 1 == 2, 'wrong model'\n", Verdict.FAIL, "wrong model"),
        (SKIPPED, Verdict.INVALID, "not today"),
        ("import nowhere\n", Verdict.INVALID, "1 not set up"),
    ],
)
def test_what_pytest_saw_is_the_verdict(
    tmp_path: Path, source: str, wanted: Verdict, words: str
) -> None:
    """Tests that really ran: a failure is FAIL; all skipped or not importable judged nothing."""
    report = judged(tmp_path, source)
    assert report.verdict is wanted
    assert words in "\n".join(report.evidence)
    assert report.evidence[-1].startswith("ask again: python3 -m pytest --hosts=ssh://gpu1 tests")


CASE = '<testcase classname="t" name="test_a">{}</testcase>'


@pytest.mark.parametrize(
    ("inside", "counts"),
    [
        ([], Counts()),
        ([""], Counts(passed=1)),
        (["", '<failure message="no&#10;tail"/>'], Counts(1, 1, lines=("test_a: no",))),
        (['<error message="no route"/>'], Counts(errors=1, lines=("test_a: no route",))),
        (['<skipped message="later"/>', ""], Counts(1, skipped=1, lines=("test_a: later",))),
        (
            ['<failure message="a"/><error message="b"/>'],
            Counts(failed=1, errors=1, lines=("test_a: a", "test_a: b")),
        ),
    ],
)
def test_results_are_counted(inside: list[str], counts: Counts) -> None:
    """One test may both fail and break at its end; a line tells of each that did not pass."""
    cases = "".join(CASE.format(one) for one in inside)
    assert counted(f"<testsuites><testsuite>{cases}</testsuite></testsuites>") == counts


def test_a_deadline_judges_nothing(tmp_path: Path) -> None:
    """Tests that do not end are INVALID, and ended."""
    report = judged(tmp_path, "import time\ndef test_a(): time.sleep(60)\n", deadline_s=2)
    assert report.verdict is Verdict.INVALID
    assert report.evidence[0] == "not done within 2 s"


def test_a_pass_needs_a_test_that_passed() -> None:
    """The table, whole."""
    assert verdict(Counts(passed=1)) is Verdict.PASS
    assert verdict(Counts(passed=1, skipped=3)) is Verdict.PASS
    assert verdict(Counts(passed=1, errors=1)) is Verdict.INVALID
    assert verdict(Counts(skipped=3)) is Verdict.INVALID
    assert verdict(Counts()) is Verdict.INVALID
    assert verdict(Counts(passed=9, failed=1, errors=1)) is Verdict.FAIL


def test_testinfra_reaches_the_host_as_headway_does(tmp_path: Path) -> None:
    """Address, port, user and key of the inventory, before the operator's own configuration."""
    (tmp_path / "config").write_text("Host *\n  Port 22\n")
    text = described(HOST, tmp_path / "config")
    assert text.splitlines() == [
        "Host gpu1",
        "  hostname 10.0.0.1",
        "  port 2201",
        "  user root",
        "  identityfile /key",
        "Host *",
        "  Port 22",
    ]
    gate = Gate("outside", "outside", "llama", params={"tests": ["a.py", "b"]})
    become = Host("gpu1", "10.0.0.1", (), {}, become=True)
    assert pytest_argv(become, gate)[-4:] == ["--hosts=ssh://gpu1", "--sudo", "a.py", "b"]
