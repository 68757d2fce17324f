"""What no host has to be asked for is refused in one line: where, what, and what to do next.

Cases are data: tests/cases/bad_input/. Each goes through the whole command line.
"""

import shlex
from pathlib import Path

import pytest

from headway.control.program import Headway
from headway.control.verbs import namespace
from tests.control.bad_input import CANARY, Case, cases, is_one_line, written

HOSTS = """\
all:
  vars: {ansible_host: 127.0.0.1, ansible_port: 9, ansible_user: root}
  children:
    engines:
      hosts:
        gpu1:
          roles: [{role: service, name: web, program: /usr/bin/web}]
"""
OWN = "roles: [{role: bad, name: a}]\n"
CASES = cases("words", "inventory", "roles")


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in a fleet of one host behind a port where nobody listens, and in nobody's home."""
    root = tmp_path / "fleet"
    written(root, {"inventory/hosts.yaml": HOSTS})
    for name in ("HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    for name in ("HEADWAY_INVENTORY", "ANSIBLE_VAULT_PASSWORD_FILE", "NOT_SET_ANYWHERE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CANARY", CANARY)
    monkeypatch.chdir(root)
    return root


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_it_is_one_line_and_the_right_exit_code(
    case: Case, fleet: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No traceback, no half-done work, and no secret, whatever is wrong with the files."""
    if case.role:
        own = {"roles/bad/role.yaml": case.role, "inventory/host_vars/gpu1.yaml": OWN}
        written(fleet, own)
    written(fleet, case.files)
    with pytest.raises(SystemExit) as left:
        Headway(namespace=namespace, name="headway", binary="headway").run(
            ["headway", *shlex.split(case.verb or "plan")]
        )
    said = capsys.readouterr()
    is_one_line(case, left.value.code, said.out, said.err)


def test_there_are_enough_of_them() -> None:
    """The issue asks for 40 and more, with those of tests/lab/test_bad_input.py."""
    assert len(CASES) >= 40
