"""Whoever watches or carries a transition is lost: the host comes to rest by itself, and says so.

The controller dies, the cable is pulled, the runner dies or hangs, nobody confirms, two want the
same host.
"""

import os
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial

import pytest

from tests.lab import stand
from tests.lab.fleet import Said
from tests.lab.host import Host
from tests.lab.looks import argv, reaches, rests, runner, state, until
from tests.lab.proof import Proofs
from tests.lab.stand import TRIES, UNIT, B, Moment, Stand, Trial, each

pytestmark = [pytest.mark.lab, pytest.mark.rollout]

ITEM = "4 control lost"
WAY_IN = "/etc/ssh/sshd_config.d/headway.conf"
TOUCHED = {"way_in": "# a line that changes nothing"}
CONFIRM_S = "2"


def outcome(said: Said) -> tuple[int, str]:
    """Give the exit code and how the host said that it ended."""
    return said.code, str(said.told("host_ended")[-1]["outcome"])


# -- the runner


def kill(one: Stand, what: signal.Signals) -> int:
    """Send the transition's main process a signal, and give its pid; 0 is too late."""
    pid = runner(one.host)
    try:
        if pid:
            os.kill(pid, what)
    except ProcessLookupError:
        return 0
    return pid


KILLED = {
    stand.OPEN: ("A", (8, "refused")),
    stand.STOPPED: ("A", (1, "went back")),
    stand.STARTED: ("A", (1, "went back")),
    stand.KEEPING: ("B", (0, "accepted")),
    stand.RETURNING: ("A", (1, "went back")),
}


def kill_runner(moment: Moment, wanted: str, ended: tuple[int, str], one: Stand) -> None:
    """Kill the runner; systemd starts it again, and the controller that waits hears the end."""
    for _ in range(TRIES):
        with one.at(moment) as controller:
            hit = bool(kill(one, signal.SIGKILL)) and one.is_at(moment)
            said = controller.said()
        if hit:
            break
        one.back_to_a()
    assert hit, f"{moment.name} was never hit"
    assert one.looks() == wanted
    assert outcome(said) == ended


def kill_runner_in_proven(one: Stand) -> None:
    """It asks again: what was proved is on disk, and the release runs on."""
    with one.at(stand.PROVEN):
        launch = argv(one.host, UNIT)
        killed = kill(one, signal.SIGKILL)
        until("another runner asks", lambda: runner(one.host) not in (0, killed))
        assert state(one.host)["phase"] == "PROVEN"
        assert one.fleet.invoke("confirm", one.host).code == 0
        rests(one.host)
        assert argv(one.host, UNIT) == launch
    assert one.looks() == "B"


def test_the_runner_dies_in_every_phase(stands: Sequence[Stand], prove: Proofs) -> None:
    """Systemd brings it back, and it goes on or back as the phase table says."""
    trials = {
        moment.name: partial(kill_runner, moment, wanted, ended)
        for moment, (wanted, ended) in KILLED.items()
    }
    assert not each(stands, {**trials, "PROVEN": kill_runner_in_proven})
    prove(
        ITEM,
        f"kill -9 of the transition's main process at {', '.join(trials)}, and in PROVEN",
        "A whole; B where it was accepted or then confirmed; the waiting controller's exit code",
        f"{len(trials) + 1} kills",
    )


@pytest.mark.long
def test_a_hung_runner_is_ended_by_the_watchdog(stands: Sequence[Stand], prove: Proofs) -> None:
    """SIGSTOP: it answers systemd no more, is killed, started again, and goes back."""
    one = stands[0]
    one.back_to_a()
    with one.at(stand.STARTED) as controller:
        kill(one, signal.SIGSTOP)
        said = controller.said(timeout_s=120)
    assert outcome(said) == (1, "went back")
    assert one.looks() == "A"
    prove(ITEM, "stopped the runner with SIGSTOP in TRYING", "the watchdog ended it; A whole")


# -- the controller

LEFT = {
    stand.OPEN: ("B", 0),
    stand.STARTED: ("B", 0),
    stand.KEEPING: ("B", 0),
    stand.RETURNING: ("A", 1),
}


def kill_controller(moment: Moment, wanted: str, code: int, one: Stand) -> None:
    """Kill the controller; the host goes on, and a new one learns how it ended."""
    with one.at(moment) as controller:
        controller.kill()
    one.host.path(stand.GO).touch()
    one.rests()
    assert one.looks() == wanted
    said = one.fleet.invoke("resume", one.host)
    assert said.code == code, said.sentence


def kill_controller_in_proven(one: Stand) -> None:
    """Nobody confirms for a while; whoever resumes confirms by coming back."""
    with one.at(stand.PROVEN):
        said = one.fleet.invoke("resume", one.host)
    assert outcome(said) == (0, "accepted")
    assert one.looks() == "B"


def kill_controller_when_held(one: Stand) -> None:
    """It said 3 before it ended; the host holds B until a person decides."""
    with one.at(stand.HELD) as controller:
        assert controller.said().code == 3
    assert argv(one.host, UNIT) == one.b.running[UNIT][2]
    assert "gate command" in state(one.host)["why"]
    said = one.fleet.invoke("rollback", one.host)
    assert outcome(said) == (0, "went back")
    assert one.looks() == "A"


def test_the_controller_dies_in_every_phase(stands: Sequence[Stand], prove: Proofs) -> None:
    """The host ends its transition alone, and `invoke resume` tells how."""
    trials = {
        moment.name: partial(kill_controller, moment, wanted, code)
        for moment, (wanted, code) in LEFT.items()
    }
    more = {"PROVEN": kill_controller_in_proven, "HELD": kill_controller_when_held}
    assert not each(stands, {**trials, **more})
    prove(
        ITEM,
        f"kill -9 of the controller at {', '.join({**trials, **more})}",
        "the host rests on B, or on A where it was going back; `invoke resume` says which",
        f"{len(trials) + len(more)} kills",
    )


# -- the cable, and who confirms


@contextmanager
def unplugged(host: Host) -> Iterator[None]:
    """Pull the cable for a while."""
    host.unplug()
    try:
        yield
    finally:
        host.plug()


def pull_cable(one: Stand) -> None:
    """The host accepts B alone; three Ctrl-C leave with 6; a later resume learns the outcome."""
    with one.at(stand.STARTED) as controller, unplugged(one.host):
        one.rests()
        for _ in range(3):
            controller.process.send_signal(signal.SIGINT)
            time.sleep(0.3)  # signals of one kind that wait together are one
        said = controller.said()
    assert said.code == 6
    assert one.looks() == "B"
    assert outcome(one.fleet.invoke("resume", one.host)) == (0, "accepted")


def silence(more: Mapping[str, object], one: Stand) -> None:
    """Nobody can confirm: B is held, or goes back where the way in was touched."""
    unsure = Moment("unsure", "TRYING", "start", more, alone=True)
    one.fleet.describe(one.host, engine={**B, **more})
    words = ("--again", "--confirm", "--confirm-within", CONFIRM_S)
    with one.fleet.begin("rollout", one.host, *words) as controller:
        reaches(one.host, unsure.phase, unsure.step)
        with unplugged(one.host):
            controller.kill()
            one.rests("IDLE" if more else "HELD")
    if more:
        assert one.looks() == "A"
        assert outcome(one.fleet.invoke("resume", one.host)) == (1, "went back")
    late = one.fleet.invoke("confirm", one.host)
    assert late.code == 0
    if more:
        assert one.looks() == "A"
        return
    assert state(one.host)["phase"] == "HELD"
    assert "too late" in late.sentence
    assert argv(one.host, UNIT) == one.b.running[UNIT][2]
    assert outcome(one.fleet.invoke("accept", one.host, "--reason", "seen")) == (0, "accepted")
    assert one.looks() == "B"


def in_time(more: Mapping[str, object], one: Stand) -> None:
    """The controller confirms by itself, over a connection of its own."""
    one.fleet.describe(one.host, engine={**B, **more})
    words = ("--again", "--confirm", "--confirm-within", "30")
    said = one.fleet.invoke("rollout", one.host, *words)
    assert outcome(said) == (0, "accepted")
    assert len(said.told("connecting")) == 2
    assert one.host.path(WAY_IN).exists() is bool(more)
    assert argv(one.host, UNIT) == one.b.running[UNIT][2]


def test_nobody_there_to_confirm(stands: Sequence[Stand], prove: Proofs) -> None:
    """In time it is kept; late or never it is held, and goes back where the way in was touched."""
    trials: dict[str, Trial] = {
        "cable": pull_cable,
        "in time": partial(in_time, {}),
        "in time, way in touched": partial(in_time, TOUCHED),
        "silence": partial(silence, {}),
        "silence, way in touched": partial(silence, TOUCHED),
    }
    assert not each(stands, trials)
    prove(
        ITEM,
        "pulled the cable for good in TRYING: no confirmation needed; needed; needed because a "
        "file of sshd's was touched",
        "B accepted (controller left by Ctrl-C: 6); B held; A whole again; late words change "
        "nothing, in time both are kept",
        f"{len(trials)} ways",
    )


# -- two at once


def test_two_controllers_want_the_same_host(stands: Sequence[Stand], prove: Proofs) -> None:
    """The second is turned away with 4 and changes nothing; so is whoever types on the host."""
    one = stands[0]
    one.back_to_a()
    with one.at(stand.OPEN) as first:
        second = one.fleet.invoke("rollback", one.host)
        typed = one.host.ssh(["headway-host", "rollback"])
        one.host.path(stand.GO).touch()
        said = first.said()
    assert outcome(second) == (4, "locked")
    assert typed.returncode == 4, typed.stdout
    assert outcome(said) == (0, "accepted")
    assert one.looks() == "B"
    prove(ITEM, "two controllers at once", "4 for the second, 0 and B for the first")
