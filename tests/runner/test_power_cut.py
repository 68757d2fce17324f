"""A host that dies at its k-th durable step, for every k (DESIGN 8.2).

What was not synced is lost. After the boot and recovery the tree is A's or B's, byte for byte, the
right units run, and the record says which: never a mixture, never a guard left behind.
"""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from headway.runner import guard
from headway.runner.changes import Change
from headway.runner.records import Records
from headway.runner.steps import Steps
from headway.wire.phase import Phase
from headway.wire.record import Before, Transition
from headway.wire.release import Release, release_of
from tests.runner.attempt import Attempt, part
from tests.runner.world import PowerCut, World

Tree = dict[str, tuple[str, int, bytes]]


class Scene:
    """A host on A with B ready to be rolled out, laid anew from a template for every cut."""

    def __init__(self, folder: Path, second: str) -> None:
        """Make the template, and learn what A's and B's trees look like when nothing is cut."""
        self.folder = folder
        self.template = folder / "template"
        world = World(self.template)
        attempt = Attempt(world)
        files = {"/etc/engine/env": "A=1\n"}
        self.a = release_of((part(world, "engine", "a", files), part(world, "gone", "a")))
        attempt.bring(self.a)
        files = {"/etc/engine/env": "A=2\n", "/opt/new/deep": "x"}
        self.b = release_of((part(world, "engine", second, files), part(world, "more", "b")))
        self.up = dict(world.systemd.up)
        shutil.rmtree(world.disk.durable)
        world, attempt, _, _ = self.fresh()
        self.tree_a = world.tree()
        attempt.bring(self.b)
        self.tree_b = world.tree()

    def fresh(self) -> tuple[World, Attempt, Release, Release]:
        """Lay the host again."""
        host = self.folder / "host"
        for old in (host, Path(str(host) + ".durable")):
            shutil.rmtree(old, ignore_errors=True)
        shutil.copytree(self.template, host, symlinks=True)
        world = World(host)
        world.systemd.up.update(self.up)
        attempt = Attempt(world)
        attempt.count = 10
        return world, attempt, self.a, self.b

    def steps(self, act: Callable[[Attempt, Release], object]) -> int:
        """Count the durable steps of an act."""
        world, attempt, _, b = self.fresh()
        world.cut_at(0)
        act(attempt, b)
        return world.disk.steps

    def boots(self, world: World, where: str) -> None:
        """Boot, and see that nothing runs by itself that was not accepted."""
        world.power_back()
        if Attempt(world).state().running() == self.a.id:
            unproven = [u for u in world.systemd.up if "Description=a" not in world.systemd.text(u)]
            assert not unproven, f"{where}: {unproven} started unproven"

    def check(self, world: World, attempt: Attempt, where: str) -> None:
        """See that the host is whole."""
        state = attempt.state()
        assert state.phase is Phase.IDLE, f"{where}: {state.phase.value}: {state.why}"
        expected = self.tree_a if state.running() == self.a.id else self.tree_b
        assert state.running() in (self.a.id, self.b.id), where
        assert world.tree() == expected, where
        assert guard.guarded(world.machine) == [], where
        names = {"engine.service"}
        names.add("gone.service" if state.running() == self.a.id else "more.service")
        assert set(world.systemd.up) == names, where


def _cut(world: World, act: Callable[[], object], step: int) -> bool:
    world.cut_at(step)
    try:
        act()
    except PowerCut:
        return True
    return False


@pytest.fixture
def memory() -> Iterator[Path]:
    """A folder in memory where there is one: a thousand hosts are laid and thrown away."""
    where = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=where) as folder:
        yield Path(folder)


def cut_everywhere(scene: Scene) -> int:
    """Cut the rollout of B at every step; boot; recover; look. Give the number of steps."""
    total = scene.steps(lambda attempt, b: attempt.bring(b))
    for step in range(1, total + 1):
        world, attempt, _, b = scene.fresh()
        assert _cut(world, partial(attempt.bring, b), step)
        where = f"cut at {step} of {total}"
        scene.boots(world, where)
        after = Attempt(world)
        after.pick_up()
        scene.check(world, after, where)
    return total


@pytest.mark.parametrize("second", ["b", "WRONG-health"])
def test_a_cut_at_any_durable_write_leaves_a_or_b(memory: Path, second: str) -> None:
    """Whatever was being written: the tree is A's or B's, and only what was accepted starts."""
    assert cut_everywhere(Scene(memory, second)) > 40


def test_a_guard_that_is_not_put_is_found_out(
    memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sweep is not vacuous: without guards B starts by itself after a cut."""
    scene = Scene(memory, "b")
    monkeypatch.setattr(guard, "put", lambda *_: None)
    with pytest.raises(AssertionError, match="started unproven"):
        cut_everywhere(scene)


def test_two_writes_in_the_wrong_order_are_found_out(
    memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sweep is not vacuous: with files written before the note that they are, A is lost."""
    scene = Scene(memory, "b")
    keep, write = Records.keep_transition, Steps.write
    late: list[Transition] = []

    def keep_later(self: Records, transition: Transition) -> None:
        """Hold back the note of a part that is being tried."""
        if transition.tried:
            late.append(transition)
        else:
            keep(self, transition)

    def write_first(
        self: Steps, change: Change, target: Release, under: tuple[Before, ...]
    ) -> None:
        """Write the part, and only then what was held back."""
        write(self, change, target, under)
        while late:
            keep(Records(self.machine.disk), late.pop())

    monkeypatch.setattr(Records, "keep_transition", keep_later)
    monkeypatch.setattr(Steps, "write", write_first)
    with pytest.raises(AssertionError):
        cut_everywhere(scene)


def test_a_cut_during_recovery_is_recovered_too(memory: Path) -> None:
    """Cut the rollout in the middle, then cut the way back everywhere."""
    scene = Scene(memory, "b")
    total = scene.steps(lambda attempt, b: attempt.bring(b))
    for first in (total // 3, total // 2, 2 * total // 3):
        second = 0
        while True:
            second += 1
            world, attempt, _, b = scene.fresh()
            _cut(world, partial(attempt.bring, b), first)
            scene.boots(world, f"cut at {first}")
            if not _cut(world, Attempt(world).pick_up, second):
                break
            world.power_back()
            after = Attempt(world)
            after.pick_up()
            scene.check(world, after, f"cut at {first}, then at {second}")


def test_a_runner_that_dies_at_any_durable_write_leaves_a_or_b(memory: Path) -> None:
    """The same without a power cut: the page cache is kept, /run too, and the boot goes on."""
    scene = Scene(memory, "b")
    total = scene.steps(lambda attempt, b: attempt.bring(b))
    for step in range(1, total + 1):
        world, attempt, _, b = scene.fresh()
        _cut(world, partial(attempt.bring, b), step)
        world.cut_at(0)
        after = Attempt(world)
        after.pick_up()
        scene.check(world, after, f"died at {step} of {total}")
