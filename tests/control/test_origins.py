import json
from pathlib import Path

import pytest
from invoke.exceptions import Exit as InvokeExit

from headway.control import origins
from headway.control.desk import Desk
from headway.control.ending import ended
from headway.control.fleet import Fleet
from headway.control.inventory.inventory import load

CANARY = "canary-7f3a-value"

HOSTS = """\
engines:
  hosts:
    gpu1: {ansible_host: 10.77.0.11}
  vars:
    cards: [0, 1]
    empty: {}
    ratio: 0.9
    note: |
      two
      lines
    roles:
      - {role: service, name: web, token: !secret {env: HEADWAY_CANARY}}
"""


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fleet:
    """Make a fleet of one host with a secret whose value is known."""
    monkeypatch.setenv("HEADWAY_CANARY", CANARY)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "inventory").mkdir()
    (tmp_path / "inventory" / "hosts.yaml").write_text(HOSTS)
    return Fleet(tmp_path)


def _leave(desk: Desk) -> int:
    with pytest.raises(InvokeExit) as left:
        ended(desk, lambda: origins.show(desk))
    return left.value.code


def test_every_value_has_the_line_it_comes_from(fleet: Fleet) -> None:
    """Nested values are named by their path; what adds up (roles) is shown as instances."""
    (host,) = load(fleet).select(["all"])
    found = {(one.instance, one.name): (one.value, one.where) for one in origins.origins(host)}
    assert found == {
        ("", "cards.0"): (0, "inventory/hosts.yaml:5"),
        ("", "cards.1"): (1, "inventory/hosts.yaml:5"),
        ("", "empty"): ({}, "inventory/hosts.yaml:6"),
        ("", "ratio"): ("0.9", "inventory/hosts.yaml:7"),
        ("", "note"): ("two\nlines\n", "inventory/hosts.yaml:8"),
        ("", "ansible_host"): ("10.77.0.11", "inventory/hosts.yaml:3"),
        ("web", "role"): ("service", "inventory/hosts.yaml:12"),
        ("web", "token"): ("***", "inventory/hosts.yaml:12"),
    }


@pytest.mark.usefixtures("fleet")
def test_the_table_is_read_in_a_glance(capsys: pytest.CaptureFixture[str]) -> None:
    """A value of many lines shows its first; the file holds the rest, and the line is named."""
    assert _leave(Desk(verb="inventory")) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[0] == "gpu1  10.77.0.11  groups: engines"
    assert "note          two ...     inventory/hosts.yaml:8" in shown
    assert "web.token     ***         inventory/hosts.yaml:12" in shown


@pytest.mark.usefixtures("fleet")
def test_rows_are_json_and_hold_no_secret(capsys: pytest.CaptureFixture[str]) -> None:
    """--json says the same, a value a line."""
    assert _leave(Desk(verb="inventory", json=True)) == 0
    out = capsys.readouterr().out
    rows = [json.loads(line)["origin"] for line in out.splitlines()]
    assert {row["host"] for row in rows} == {"gpu1"}
    assert CANARY not in out


def test_a_host_that_is_not_there_is_exit_2(
    fleet: Fleet, capsys: pytest.CaptureFixture[str]
) -> None:
    """A pattern that matches nothing must not look like a fleet without hosts."""
    assert fleet.root == Path.cwd()
    assert _leave(Desk(verb="inventory", host=("gpu7",))) == 2
    assert capsys.readouterr().err.startswith("headway: no host or group matches 'gpu7'")
