"""What is seen beside and after the gates: warm air, live traffic, somebody else, frozen times."""

import json
import time
from collections.abc import Iterator

import pytest

from tests.lab.fleet import Fleet, evidence
from tests.lab.host import Host, HostSpec
from tests.lab.lab import Lab
from tests.lab.looks import Service, services, until, whole
from tests.lab.measured import UNIT, Measured
from tests.lab.proof import Proofs
from tests.lab.recipes import OPS_PASSWORD

pytestmark = [pytest.mark.lab, pytest.mark.acceptance]

LONG = 500
"""Requests of a burst that is not over before something happens."""
AIR = "/var/air/metrics"


@pytest.fixture(scope="module")
def measured(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Measured]:
    """Give a host that accepted the engine once, and whose intake air an exporter tells of."""
    [host] = lab.up([HostSpec("measured")])
    one = Measured(Fleet(lab, tmp_path_factory.mktemp("watched")), host)
    said = one.rollout()
    assert said.code == 0, (said.sentence, said.stderr)
    host.path(AIR).parent.mkdir(exist_ok=True)
    serve = ["python3", "-m", "http.server", "9100", "--bind", "127.0.0.1", "--directory"]
    done = host.ssh(["systemd-run", "--unit=air", *serve, AIR.rpartition("/")[0]])
    assert done.returncode == 0, done.stderr
    yield one
    host.ssh(["systemctl", "stop", UNIT, "air"])


def engine(host: Host) -> Service:
    """Look at the unit over plain ssh."""
    return services(host, UNIT)[UNIT]


def under_load(host: Host) -> bool:
    """Say whether the stand-in answers several at once, as in a burst alone."""
    told = host.ssh(["curl", "-s", "127.0.0.1:8000/_standin"]).stdout
    return bool(told) and json.loads(told)["running"] > 1


def test_live_traffic_that_fails_goes_back(measured: Measured, prove: Proofs) -> None:
    """Every gate before it passes; the engine's own counter of failed requests does not."""
    before = whole(measured.host, UNIT)

    said = measured.rollout(fails_s=20, watch_s=3)

    assert said.code == 1, (said.sentence, said.stderr)
    gates = {one["report"]["gate"]: one["report"]["verdict"] for one in said.bodies("reported")}
    assert (gates["needle"], gates["decode"], gates["watch"]) == ("PASS", "PASS", "FAIL")
    assert "requests failed, 0 are allowed" in said.report("watch")["evidence"][0]
    assert said.report("swap")["verdict"] == "PASS"
    assert "of 1 processes are swapped out" in said.report("swap")["evidence"][0]
    assert whole(measured.host, UNIT).differences(before) == []
    prove(
        "watch",
        "a release that answers every gate, and of whose other clients 20 requests a second fail",
        "needle, decode and swap PASS, watch FAIL, exit 1, the old release runs byte for byte",
        said.report("watch")["evidence"][0],
    )


def test_warm_air_calls_a_burst_off(measured: Measured, prove: Proofs) -> None:
    """Too warm is nobody's fault: INVALID, held, and the launch is left as it is."""
    air = measured.host.path(AIR)
    air.write_text('node_hwmon_temp_celsius{sensor="intake"} 24\n')
    with measured.begin(draft_depth=2, limit_c=35, burst=LONG) as controller:
        until("the burst is under way", lambda: under_load(measured.host))
        launch, began = engine(measured.host).invocation, time.monotonic()
        air.write_text('node_hwmon_temp_celsius{sensor="intake"} 41\n')
        said = controller.said()
        took = time.monotonic() - began

    assert said.code == 3, (said.sentence, said.stderr)
    report = said.report("burst")
    assert (report["verdict"], report["fate"]) == ("INVALID", "SAME"), evidence(report)
    assert report["evidence"][0].startswith("called off by gate thermal: too warm to judge: ")
    assert engine(measured.host).invocation == launch
    prove(
        "thermal",
        "the intake of a Prometheus exporter turns from 24 to 41 degrees in the middle of a burst",
        "the burst ends INVALID, the host is held, exit 3, nothing is started or stopped",
        f"{took:.1f} s later; {report['evidence'][0]}",
    )
    assert measured.fleet.invoke("rollback", measured.host).code == 0


def test_a_scheduler_takes_the_subject_away_in_a_burst(measured: Measured, prove: Proofs) -> None:
    """Whoever stopped it has the last word: INVALID, and nothing is started against it."""
    with measured.begin(draft_depth=3, burst=LONG) as controller:
        until("the burst is under way", lambda: under_load(measured.host))
        order = f"echo {OPS_PASSWORD} | sudo -S systemctl stop engine"
        assert measured.host.ssh(["su", "ops", "-c", order]).returncode == 0
        said = controller.said()

    assert said.code == 3, (said.sentence, said.stderr)
    report = said.report("burst")
    assert (report["verdict"], report["fate"]) == ("INVALID", "TAKEN"), evidence(report)
    assert "before it, sudo: ops :" in evidence(report)
    time.sleep(2)  # twice RestartSec
    assert engine(measured.host).active == "inactive"
    prove(
        "taken away in a burst",
        "another user stops the unit by sudo while a burst is answered",
        "INVALID (TAKEN) with who did it, held, exit 3, nothing started against it",
        next(line for line in report["evidence"] if "sudo" in line),
    )
    assert measured.fleet.invoke("rollback", measured.host).code == 0


def test_nothing_is_rolled_out_in_a_frozen_time(measured: Measured, prove: Proofs) -> None:
    """Refused before anything is touched; the way back is open at any time."""
    assert measured.rollout(draft_depth=0).code == 0
    launch, now = engine(measured.host).invocation, time.time()
    begins, ends = (
        time.strftime("%Y-%m-%d %H:%M", time.gmtime(at)) for at in (now - 3600, now + 3600)
    )
    window = {"begins": begins, "ends": ends, "why": "fair week"}

    said = measured.rollout(draft_depth=2, freeze=[window])

    assert said.code == 8, (said.sentence, said.stderr)
    assert f"until {ends}" in said.sentence
    assert "fair week" in said.sentence
    assert engine(measured.host).invocation == launch
    back = measured.fleet.invoke("rollback", measured.host)
    assert back.code == 0, (back.sentence, back.stderr)
    prove(
        "freeze window",
        "a rollout and a rollback inside a window of the inventory variable freeze",
        "the rollout is refused with exit 8 and nothing is touched, the rollback is done",
        said.sentence,
    )
