"""What a rollout makes of what is so on a real host: exit codes, and who is on the host then."""

from collections.abc import Mapping, Sequence

import pytest

from tests.lab import stand
from tests.lab.fleet import Said
from tests.lab.looks import argv, services, state, until
from tests.lab.proof import Proofs
from tests.lab.stand import GO, UNIT, B, Stand, Trial, each

pytestmark = [pytest.mark.lab, pytest.mark.rollout]

ITEM = "3 verdicts"
LINE = "ready for work"
FOREIGN = ["systemd-run", "--quiet", "--unit=foreign", "python3", "-m", "http.server"]


def rolled_out(one: Stand, release: Mapping[str, object], *words: str) -> Said:
    """Roll a release out on a stand."""
    one.fleet.describe(one.host, engine=release)
    return one.fleet.invoke("rollout", one.host, *words)


def ended(said: Said) -> tuple[int, str]:
    """Give the exit code, and how the host said that it ended."""
    return said.code, str(said.told("host_ended")[-1]["outcome"])


def an_earlier_launch_s_line(one: Stand) -> None:
    """The unit's log has the line, from the launch before: the new launch has not said it."""
    speaks = {"colour": "grey", "options": {"log": LINE}, "require": [LINE]}
    assert ended(rolled_out(one, speaks)) == (0, "accepted")
    before = services(one.host, UNIT)[UNIT]
    said = rolled_out(one, {**speaks, "colour": "white", "options": {}})
    assert ended(said) == (1, "went back"), said.sentence
    log = one.host.ssh(["journalctl", "--unit", UNIT, "--output", "cat"]).stdout
    assert LINE in log
    report = said.report("journal")
    assert (report["verdict"], report["fate"]) == ("FAIL", "SAME")
    assert report["before"]["id"] != before.invocation
    assert services(one.host, UNIT)[UNIT].argv == before.argv


def dies_while_it_loads(one: Stand) -> None:
    """It ends by itself long before the deadline: that is told at once, and nothing starts it."""
    dying = {**B, "options": {"delay_s": 9, "exit_after_s": 1, "exit_code": 3}, "deadline_s": 60}
    said = rolled_out(one, dying)
    assert ended(said) == (1, "went back"), said.sentence
    report = said.report("health")
    assert (report["verdict"], report["fate"]) == ("FAIL", "DIED")
    assert report["took_ms"] < 20_000
    assert "3" in report["evidence"][0]
    assert one.looks() == "A"


def restarts_for_ever(one: Stand) -> None:
    """It answers for a while after each start: accepted once, it is healthy no more."""
    said = rolled_out(one, {**B, "options": {"exit_after_s": 5}})
    assert ended(said) == (0, "accepted"), said.sentence
    until("systemd starts it again", lambda: services(one.host, UNIT)[UNIT].restarts > 0)
    until("it answers again", lambda: bool(argv(one.host, UNIT)))
    checked = one.fleet.invoke("check", one.host, "--gate", "health")
    assert checked.code == 1, checked.told("host_ended")
    assert "again" in checked.report("health")["evidence"][0]


def a_foreigner_on_the_port(one: Stand) -> None:
    """Before anything is stopped it is a refusal; after that, a failure. Both name it."""
    before = services(one.host, UNIT)[UNIT]
    one.host.ssh([*FOREIGN, "8123"])
    said = rolled_out(one, {**B, "port": 8123})
    pid = services(one.host, "foreign.service")["foreign.service"].pid
    one.host.ssh(["systemctl", "stop", "foreign"])
    assert ended(said) == (8, "refused"), said.sentence
    assert f"pid {pid} (python3 -m http.server 8123)" in said.sentence.replace("/usr/bin/", "")
    assert services(one.host, UNIT)[UNIT] == before

    with one.at(stand.OPEN) as controller:
        until("ready passed", lambda: bool(one.host.ssh("true").returncode == 0))
        one.host.ssh([*FOREIGN, "--bind", "127.0.0.2", "8000"])
        pid = services(one.host, "foreign.service")["foreign.service"].pid
        one.host.path(GO).touch()
        said = controller.said()
    one.host.ssh(["systemctl", "stop", "foreign"])
    assert ended(said) == (7, "stuck"), "A's port is held as well: A runs, and is not healthy"
    assert argv(one.host, UNIT) == one.a.running[UNIT][2]
    assert f"pid {pid} (" in said.report("health")["evidence"][0]


def a_gate_s_own_time(one: Stand) -> None:
    """It judged nothing, so nothing is rejected: B stays, held, and a person decides."""
    rejected = state(one.host)["rejected"]
    said = rolled_out(one, {**B, **stand.HELD.more}, "--again")
    assert ended(said) == (3, "held"), said.sentence
    assert argv(one.host, UNIT) == one.b.running[UNIT][2]
    assert state(one.host)["rejected"] == rejected
    assert ended(one.fleet.invoke("rollback", one.host)) == (0, "went back")
    assert one.looks() == "A"


def the_start_deadline(one: Stand) -> None:
    """Not healthy in time is the release's failure: it goes back, and is refused from then on."""
    slow = {**B, "options": {"delay_s": 60}, "deadline_s": 2}
    said = rolled_out(one, slow)
    assert ended(said) == (1, "went back"), said.sentence
    assert said.report("health")["verdict"] == "FAIL"
    assert one.looks() == "A"
    assert ended(rolled_out(one, slow)) == (8, "refused")


TRIALS: dict[str, tuple[Trial, str, str]] = {
    "earlier line": (
        an_earlier_launch_s_line,
        "B lacks a line that its gate requires and that A's launch logged under the same unit",
        "FAIL of another InvocationID, exit 1, A's argv",
    ),
    "dies": (
        dies_while_it_loads,
        "B ends by itself with code 3 while it loads, 60 s before its deadline",
        "FAIL (DIED), exit 1, A whole",
    ),
    "loop": (
        restarts_for_ever,
        "an accepted engine ends every 5 s and systemd starts it again",
        "it answers, and `invoke check` says FAIL with the number of restarts, exit 1",
    ),
    "foreigner": (
        a_foreigner_on_the_port,
        "somebody else listens on the port, before the rollout and after `ready`",
        "refused (8), A's launch untouched; then FAIL, and 7, as A is as ill; both name it",
    ),
    "gate's time": (
        a_gate_s_own_time,
        "a gate's command outlives the gate's deadline, twice",
        "exit 3, B runs on guarded, nothing rejected",
    ),
    "start deadline": (
        the_start_deadline,
        "B is not healthy within its start deadline",
        "FAIL, exit 1, A whole; B refused (8) the next time",
    ),
}


def test_what_is_seen_decides(stands: Sequence[Stand], prove: Proofs) -> None:
    """The table of DESIGN 5, in whole rollouts."""
    assert not each(stands, {name: trial for name, (trial, _, _) in TRIALS.items()})
    for _, did, saw in TRIALS.values():
        prove(ITEM, did, saw)
