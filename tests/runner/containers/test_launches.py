"""A launch of a container, and what became of it: same, died, taken or replaced."""

import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headway.runner.containers import launches
from headway.runner.containers.docker import DockerError
from headway.runner.machine import machine_of
from headway.wire.gate import Subject
from headway.wire.tools import Ran
from headway.wire.verdict import Fate
from tests.runner.containers.world import PROJECT, StackWorld

NAME = f"{PROJECT}/engine"
Happens = Callable[[StackWorld], object]


def launch(world: StackWorld) -> Subject:
    """Give the present launch; there is one."""
    found = launches.current(world.machine, NAME)
    assert found is not None
    return found


def _exits(code: int) -> Happens:
    return lambda world: world.docker.ends(world.docker.one(PROJECT, "engine"), code)


def _docker(*words: str) -> Happens:
    def happens(world: StackWorld) -> None:
        container = world.docker.one(PROJECT, "engine")["Id"]
        assert world.docker(["docker", *words, container]).code == 0

    return happens


def _killed_for_memory(world: StackWorld) -> None:
    one = world.docker.one(PROJECT, "engine")
    world.docker.ends(one, 137)
    one["State"]["OOMKilled"] = True


def _restarted_by_docker(world: StackWorld) -> None:
    one = world.docker.one(PROJECT, "engine")
    world.docker.ends(one, 1)
    one["RestartCount"] = 2
    world.docker.start(one)


def _stopped_and_started(world: StackWorld) -> None:
    _docker("stop")(world)
    _docker("start")(world)


def _made_anew(world: StackWorld) -> None:
    _docker("rm")(world)
    world.docker.start(world.docker.add(PROJECT, "engine", "x"))


def _forgotten(world: StackWorld) -> None:
    _exits(143)(world)
    world.docker.events.clear()


ENDS: dict[str, tuple[Happens, Fate, str]] = {
    "nothing": (lambda _: None, Fate.SAME, ""),
    "exit code 1": (_exits(1), Fate.DIED, "exit code 1"),
    "exit code 0": (_exits(0), Fate.DIED, "exit code 0, by itself"),
    "a segmentation fault": (_exits(139), Fate.DIED, "exit code 139: signal 11"),
    "SIGKILL of nobody's": (_exits(137), Fate.DIED, "exit code 137: signal 9"),
    "an OOM kill": (_killed_for_memory, Fate.DIED, "OOM kill"),
    "docker stop": (_docker("stop"), Fate.TAKEN, "stopped by somebody else"),
    "docker kill": (_docker("kill"), Fate.TAKEN, "stopped by somebody else"),
    "docker rm": (_docker("rm"), Fate.TAKEN, "was removed"),
    "started again by Docker": (_restarted_by_docker, Fate.DIED, "started it again, 2 times"),
    "stopped and started": (_stopped_and_started, Fate.REPLACED, "runs in its place"),
    "made anew": (_made_anew, Fate.REPLACED, "runs in its place"),
    "SIGTERM that Docker forgot": (_forgotten, Fate.TAKEN, "Docker does not know how"),
}


@pytest.mark.parametrize("name", ENDS)
def test_a_fate_is_told_from_dockers_own_record(world: StackWorld, name: str) -> None:
    """Who ended by itself DIED, whoever was stopped was TAKEN; 137 alone proves no OOM kill."""
    happens, wanted, words = ENDS[name]
    before = launch(world)

    happens(world)

    fate, after, how = launches.fate(before, world.machine)
    assert fate is wanted
    assert words in how
    up = {Fate.SAME, Fate.REPLACED} | ({Fate.DIED} if "started again" in name else set())
    assert (after is not None) == (wanted in up)


def test_a_boot_takes_every_launch(world: StackWorld) -> None:
    """Whatever runs now is another launch, and nobody of ours ended it."""
    before = replace(launch(world), boot_id="before")

    fate, after, how = launches.fate(before, world.machine)

    assert (fate, how) == (Fate.TAKEN, "the machine was started anew")
    assert after is not None


def test_an_earlier_stop_does_not_answer_for_this_launch(world: StackWorld) -> None:
    """It was stopped, started, and died: only what follows its last start counts."""
    _stopped_and_started(world)
    before = launch(world)

    _exits(1)(world)

    assert launches.fate(before, world.machine)[0] is Fate.DIED


def test_what_is_not_up_says_how_it_ended(world: StackWorld) -> None:
    """Without a container, made and never started, and died: three sentences."""
    _exits(3)(world)
    fate, subject, how = launches.absent(NAME, world.machine)
    assert (fate, how) == (Fate.DIED, "exit code 3")
    assert subject is not None

    world.docker.one(PROJECT, "engine")["State"].update(StartedAt="0001-01-01T00:00:00Z")
    fate, subject, how = launches.absent(NAME, world.machine)
    assert (fate, subject, how) == (Fate.TAKEN, None, "it was made and not started")

    _docker("rm")(world)
    assert launches.absent(NAME, world.machine) == (Fate.TAKEN, None, "it has no container")


def test_a_stop_is_seen_to_be_one(world: StackWorld) -> None:
    """It says how; one that is down already was down."""
    assert launches.stop(world.machine, NAME, 10) == "stopped"
    assert launches.stop(world.machine, NAME, 10) == "was down"


def test_a_stop_that_docker_refuses_becomes_a_kill(world: StackWorld) -> None:
    """A process that does not go by itself goes by SIGKILL, and that is told."""
    world.docker.refuses["stop"] = "cannot stop"

    assert launches.stop(world.machine, NAME, 10) == "killed"


def test_what_survives_sigkill_is_an_error(world: StackWorld) -> None:
    """A wedged card keeps its process for ever."""
    world.docker.refuses.update(stop="cannot stop", kill="tried to kill, did not get exit event")

    with pytest.raises(DockerError, match="did not stop: tried to kill"):
        launches.stop(world.machine, NAME, 10)


def test_what_restarts_now_is_stopped_too(world: StackWorld) -> None:
    """A container in its restart loop has no process, and would have one a second later."""
    one = world.docker.one(PROJECT, "engine")
    one["State"].update(Status="restarting", Pid=0)

    assert launches.stop(world.machine, NAME, 10) == "stopped"


def _docker_is_started_anew(world: StackWorld) -> None:
    """Its pid file is written anew, and it remembers no event."""
    path = Path(world.disk.real("/run/docker.pid"))
    path.write_text("1")
    os.utime(path, (4e9, 4e9))  # later than any launch
    world.docker.events.clear()


def test_dockers_own_restart_is_nobodys_fault(world: StackWorld) -> None:
    """It stops what it runs: HAProxy ends with code 0 then, and no event tells of a stop."""
    before = launch(world)
    _exits(0)(world)
    _docker_is_started_anew(world)

    fate, _, how = launches.fate(before, world.machine)

    assert fate is Fate.TAKEN
    assert "Docker itself was started anew" in how


def test_who_dies_after_dockers_restart_died(world: StackWorld) -> None:
    """With live-restore a launch outlives it, and Docker notes how that ended."""
    before = launch(world)
    _docker_is_started_anew(world)
    _exits(1)(world)

    assert launches.fate(before, world.machine)[0] is Fate.DIED


@pytest.mark.parametrize("restarted", [True, False])
def test_a_start_that_fell_into_dockers_restart_is_told_again(
    world: StackWorld, *, restarted: bool
) -> None:
    """The machine is at fault ("Cannot connect"); where Docker is the same one, its word counts."""
    launches.stop(world.machine, NAME, 10)
    container = world.docker.one(PROJECT, "engine")["Id"]
    world.docker.refuses_once[f"start {container}"] = "Cannot connect to the Docker daemon"

    def run(argv: Sequence[str], **given: Any) -> Ran:
        ran = world.docker(argv, **given)
        if restarted and ran.code != 0:
            _docker_is_started_anew(world)
        return ran

    machine = machine_of(world.disk, run)
    if restarted:
        launches.start(machine, NAME, 10)
        assert launches.state(machine, NAME)[0] == "active"
    else:
        with pytest.raises(DockerError, match="Cannot connect"):
            launches.start(machine, NAME, 10)


def test_a_docker_that_comes_back_is_waited_for(world: StackWorld) -> None:
    """Nobody goes back, or rests stuck, because it was asked a second too early."""
    world.docker.close()
    threading.Timer(0.3, world.docker.serve).start()

    launches.answers(world.machine, 10)

    world.docker.close()
    with pytest.raises(DockerError, match="is not running here"):
        launches.answers(world.machine, 0.1)


def test_nothing_is_started_that_was_not_made(world: StackWorld) -> None:
    """A service without a container of headway's has none to start."""
    with pytest.raises(DockerError, match="chat/other has no container to start"):
        launches.start(world.machine, "chat/other", 10)


def test_a_service_stands_in_systemds_words(world: StackWorld) -> None:
    """`status` shows units and containers in one table."""
    assert launches.state(world.machine, NAME) == ("active", "running", 0)
    _exits(1)(world)
    assert launches.state(world.machine, NAME) == ("failed", "exited, code 1", 0)
    _docker("rm")(world)
    assert launches.state(world.machine, NAME) == ("inactive", "no container", 0)
