"""A host that serves already: its unit is adopted and taken over, and comes back whole."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.control.bad_input import Case
from tests.lab.host import Host
from tests.lab.lab import Lab
from tests.lab.looks import whole
from tests.lab.proof import Proofs
from tests.lab.workbench import Workbench

pytestmark = [pytest.mark.lab, pytest.mark.rollout]

ITEM = "2 there and back"
SERVES = """\
echo COLOUR=red > /etc/own.env
cat > /etc/systemd/system/web.service <<end
[Service]
ExecStart=/usr/bin/python3 /opt/standin/engine.py --port 8000
EnvironmentFile=/etc/own.env
[Install]
WantedBy=multi-user.target
end
systemctl daemon-reload
systemctl enable --quiet --now web
"""
FOREIGN = ("/etc/own.env", "/opt/standin/engine.py", "/etc/systemd/system/web.service")


@pytest.fixture
def bench(lab: Lab, hosts: Callable[..., list[Host]], tmp_path: Path) -> Workbench:
    """Give a new host with a service that headway knows nothing of, and a fleet that wants one."""
    [host] = hosts("first", fresh=True)
    made = Workbench(lab, host, tmp_path / "fleet")
    made.shell(SERVES)
    made.describe(Case("taken over"))
    return made


def done(bench: Workbench, verb: str) -> None:
    """Carry a verb through."""
    said = bench.type(f"{verb} --host first")
    assert said.returncode == 0, said.stderr


def test_what_served_before_comes_back_whole(bench: Workbench, prove: Proofs) -> None:
    """The new engine runs the same script, which is nobody's but the operator's: it stays.

    It was deleted once, as a file that only the adopted release held.
    """
    before = whole(bench.host, "web.service")
    done(bench, "rollout")
    taken = whole(bench.host, "web.service")
    assert [taken.files[path] for path in FOREIGN[:2]] == [
        before.files[path] for path in FOREIGN[:2]
    ]
    assert taken.files[FOREIGN[2]] != before.files[FOREIGN[2]]
    done(bench, "rollback")
    after = whole(bench.host, "web.service")
    assert [after.files[path] for path in FOREIGN] == [before.files[path] for path in FOREIGN]
    assert after.running == before.running
    prove(
        ITEM,
        "took over a running service of the operator's own, and rolled back",
        "its unit, environment file, script, argv and boot state as before headway came",
    )


@pytest.mark.parametrize(
    "damage",
    [
        "sed -i s/engine.py/other.py/ /var/lib/headway/releases/*",
        pytest.param("rm /var/lib/headway/blobs/*/*", marks=pytest.mark.long),
        pytest.param("rm /var/lib/headway/state.json", marks=pytest.mark.long),
    ],
)
def test_adopt_goes_on_from_what_runs_when_the_record_is_damaged(
    bench: Workbench, damage: str
) -> None:
    """It is what the refusal of a damaged record says to do."""
    done(bench, "rollout")
    bench.shell(damage)
    bench.describe(Case("changed"), env={"CHANGED": "yes"})
    if "state.json" not in damage:
        assert bench.type("rollout --host first").returncode == 8
    done(bench, "adopt")
    done(bench, "rollout")
    done(bench, "rollback")
