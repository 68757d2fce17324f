"""What somebody reads who was woken up, on a real host: logs, releases, the state of the fleet."""

import json
import socket
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.lab.fleet import ROLE, Fleet, Said
from tests.lab.host import Host
from tests.lab.lab import Lab
from tests.lab.looks import services
from tests.lab.proof import Proofs

pytestmark = [pytest.mark.lab, pytest.mark.oncall]

RED = {"colour": "red", "options": {"log": "red says hello"}}
BLUE = {"colour": "blue", "extra": "/srv/blue", "options": {"log": "blue says hello"}}


@pytest.fixture
def fleet(
    lab: Lab, hosts: Callable[..., list[Host]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[Fleet, Host]:
    """A host that ran red, and stands on blue now; the fleet keeps one history."""
    monkeypatch.setenv("HEADWAY_HISTORY", str(tmp_path / "history.sqlite"))
    [host] = hosts("reader1", fresh=True)
    made = Fleet(lab, tmp_path)
    for release in (RED, BLUE):
        made.describe(host, engine=release)
        said = made.invoke("rollout", host, "--no-lint")
        assert said.code == 0, (said.stderr, said.told("host_ended"))
    return made, host


def _texts(said: Said) -> list[str]:
    assert said.code == 0, said.stderr
    return [row["line"]["text"] for row in said.told("host_line")]


def test_logs_are_of_the_launch_that_is_asked_for(fleet: tuple[Fleet, Host], prove: Proofs) -> None:
    """Two launches of one unit: each has its own lines, by word and by InvocationID."""
    made, host = fleet
    now = services(host, "engine.service")["engine.service"].invocation

    current = _texts(made.invoke("logs", host))
    previous = _texts(made.invoke("logs", host, "--launch", "previous"))
    named = _texts(made.invoke("logs", host, "--launch", now[:10], "--grep", "hello"))

    assert "blue says hello" in current
    assert "red says hello" not in current
    assert "red says hello" in previous
    assert "blue says hello" not in previous
    assert named == ["blue says hello"]
    host.inside(["systemctl", "kill", "--signal=SIGKILL", "engine.service"])
    died = _texts(made.invoke("logs", host, "--launch", now[:10]))
    assert any("status=9" in text for text in died), died
    prove("logs", "two launches of a unit, then a kill", "each launch's lines and no other's")


def test_show_and_diff_know_releases_of_the_past(fleet: tuple[Fleet, Host], prove: Proofs) -> None:
    """The host's record has both: what was written is compared, whatever the fleet says today."""
    made, host = fleet
    made.forget()
    [was, now] = [row["release"] for row in _shown(made, host)]

    said = made.invoke("diff", host, was[:6], now)

    assert said.code == 10, said.stderr
    [diff] = said.told("release_diff")
    assert {"part": "engine", "name": "--alias", "before": "red", "after": "blue"} in diff[
        "options"
    ]
    found = {one["name"]: one for one in diff["resources"]}
    assert found["/srv/blue"]["what"] == "added"
    assert "+colour = blue" in found["/etc/engine/config"]["diff"]
    prove("show, diff", "two accepted releases", "options, files and texts that differ")


def _shown(made: Fleet, host: Host) -> list[dict[str, str]]:
    ids = [
        row["release"]
        for row in made.invoke("history", host, "--last", "2").told("host_history")[::-1]
    ]
    shown = [made.invoke("show", host, name[:8]) for name in ids]
    assert [said.code for said in shown] == [0, 0], [said.stderr for said in shown]
    return [said.told("shown_release")[0] for said in shown]


COUNTS = "lines = "
BUSY = """\
self.server.counters["requests_processing"] = 3
            self.server.counters["requests_deferred"] = 2
            self.server.counters["tokens_predicted_total"] = int(time.monotonic() * 1000)
            lines = """


def test_status_shows_numbers_and_waits_for_nobody(
    lab: Lab, hosts: Callable[..., list[Host]], tmp_path: Path, prove: Proofs
) -> None:
    """One host works, one drifted, one is parked, the cable of one is pulled."""
    up = hosts("busy1", "drift1", "parked1", "cable1", fresh=True)
    busy, drifted, parked, cut = up
    fleet = Fleet(lab, tmp_path)
    role = ROLE.replace("- health: {", "- health: {engine: llama_cpp, counters: false, ")
    (tmp_path / "roles/engine/role.yaml").write_text(role)
    engine = busy.path("/opt/standin/engine.py")
    engine.write_text(engine.read_text().replace(COUNTS, BUSY, 1))
    for host in up:
        fleet.describe(host, engine={"options": {"ctx-size": 8192 if host is drifted else 4096}})
    assert fleet.invoke("rollout", "all", "--no-lint", "--floor", "0").code == 0
    assert fleet.invoke("park", parked, "--reason", "fan").code == 0
    drifted.path("/etc/engine/config").chmod(0o777)

    cut.unplug()
    try:
        began = time.monotonic()
        said = fleet.invoke("status", "all", "--within", "4")
        took_s = time.monotonic() - began
    finally:
        cut.plug()

    assert said.code == 5, said.stderr
    rows = {row["host"]: row for row in said.told("host_status")}
    stands = {name: row["stands"] for name, row in rows.items()}
    assert stands == {
        "busy1": "accepted",
        "drift1": "drift",
        "parked1": "parked",
        "cable1": "unreachable",
    }
    serving = rows["busy1"]["serving"]["engine"]
    assert (serving["running"], serving["waiting"]) == (3, 2)
    assert 700 <= serving["tokens_s"] <= 1300
    [drift] = rows["drift1"]["drift"]
    assert "mode 0777" in drift
    [skew] = [one for one in said.told("skew") if one["what"] == "--ctx-size"]
    assert (skew["most"], [other["host"] for other in skew["others"]]) == ("4096", ["drift1"])
    assert took_s < 8
    prove(
        "status",
        "four hosts: one works, one drifted, one is parked, one has no cable",
        "each row, the engine's numbers, the drift and the skew by name",
        f"{took_s:.1f} s with a deadline of 4",
    )


def test_a_webhook_that_hangs_slows_no_rollout(
    lab: Lab, hosts: Callable[..., list[Host]], tmp_path: Path, prove: Proofs
) -> None:
    """It takes the connection and says nothing; the other sinks hear all, Prometheus' file too."""
    [host] = hosts("sink1", fresh=True)
    fleet = Fleet(lab, tmp_path)
    fleet.describe(host, engine={"colour": "red"})
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        (tmp_path / "headway.yaml").write_text(
            "sinks:\n"
            f"  - webhook: {{url: '{url}', tell: [host_said, ended]}}\n"
            "  - textfile: {path: headway.prom}\n"
            "  - ndjson: {path: events.ndjson}\n"
        )
        began = time.monotonic()
        said = fleet.invoke("rollout", host, "--no-lint")
        took_s = time.monotonic() - began

    assert said.code == 0, said.stderr
    [ended] = said.told("ended")
    own_s = ended["took_ms"] / 1000
    assert own_s < 15
    assert took_s < own_s + 5 + 5, "the queue is waited for at the end, 5 s and no longer"
    [note] = [note["text"] for note in said.told("note") if "headway.yaml:2" in note["text"]]
    assert "were not delivered" in note
    series = (tmp_path / "headway.prom").read_text()
    assert f'headway_host_exit_code{{host="{host.name}"}} 0' in series
    rows = [json.loads(row) for row in (tmp_path / "events.ndjson").read_text().splitlines()]
    assert [row for row in said.story if "note" not in row] == rows
    prove(
        "sinks",
        "a rollout with a webhook that takes connections and never answers",
        "the same story in the NDJSON file, series for Prometheus, one note of what was lost",
        f"the rollout took {own_s:.1f} s",
    )
