"""Each lint rule: bad text is found at its line, good text is left alone. Cases are data."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from headway.control.lint.environments import environment_findings
from headway.control.lint.finding import WARNINGS, Hit, finding
from headway.control.lint.routers import router_hits
from headway.control.lint.scripts import script_hits
from headway.control.lint.stacks import stack_findings, supervisor_hits, unit_starts
from headway.control.lint.units import seconds, text_hits, unit_hits
from headway.control.lint.urls import url_hits
from headway.control.rendering.compose import Project, read
from headway.wire.findings import known

CASES = Path(__file__).parents[2] / "cases" / "lint"
DOCS = Path(__file__).parents[3] / "docs" / "lint.md"
Case = dict[str, Any]


def cases(file: str) -> dict[str, Case]:
    """Read the cases of one kind of text."""
    found: dict[str, Case] = yaml.safe_load((CASES / file).read_text())
    return found


SCRIPTS, UNITS, TEXTS = cases("scripts.yaml"), cases("units.yaml"), cases("texts.yaml")
ROUTERS, STACKS = cases("routers.yaml"), cases("stacks.yaml")


def check(case: Case, hits: list[Hit]) -> None:
    """Compare what was found with the case, in any order, and see that each can be told."""
    found = sorted([hit.line, hit.rule] for hit in hits)
    assert found == sorted(case.get("finds", []))
    for hit in hits:
        assert finding("a.service", hit.line, hit.rule, hit.detail).instead


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts(name: str) -> None:
    """Shell scripts."""
    check(SCRIPTS[name], list(script_hits(SCRIPTS[name]["script"])))


@pytest.mark.parametrize("name", UNITS)
def test_units(name: str) -> None:
    """Unit files."""
    case = UNITS[name]
    what = {"engine": case.get("engine", False), "journal": case.get("journal", False)}
    judged = unit_hits(case.get("name", "a.service"), case["unit"], **what)
    check(case, [*text_hits(case["unit"]), *judged])


@pytest.mark.parametrize("name", TEXTS)
def test_texts(name: str) -> None:
    """URLs in any text file."""
    check(TEXTS[name], list(url_hits(TEXTS[name]["text"])))


@pytest.mark.parametrize("name", ROUTERS)
def test_routers(name: str) -> None:
    """Router configs: what becomes of a path on its way."""
    check(ROUTERS[name], list(router_hits(ROUTERS[name]["text"])))


def project(case: Case) -> Project:
    """Read the Compose files of a case, named a.yaml and b.yaml."""
    named = zip(("a.yaml", "b.yaml"), case["files"], strict=False)
    return read(list(named), case.get("env", {}))


@pytest.mark.parametrize("name", [name for name in STACKS if "unit" not in STACKS[name]])
def test_stacks(name: str) -> None:
    """Compose projects, at FILE:LINE."""
    case = STACKS[name]
    engines = {
        service: (engine, load) for service, (engine, load) in case.get("engines", {}).items()
    }
    options = {"owns": case.get("owns"), "secrets": case.get("secrets", ())}
    told = list(stack_findings(project(case), engines=engines, **options))
    assert [[f"{one.file}:{one.line}", one.rule] for one in told] == case.get("finds", [])
    assert all(one.instead for one in told)


@pytest.mark.parametrize("name", [name for name in STACKS if "unit" in STACKS[name]])
def test_supervisors(name: str) -> None:
    """A unit that runs `docker compose up`."""
    case = STACKS[name]
    assert unit_starts(case["unit"])
    check(case, list(supervisor_hits(case["unit"], project(case))))


@pytest.mark.parametrize(
    ("variable", "rules"),
    [
        ("NCCL_P2P_LEVEL=SYS", []),
        ("NCCL_P2P_LEVEL=4", []),
        ("NCCL_P2P_LEVEL=sys", ["nccl-level-unknown"]),
        ("NCCL_P2P_LEVEL=NODE", ["nccl-level-unknown"]),
        ("NCCL_NET_GDR_LEVEL=FAR", ["nccl-level-unknown"]),
        ("NCCL_P2P_DISABLE=1", []),
        ("NCCL_P2P_DISABLE=0", []),
        ("NCCL_SHM_DISABLE=yes", ["nccl-switch-ignored"]),
        ("NCCL_DEBUG=INFO", []),
        ("NCCL_DEBUG=info", []),
        ("NCCL_DEBUG=INFO,TRACE", []),
        ("NCCL_DEBUG=verbose", ["nccl-word-unknown"]),
        ("NCCL_P2P_LEVEL=", ["nccl-level-unknown"]),
        ("NCCL_P2P_DISABLE=true", ["nccl-switch-ignored"]),
        ("NCCL_CUMEM_ENABLE=on", ["nccl-number-ignored"]),
        ("NCCL_BUFFSIZE=4M", ["nccl-number-ignored"]),
        ("NCCL_BUFFSIZE=0x400000", []),
        ("NCCL_SOCKET_IFNAME=eth0", []),
        ("NCCL_SOCKET_IFNAME==eth0,=eth1", []),
        ("NCCL_SOCKET_IFNAME=^docker,lo", []),
        ("NCCL_SOCKET_IFNAME=eth0 eth1", ["nccl-interfaces-unread"]),
        ("NCCL_SOCKET_IFNAME=eth0, eth1", ["nccl-interfaces-unread"]),
        ("NCCL_P2P_DISABLED=1", ["nccl-variable-unread"]),
        ("NCCL_TREE_THRESHOLD=0", ["nccl-variable-unread"]),
        ("NCCL_SOMETHING_NEW=whatever", []),
        ("NCCL_P2P_DISABLE=1 NCCL_P2P_LEVEL=SYS", ["nccl-level-overruled"]),
        ("NCCL_P2P_DISABLE=0 NCCL_P2P_LEVEL=SYS", []),
        ("NCCL_P2P_DISABLE=1 NCCL_SHM_DISABLE=1", ["nccl-through-network"]),
    ],
)
def test_environments(variable: str, rules: list[str]) -> None:
    """What NCCL ignores without a word (FIELD 2.2)."""
    whole = re.split(r" (?=NCCL)", variable)
    values = {name: value for name, _, value in (one.partition("=") for one in whole)}
    assert [rule for rule, _, _ in environment_findings(values)] == rules


@pytest.mark.parametrize(
    ("text", "span"),
    [("90", 90), ("1min 30s", 90), ("2h", 7200), ("100ms", 0.1), ("infinity", None), ("", None)],
)
def test_time_spans_are_read_as_systemd_writes_them(text: str, span: float | None) -> None:
    """The start limit is compared in seconds."""
    assert seconds(text) == span


def test_every_warning_is_a_rule_that_is_known() -> None:
    """A rule that is spelled wrong would become an error."""
    assert all(finding("a", 1, rule).severity == "warning" for rule in WARNINGS)


def test_every_rule_has_a_case_and_a_place_in_the_docs() -> None:
    """docs/lint.md lists what is looked for, and each of it was seen to be found."""
    found = {
        rule
        for kind in (SCRIPTS, UNITS, TEXTS, ROUTERS, STACKS)
        for case in kind.values()
        for _, rule in case.get("finds", [])
    }
    fleets = cases("fleets.yaml").values()
    found |= {told.rpartition(" ")[2] for case in fleets for told in case.get("finds", [])}
    listed = dict(re.findall(r"^\| `([a-z-]+)`(?: w)? \| (.+) \|$", DOCS.read_text(), re.MULTILINE))
    assert found - {"config", "ansible-variable"} == set(listed)
    assert listed == {rule: known(rule).sentence for rule in listed}
