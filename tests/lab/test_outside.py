"""A release that is judged through the network, too: pytest with testinfra, from the controller."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.lab.fleet import Fleet
from tests.lab.host import Host
from tests.lab.lab import Lab
from tests.lab.proof import Proofs

pytestmark = [pytest.mark.lab, pytest.mark.rollout]

IS_RED = """
def test_it_runs_as_described(host):
    assert host.service("engine").is_running
    assert host.file("/etc/engine/config").contains("colour = red")
"""
SKIPS = """
import pytest

def test_another_day():
    pytest.skip("not today")
"""


def test_what_pytest_sees_from_here_decides(
    lab: Lab, hosts: Callable[..., list[Host]], prove: Proofs, tmp_path: Path
) -> None:
    """PASS is confirmed over a new connection and kept; FAIL goes back; all skipped is held."""
    (host,) = hosts("outer", fresh=True)
    fleet = Fleet(lab, tmp_path)
    (tmp_path / "seen").mkdir()
    (tmp_path / "seen/test_red.py").write_text(IS_RED)
    (tmp_path / "seen/test_later.py").write_text(SKIPS)

    fleet.describe(host, engine={"colour": "red", "outside": ["seen/test_red.py"]})
    passed = fleet.invoke("rollout", host)
    assert (passed.code, passed.report("outside")["verdict"]) == (0, "PASS")
    confirmed = [body["answer"]["value"] for body in passed.bodies("replied")]
    assert confirmed[-1] == "yes"

    fleet.describe(host, engine={"colour": "blue", "outside": ["seen/test_red.py"]})
    failed = fleet.invoke("rollout", host)
    assert (failed.code, failed.report("outside")["verdict"]) == (1, "FAIL")
    assert host.ssh(["cat", "/etc/engine/config"]).stdout.startswith("colour = red")

    fleet.describe(host, engine={"colour": "blue", "outside": ["seen/test_later.py"]})
    skipped = fleet.invoke("rollout", host, "--again")
    assert (skipped.code, skipped.report("outside")["verdict"]) == (3, "INVALID")
    assert fleet.invoke("rollback", host).code == 0
    assert host.ssh(["cat", "/etc/engine/config"]).stdout.startswith("colour = red")
    prove(
        "3 outside",
        "pytest with testinfra, from the controller, judged three rollouts",
        "PASS: confirmed over a new connection and kept; FAIL: exit 1, A again; all skipped: held",
    )
