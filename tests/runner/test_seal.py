"""A sealed look answers at once, and only as long as nothing it depended on has moved."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from headway.runner import observe, quick, seal
from headway.runner.records import STATE, Records
from headway.wire.gate import criteria_of
from headway.wire.loader import line, load, parse
from headway.wire.record import Orders
from headway.wire.release import Release, release_of
from headway.wire.talk import Done, FromHost, Hello, Rollout, Said
from tests.runner.attempt import Attempt, part
from tests.runner.world import World

REPO = Path(__file__).parents[2]
FOLDER = "/any/runner/abc"


def _heard(row: str | bytes) -> FromHost:
    word: FromHost = load(FromHost, parse(row))  # type: ignore[arg-type] # a Union is no Type
    return word


class Sealed:
    """A host whose release was looked at in full and sealed."""

    def __init__(self, world: World) -> None:
        """Accept a release, give systemd's link for its launch, look, seal."""
        self.world = world
        self.attempt = Attempt(world)
        files = {"/etc/engine/env": "A=1\n"}
        self.release = release_of((part(world, "engine", "one", files),))
        self.attempt.bring(self.release)
        units = world.root / "run/systemd/units"
        units.mkdir(parents=True)
        self.launch = units / "invocation:engine.service"
        self.launch.symlink_to("launch1")
        (world.root / "proc/sys/kernel/random").mkdir(parents=True)
        (world.root / "proc/sys/kernel/random/boot_id").write_text("boot-1\n")
        self.criteria = criteria_of((), "checks")
        self.look()

    def look(self) -> None:
        """Look in full, as an unchanged rollout does."""
        machine, witness = seal.witnessed(self.world.machine, self.release)
        state = Records(witness).state()
        assert observe.differences(self.release, machine) == ()
        seal.put(machine, seal.Look("abc", state, self.release, self.criteria, None))

    def answer(self, release: Release | None = None, orders: Orders | None = None) -> bytes | None:
        """Order a rollout of this release."""
        order = Rollout(release or self.release, self.criteria, orders or Orders("somebody"))
        return quick.sealed(line(order), FOLDER, str(self.world.root))


@pytest.fixture
def host(tmp_path: Path) -> Sealed:
    """A sealed host."""
    return Sealed(World(tmp_path / "host"))


def test_a_sealed_release_is_unchanged_in_the_words_of_the_wire(host: Sealed) -> None:
    """The answer is what a full look says: a last word, unchanged, exit 0."""
    answer = host.answer()
    assert answer is not None
    said, done = map(_heard, answer.splitlines())
    assert isinstance(said, Said)
    assert isinstance(done, Done)
    assert said.event.body.outcome == "unchanged"  # type: ignore[union-attr] # Rested
    assert said.event.at_ms > 1_700_000_000_000
    assert done.exit_code == 0


def _edit(path: str) -> Callable[[Sealed], object]:
    def edit(host: Sealed) -> None:
        real = Path(host.world.disk.real(path))
        data = real.read_bytes()
        real.write_bytes(data)

    return edit


def _relink(host: Sealed) -> None:
    host.launch.unlink()
    host.launch.symlink_to("launch2")


MOVES: dict[str, Callable[[Sealed], object]] = {
    "a file was written, with the same bytes": _edit("/etc/engine/env"),
    "a file's mode": lambda h: Path(h.world.disk.real("/etc/engine/env")).chmod(0o644),
    "a file is gone": lambda h: Path(h.world.disk.real("/etc/engine/env")).unlink(),
    "the unit was edited": _edit("/etc/systemd/system/engine.service"),
    "a drop-in was laid": lambda h: h.world.disk.mkdirs("/etc/systemd/system/engine.service.d"),
    "the unit was disabled": lambda h: h.world.systemd.disable("engine.service"),
    "another launch runs": _relink,
    "nothing runs": lambda h: h.launch.unlink(),
    "the record was written": _edit(STATE),
    "another boot": lambda h: (h.world.root / "proc/sys/kernel/random/boot_id").write_text("b"),
    "users changed": lambda h: (h.world.root / "etc/passwd").write_text("x"),
}


@pytest.mark.parametrize("move", MOVES.values(), ids=MOVES.keys())
def test_whatever_moves_breaks_the_seal(host: Sealed, move: Callable[[Sealed], object]) -> None:
    """Then the host is looked at in full: the seal only ever says less."""
    assert host.answer() is not None
    move(host)
    assert host.answer() is None


def test_another_release_or_a_restart_is_not_answered_by_the_seal(host: Sealed) -> None:
    """The seal is of one release as it was, byte for byte, and of no relaunch."""
    other = release_of((part(host.world, "engine", "two"),))
    assert host.answer(other) is None
    assert host.answer(orders=Orders("somebody", relaunch=("engine",))) is None


def test_a_seal_of_another_runner_does_not_count(host: Sealed) -> None:
    """Other code may look at other things."""
    order = line(Rollout(host.release, host.criteria, Orders("somebody")))
    assert quick.sealed(order, "/any/runner/def", str(host.world.root)) is None


def test_a_look_that_cannot_be_compared_is_not_sealed(host: Sealed) -> None:
    """Without systemd's link nobody knows cheaply whether the launch is the same."""
    host.launch.unlink()
    Path(host.world.disk.real(quick.SEAL)).unlink()
    host.look()
    assert host.answer() is None


def test_hello_is_the_wire_s_hello() -> None:
    """What is worded by hand reads as the type."""
    words = quick.hello("/var/lib/headway/runner/abc").decode().partition(" ")[2]
    hello = _heard(words)
    assert isinstance(hello, Hello)
    assert (hello.runner, hello.hostname) == ("abc", os.uname().nodename)


def test_the_quick_way_loads_next_to_nothing() -> None:
    """It is what an unchanged host pays: no dataclasses, no json, no subprocess."""
    code = (
        f"import sys; sys.path.insert(0, {str(REPO)!r}); before = set(sys.modules); "
        "import headway.runner.quick; print(*sorted(set(sys.modules) - before))"
    )
    argv = [sys.executable, "-I", "-S", "-c", code]
    ran = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    heavy = {"dataclasses", "enum", "json", "re", "socket", "subprocess", "typing"}
    assert not heavy & set(ran.split())
