"""What a project costs whose release runs already: one exec, one question to Compose.

Compose's program on the host is behind a wrapper that notes each call. Times are of whole
processes taking turns, as in tests/lab/speed.py: what counts is the ratio.
"""

import statistics
import sys
import time
from dataclasses import dataclass

import pytest

from tests.lab.lab import Lab
from tests.lab.projects import PROJECT, Projects, pushed
from tests.lab.proof import Proofs
from tests.lab.speed import FLOOR, INVOKE, listen_closely, timed
from tests.lab.stacks import Docked, Registry, docked

pytestmark = [pytest.mark.lab, pytest.mark.stacks]

ROUNDS = 7
MOST = 1.5
PLUGIN = "/usr/libexec/docker/cli-plugins/docker-compose"
CALLS = "/tmp/compose-calls"
WRAPPER = f"""\
#!/bin/sh
case "$1" in docker-cli-plugin-metadata) ;; *) echo "$*" >> {CALLS} ;; esac
exec {PLUGIN}.real "$@"
"""


@dataclass(frozen=True)
class Turn:
    """Seconds of one turn: a rollout of what runs, `docker compose config`, and a bare login."""

    ours: float
    config: float
    floor: float


@pytest.fixture(scope="module")
def stood(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> tuple[Projects, Docked]:
    """Give a host with an accepted project, whose sshd and Compose note what they are asked."""
    box, store = docked(lab, "quick", "store", fresh=True)
    listen_closely([box.host])
    registry = Registry(store.host)
    registry.start()
    for image in ("engine:v1", "router:v1"):
        pushed(store, registry, image)
    project = Projects(lab, tmp_path_factory.mktemp("fleet"), registry)
    project.describe(box, registry.name("engine:v1"), registry.name("router:v1"))
    for said in (project.pin(box), project.rollout(box), project.rollout(box)):
        assert said.code == 0, said.stderr
    registry.stop()
    return project, box


def unchanged(project: Projects, box: Docked) -> float:
    """Roll out what runs, as an operator does: seconds of the whole process."""
    argv = [str(INVOKE), "rollout", "--host", box.host.name, "--json"]
    took, told = timed(argv, project.folder)
    assert '"outcome":"unchanged"' in told
    return took


def test_an_unchanged_project_is_one_exec_and_one_question(
    stood: tuple[Projects, Docked], prove: Proofs
) -> None:
    """Sessions are counted by sshd, questions by a wrapper around Compose's own program."""
    project, box = stood
    box.sh(f"mv {PLUGIN} {PLUGIN}.real; cat > {PLUGIN}; chmod 755 {PLUGIN}", stdin=WRAPPER)
    try:
        count = "journalctl --no-pager -o cat -u ssh | grep -c 'Starting session: command'"
        before = int(box.host.inside(["sh", "-c", count]))

        unchanged(project, box)  # Compose is another program by now: it is asked

        execs = int(box.host.inside(["sh", "-c", count])) - before
        calls = box.host.inside(["cat", CALLS]).splitlines()
        unchanged(project, box)
        later = box.host.inside(["cat", CALLS]).splitlines()
    finally:
        box.sh(f"mv {PLUGIN}.real {PLUGIN}")
    assert execs == 1
    assert len(calls) == 1, calls
    assert f"--project-name {PROJECT}" in calls[0]
    assert later == calls, "nothing moved since: nobody is asked again"
    prove("4 unchanged", "roll the running release out", "one exec, one question, then none")


def test_an_unchanged_project_costs_what_compose_costs(
    lab: Lab, stood: tuple[Projects, Docked], prove: Proofs
) -> None:
    """At most 1.5 times a bare login and `docker compose config` of the same run."""
    project, box = stood
    config = ["sh", "-c", f"headway-host compose {PROJECT} config > /dev/null"]
    login = [sys.executable, "-c", FLOOR, str(lab.key), str(lab.known_hosts), box.host.address]
    turns = []
    for _ in range(ROUNDS):
        ours = unchanged(project, box)
        began = time.perf_counter()
        box.host.inside(config)
        asked = time.perf_counter() - began
        turns.append(Turn(ours, asked, timed(login, project.folder)[0]))
    ours, asked, floor = (
        statistics.median(getattr(turn, name) for turn in turns)
        for name in ("ours", "config", "floor")
    )
    figure = (
        f"unchanged {ours:.2f} s, compose config {asked:.2f} s, login {floor:.2f} s: "
        f"{ours / (asked + floor):.2f} (medians of {ROUNDS} in turns)"
    )
    prove("4 unchanged", "roll the running release out", "whole processes in turns", figure)
    assert ours <= MOST * (asked + floor), figure


ANEW = f"headway-host compose {PROJECT} up -d"
MOVES = {
    "a restart policy": "docker update --restart=no stack-router-1",
    "a container that was stopped": "docker stop stack-router-1",
    "a container that was made anew": f"{ANEW} --force-recreate router",
    "a tag that fell off": "docker image rm $(docker image ls -q --filter reference=headway-keep "
    "--format {{.Repository}}:{{.Tag}})",
}


@pytest.mark.parametrize("what", MOVES)
def test_what_moved_since_the_last_look_is_seen(stood: tuple[Projects, Docked], what: str) -> None:
    """The seal of an unchanged project is broken by Docker's own files; a repair mends it."""
    project, box = stood
    unchanged(project, box)
    unchanged(project, box)
    box.sh(MOVES[what])

    said = project.rollout(box)

    assert [one["outcome"] for one in said.bodies("rested")] == ["accepted"], said.stderr
    assert {one.policy for one in box.containers(PROJECT).values()} == {"unless-stopped"}
    assert all(one.running for one in box.containers(PROJECT).values())
