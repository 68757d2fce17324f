"""What somebody reads who was woken up, on a real host: logs, releases, the state of the fleet."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.lab.fleet import Fleet, Said
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
