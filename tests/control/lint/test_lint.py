"""A fleet is judged without a host: its files, its roles, and what its hosts would be given."""

from pathlib import Path
from typing import Any, NoReturn

import pytest
import yaml

from headway.control.fleet import builtin
from headway.control.lint import Finding, lint
from headway.control.secrets import Cell, Secret
from tests.control.rendering.fleets import fleet, host

CASES: dict[str, Any] = yaml.safe_load(
    (Path(__file__).parents[2] / "cases" / "lint" / "fleets.yaml").read_text()
)


def told(findings: tuple[Finding, ...]) -> list[str]:
    """Give file, line and rule of each."""
    return [f"{one.file}:{one.line} {one.rule}" for one in findings]


@pytest.mark.parametrize("name", CASES)
def test_fleets(name: str, tmp_path: Path) -> None:
    """What is found, and where, in fleets of a few files."""
    case = CASES[name]
    made = fleet(tmp_path, case["files"])
    hosts = [host(case.get("instances", {}), case.get("vars", {}))]
    assert told(lint(made, hosts)) == case.get("finds", [])


def test_the_built_in_files_have_nothing_to_find(tmp_path: Path) -> None:
    """What headway ships holds to what it asks of others."""
    files = {
        f"{kind}/{path.relative_to(builtin(kind))}": path.read_text()
        for kind in ("roles", "templates", "systemd")
        for path in builtin(kind).rglob("*")
        if path.is_file()
    }
    engines = {"a": "llama_cpp", "b": "vllm", "c": "sglang", "d": "gpu_host"}
    variables = {"model": "/opt/m", "lock": "e.lock", "power_limit_w": 300}
    made = fleet(tmp_path, {**files, "e.lock": "e==1\n"})
    assert lint(made, [host(engines, variables)]) == ()


def test_secrets_are_not_opened(tmp_path: Path) -> None:
    """Lint runs where no secret is: in CI, and before a password is asked for."""
    role = """\
        resources:
          - env_file: {path: /etc/a.env, values: {HF_TOKEN: "{{ token }}"}}
        gates: [{in_place: {}}]
        """

    def ask(_: str) -> NoReturn:
        pytest.fail("a secret was opened")

    token = Secret(Cell(ask, ask), "inventory/hosts.yaml:3")
    made = fleet(tmp_path, {"roles/r/role.yaml": role})
    assert lint(made, [host({"r": "r"}, {"token": token})]) == ()


def test_the_same_find_on_several_hosts_is_told_once(tmp_path: Path) -> None:
    """A fleet of hundreds shares one role."""
    files = {"roles/r/role.yaml": 'resources:\n  - dir: {path: "{{ nothing }}"}\n'}
    made = fleet(tmp_path, files)
    assert told(lint(made, [host({"a": "r"}), host({"b": "r"})])) == ["roles/r/role.yaml:2 config"]


def test_a_finding_reads_as_one_line() -> None:
    """FILE:LINE: what happens; what to write instead."""
    one = Finding("a.service", 3, "rule", "it breaks", "mend it")
    assert str(one) == "a.service:3: it breaks; mend it"
