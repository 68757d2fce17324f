"""A host with a project dies at every durable step of a transition: no policy is ever lost.

The guard of a container is its restart policy, which lies in Docker; the operator's own lies in
headway's record meanwhile. Between the two the power may go at any write.
"""

import shutil
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path

import pytest

from headway.runner.steps import StepError
from headway.wire.phase import Phase
from headway.wire.record import Orders
from headway.wire.release import Release
from headway.wire.resources import Service
from headway.wire.verdict import Verdict
from tests.runner.attempt import Attempt
from tests.runner.containers.world import POLICY, StackWorld, short_folder
from tests.runner.world import PowerCut

OPERATORS = {"engine": POLICY, "router": POLICY}


class Scene:
    """A host on A, laid anew for every cut."""

    def __init__(self, folder: Path) -> None:
        """Bring it to A once."""
        self.folder = folder
        world = StackWorld(folder / "t")
        self.a = world.release()
        assert Attempt(world).bring(self.a).exit_code == 0
        self.containers = deepcopy(world.docker.containers)
        self.docker_made = world.docker.made
        world.docker.close()
        shutil.rmtree(world.disk.durable)
        shutil.rmtree(folder / "t/run")

    def fresh(self) -> tuple[StackWorld, Attempt]:
        """Lay the host again."""
        host = self.folder / "h"
        for old in (host, Path(str(host) + ".durable")):
            shutil.rmtree(old, ignore_errors=True)
        shutil.copytree(self.folder / "t", host, symlinks=True)
        world = StackWorld(host)
        world.docker.containers = deepcopy(self.containers)
        world.docker.made = self.docker_made
        attempt = Attempt(world)
        attempt.count = 10
        return world, attempt

    def walk(
        self, target: Release, *, sick: str = "", crash: bool = False, again: tuple[str, ...] = ()
    ) -> int:
        """Cut (or kill the runner) at every step of the way to a release; count the steps.

        `again` are parts that are launched although nothing of them differs.
        """
        orders = Orders("test", relaunch=again)
        kind = "repair" if target == self.a else "rollout"
        cut = 0
        while True:
            cut += 1
            world, attempt = self.fresh()
            if sick:
                world.verdicts[sick] = Verdict.FAIL
            order = attempt.order(self.a, target, kind, orders)
            world.cut_at(cut)
            try:
                attempt.open(order)
            except PowerCut:
                self.comes_back(world, target, cut, sick=sick, crash=crash)
            else:
                world.docker.close()
                return cut
            world.docker.close()

    def comes_back(
        self, world: StackWorld, target: Release, cut: int, *, sick: str, crash: bool
    ) -> None:
        """Boot or start the runner again, recover, and see that the host is whole."""
        world.cut_at(0)
        if not crash:
            world.power_back()
        attempt = Attempt(world)
        attempt.pick_up()
        state = attempt.state()
        where = f"cut {cut}: {state.phase.value} {state.why}"
        assert state.phase is Phase.IDLE, where
        assert state.running() in ({self.a.id} if sick else {self.a.id, target.id}), where
        wanted = self.a if state.running() == self.a.id else target
        images = {
            part.name.partition(".")[2]: world.docker.images[resource.pin.name()]
            for part in wanted.parts
            for resource in part.resources
            if isinstance(resource, Service)
        }
        assert world.running() == images, where
        assert world.policies() == OPERATORS, where


@pytest.fixture(scope="module")
def scene() -> Iterator[Scene]:
    """Give the host."""
    with short_folder() as folder:
        yield Scene(folder)


@pytest.mark.parametrize("crash", [False, True], ids=["power cut", "runner killed"])
def test_no_policy_is_lost_on_the_way_to_another_image(scene: Scene, crash: bool) -> None:
    """The containers that run are A's or B's, each with the operator's policy again."""
    world, _ = scene.fresh()
    target = world.release(engine="v2", router="v2")
    world.docker.close()

    assert scene.walk(target, crash=crash) > 30


@pytest.mark.parametrize("crash", [False, True], ids=["power cut", "runner killed"])
def test_no_policy_is_lost_on_the_way_back(scene: Scene, crash: bool) -> None:
    """The second service fails: both go back, and a cut on that way changes nothing of it."""
    world, _ = scene.fresh()
    target = world.release(engine="v2", router="v2")
    world.docker.close()

    assert scene.walk(target, sick="health chat.router", crash=crash) > 30


@pytest.mark.parametrize("crash", [False, True], ids=["power cut", "runner killed"])
def test_no_policy_is_lost_where_the_container_stays(scene: Scene, crash: bool) -> None:
    """The accepted release is launched again: Compose keeps the guarded container, "no" and all."""
    assert scene.walk(scene.a, crash=crash, again=("chat.engine", "chat.router")) > 20


def test_nothing_unproven_starts_at_boot(scene: Scene) -> None:
    """While B is tried its containers carry "no", whatever the files say: `always` would start."""
    world, attempt = scene.fresh()
    target = world.release(engine="v2")
    seen: list[dict[str, str]] = []
    world.on_judge = lambda: seen.append(world.policies())

    attempt.bring(target)

    world.docker.close()
    assert {row["engine"] for row in seen} == {"no"}
    assert {row["router"] for row in seen} == {POLICY}, "a neighbour keeps its own"
    assert world.policies() == OPERATORS


def test_a_guard_that_cannot_be_put_is_a_refusal(scene: Scene) -> None:
    """Docker refuses the policy before anything is touched: said with its words, and as it was."""
    world, attempt = scene.fresh()
    target = world.release(engine="v2")
    order = attempt.order(scene.a, target)
    world.docker.refuses["update"] = "layer does not exist"

    with pytest.raises(StepError, match="layer does not exist"):
        attempt.open(order)  # the guard cannot be taken off either: the runner is started again
    world.docker.refuses.clear()
    attempt.pick_up()

    world.docker.close()
    assert attempt.state().phase is Phase.IDLE
    assert world.policies() == OPERATORS


def test_a_guard_that_fails_once_is_a_refusal_with_its_words(scene: Scene) -> None:
    """What Docker said is the sentence; guards are off, and nothing was stopped."""
    world, attempt = scene.fresh()
    target = world.release(engine="v2", router="v2")
    order = attempt.order(scene.a, target)
    running = {one["Id"] for one in world.docker.containers.values() if one["State"]["Running"]}
    first = world.docker.one("chat", "router")["Id"]
    world.docker.refuses_once[f"update --restart=no {first}"] = "layer does not exist"

    said = attempt.open(order)

    world.docker.close()
    assert (said.exit_code, said.phase) == (8, Phase.IDLE)
    assert "layer does not exist" in said.sentence
    assert {one["Id"] for one in world.docker.containers.values()} == running
    assert world.policies() == OPERATORS
