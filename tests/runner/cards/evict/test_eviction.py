"""Cards in a whole transition, over a host double with a table of processes."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from headway.runner.cards.evict import eviction
from headway.runner.cards.evict.eviction import Eviction
from headway.runner.cards.evict.launches import PATH, Launches
from headway.runner.cards.evict.measure import Owed
from headway.runner.cards.evict.process import Process
from headway.runner.clock import Clock
from headway.runner.desk import Desk
from headway.runner.machine import Machine
from headway.runner.teller import Teller
from headway.runner.watch import Watch
from headway.wire.event import Answer, Asked, Rung, StepBegan
from headway.wire.loader import dumps
from headway.wire.phase import Exit, Phase
from headway.wire.release import Release, release_of
from headway.wire.talk import Freed
from tests.runner.attempt import Attempt, part
from tests.runner.cards.evict.table import GIB, Table
from tests.runner.world import StillClock, World

ENGINE, OTHER = "/system.slice/engine.service", "/system.slice/other.service"


class Clocked(StillClock):
    """A clock that lets something happen whenever time passes."""

    on_sleep: Callable[[], None] = staticmethod(lambda: None)

    def sleep(self, seconds: float) -> None:
        """Pass time at once."""
        super().sleep(seconds)
        self.on_sleep()


@dataclass
class Cards:
    """A world whose units hold cards while they run, as a table of processes says."""

    world: World
    table: Table
    attempt: Attempt
    evictions: list[Eviction]
    leaves: set[str] = field(default_factory=set)
    pids: Iterator[int] = field(default_factory=lambda: iter(range(100, 999)))

    def look(self) -> None:
        """Let processes follow the units: a launch brings a worker, a stop ends it, but not all."""
        for unit, launch in self.world.systemd.up.items():
            if launch not in self.table.launched:
                self.table.launched[launch] = next(self.pids)
                pid = self.table.launched[launch]
                process = Process(pid, pid * 10, "VLLM::Worker", f"/system.slice/{unit}")
                self.table.add(process, card0=40 * GIB)
        running = set(self.world.systemd.up.values())
        for launch, pid in list(self.table.launched.items()):
            if launch not in running and launch not in self.leaves:
                self.table.end(pid)

    def rungs(self) -> list[str]:
        """Name the rungs that the last transition told."""
        bodies = [event.body for event in self.attempt.records.events(self.last())]
        return [body.rung for body in bodies if isinstance(body, Rung)]

    def killed(self) -> set[str]:
        """Name the parts of which the last transition killed something."""
        return self.evictions[-1].killed

    def last(self) -> str:
        """Name the newest transition."""
        return f"t{self.attempt.count}"


@pytest.fixture
def cards(tmp_path: Path) -> Cards:
    """Return a bare host with cards."""
    world = World(tmp_path / "host")
    world.clock = Clocked()
    table = Table(clock=world.clock)
    evictions: list[Eviction] = []

    def freeing(machine: Machine, tell: Teller, desk: Desk, clock: Clock, watch: Watch) -> Eviction:
        evictions.append(Eviction(machine, tell, desk, clock, watch, table))
        return evictions[-1]

    made = Cards(world, table, Attempt(world, freeing), evictions)
    table.before_look = made.look
    return made


def engine(cards: Cards, words: str) -> Release:
    """Make a release of an engine beside another one."""
    world = cards.world
    return release_of((part(world, "other", "same"), part(world, "engine", words)))


def test_workers_that_outlive_their_unit_are_ended_before_the_next_one_starts(
    cards: Cards,
) -> None:
    """A's worker stays when systemd stops it: evicted, B starts on free cards, the other lives."""
    cards.attempt.bring(engine(cards, "a"))
    cards.leaves = set(cards.world.systemd.up.values())
    launches = dict(cards.world.systemd.up)
    rested = cards.attempt.bring(engine(cards, "b"))
    assert (rested.exit_code, rested.outcome) == (Exit.ACCEPTED, "accepted")
    old, other = (cards.table.launched[launches[f"{u}.service"]] for u in ("engine", "other"))
    assert [process.pid for process in cards.table.killed] == [old]
    assert other in cards.table.processes
    assert cards.rungs() == ["stop", "cgroup"]
    assert cards.killed() == {"engine"}


def test_what_cannot_die_ends_stuck_and_nobody_else_is_ended(cards: Cards) -> None:
    """The machine is named: no way back is tried, exit 7; the other engine's launch lives."""
    cards.attempt.bring(engine(cards, "a"))
    cards.leaves = set(cards.world.systemd.up.values())
    launches = dict(cards.world.systemd.up)
    old = cards.table.launched[launches["engine.service"]]
    cards.table.undying = {old}
    rested = cards.attempt.bring(engine(cards, "b"))
    assert (rested.exit_code, rested.outcome) == (Exit.STUCK, "stuck")
    assert f"evict of engine: needs a reboot: pid {old}:{old * 10}" in rested.sentence
    assert cards.attempt.state().rejected == ()
    assert {process.pid for process in cards.table.killed} == {old}
    assert cards.world.systemd.up == {"other.service": launches["other.service"]}


def test_a_debt_outlives_the_runner(cards: Cards, monkeypatch: pytest.MonkeyPatch) -> None:
    """The runner dies while a driver unwinds: its successor still waits for the same bytes."""
    cards.attempt.bring(engine(cards, "a"))
    cards.table.unwinds_ms = 100_000

    class Died(BaseException):
        """The runner is gone."""

    def dies(_seconds: float) -> None:
        raise Died

    with monkeypatch.context() as patch:
        patch.setattr(cards.world.clock, "sleep", dies)
        with pytest.raises(Died):
            cards.attempt.bring(engine(cards, "b"))
    assert cards.attempt.state().phase is Phase.TRYING
    began = cards.world.clock.boot_ms()
    rested = cards.attempt.pick_up()
    assert rested is not None
    assert rested.outcome == "went back"
    assert cards.world.clock.boot_ms() - began >= 99_000


def test_a_reboot_voids_debts_and_launches(cards: Cards) -> None:
    """Pids begin anew, and cards are free: what was recorded under another boot is nobody's."""
    cards.attempt.bring(engine(cards, "a"))
    assert Launches(cards.world.disk, "boot-1").of("engine") is not None
    assert Launches(cards.world.disk, "boot-2").of("engine") is None
    cards.world.disk.write(PATH, b"{oops")
    assert Launches(cards.world.disk, "boot-1").of("engine") is None


def test_a_debt_of_another_boot_is_void(cards: Cards) -> None:
    """What it counts was given back by the reboot: nobody waits for it."""
    a = engine(cards, "a")
    cards.attempt.bring(a)
    b = engine(cards, "b")
    transition = cards.attempt.order(a, b)
    path = f"{cards.attempt.records.folder(transition.id)}/owed-engine.json"
    huge = Owed("boot-0", {"GPU-0": 90 * GIB}, {"GPU-0": GIB}, {"GPU-0": 0})
    cards.world.disk.write(path, dumps(huge).encode())
    assert cards.attempt.open(transition).outcome == "accepted"
    assert cards.world.disk.seen(path) is None


def test_a_part_that_never_held_a_card_costs_no_step(cards: Cards) -> None:
    """No step, no rung, no record of it."""
    cards.table.before_look = lambda: None
    cards.attempt.bring(engine(cards, "a"))
    cards.attempt.bring(engine(cards, "b"))
    bodies = [event.body for event in cards.attempt.records.events(cards.last())]
    assert "evict" not in [body.step for body in bodies if isinstance(body, StepBegan)]
    assert cards.world.disk.seen(PATH) is None


@pytest.mark.parametrize(
    ("answer", "code"),
    [(dumps(Freed()), Exit.ACCEPTED), ("it is off", Exit.STUCK), ("", Exit.STUCK)],
)
def test_a_guest_asks_for_its_node(cards: Cards, answer: str, code: Exit) -> None:
    """Memory is used and nobody is to be seen: the ask goes out, silence is not waited out long."""
    cards.world.disk.mkdirs("/run/systemd")
    cards.world.disk.write(eviction.CONTAINER, b"lxc")
    a = engine(cards, "a")
    cards.attempt.bring(a)
    b = engine(cards, "b")
    cards.table.idle = {0: 83 * GIB}
    transition = cards.attempt.order(a, b)
    running = cards.attempt.running(transition)

    def answers() -> None:
        cards.look()
        for event in cards.attempt.records.events(transition.id):
            if isinstance(event.body, Asked) and answer:
                cards.attempt.records.put_answer(
                    transition.id, Answer(event.body.ask.n, answer, "x")
                )

    cards.table.before_look = answers
    assert isinstance(cards.world.clock, Clocked)
    cards.world.clock.on_sleep = answers
    began = cards.world.clock.boot_ms()
    rested = running.open()
    assert rested.exit_code == code
    assert cards.world.clock.boot_ms() - began < 200_000
    assert ("needs the node: card 0: 83.0 GiB" in rested.sentence) is (code is Exit.STUCK)
