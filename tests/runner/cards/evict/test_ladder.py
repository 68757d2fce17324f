"""The ladder over a table of processes: who is ended, who never is, and when it is done."""

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.runner.cards.evict.claim import SPARED, Claim
from headway.runner.cards.evict.ladder import EVICT_S, Ladder
from headway.runner.cards.evict.measure import owed
from headway.runner.cards.evict.process import Process
from headway.runner.cards.evict.sight import Sight
from headway.runner.freeing import NotFreedError
from headway.wire.cards import Holder
from headway.wire.event import Body, Rung
from headway.wire.loader import dumps, parse
from headway.wire.talk import Freed
from tests.lab.proof import Proofs
from tests.runner.cards.evict.table import GIB, OPEN, Table

ENGINE, OTHER = "/system.slice/engine.service", "/system.slice/other.service"
STRAY = "/user.slice/user-0.slice/session-3.scope"


OURS = Claim((ENGINE,), frozenset(), (OTHER,), ("engine.service",))


def worker(pid: int, cgroup: str = ENGINE, name: str = "VLLM::Worker", started: int = 0) -> Process:
    """Make a process."""
    return Process(pid, started or pid * 10, name, cgroup)


@dataclass
class Attempt:
    """One eviction of engine.service beside other.service."""

    table: Table
    claim: Claim = OURS
    may_kill: tuple[str, ...] = ()
    idle: dict[str, int] | None = None
    answer: str | None = None
    told: list[Body] = field(default_factory=list)
    asked: list[object] = field(default_factory=list)
    says_killed: bool = False

    def climb(self, before: Table | None = None) -> str:
        """Climb; the debt is what `before` shows, else what is so now."""
        debt = owed((before or self.table).sight(self.claim), self.claim, "boot")
        return self.climb_for(debt)

    def climb_for(self, debt: "object") -> str:
        """Climb for a debt of before."""
        clock = self.table.clock
        ladder = Ladder(
            hands=self.table,
            claim=self.claim,
            part="engine",
            tell=self.told.append,
            clock=clock,
            until_ms=clock.boot_ms() + 1000 * EVICT_S,
            may_kill=self.may_kill,
            node=self._ask if self.answer is not None else None,
            idle=self.idle,
        )
        said = ladder.climb(debt, clock.boot_ms())  # type: ignore[arg-type]
        self.says_killed = ladder.killed
        return said

    def rungs(self) -> list[str]:
        """Name the rungs that were told."""
        return [body.rung for body in self.told if isinstance(body, Rung)]

    def killed(self) -> set[int]:
        """Name who was sent SIGKILL."""
        return {process.pid for process in self.table.killed}

    def _ask(self, detail: str, limit_s: int) -> str:
        assert limit_s > 0
        self.asked.append(parse(detail))
        return self.answer or ""


@pytest.fixture
def table() -> Table:
    """Give two cards and nobody."""
    return Table()


# --- who is ended -----------------------------------------------------------------------------


def test_workers_that_outlived_their_front_are_ended_with_their_cgroup(table: Table) -> None:
    """The front was killed -9; a worker a card holds 83 GiB: both rungs are told, all is back."""
    for pid, card in ((11, 0), (12, 1)):
        table.add(worker(pid), **{f"card{card}": 83 * GIB})
    attempt = Attempt(table)
    assert attempt.climb() == "166.0 GiB back"
    assert attempt.killed() == {11, 12}
    assert (table.units, attempt.rungs()) == (["engine.service"], ["stop", "cgroup"])
    assert attempt.says_killed
    stopped, killed = (body for body in attempt.told if isinstance(body, Rung))
    assert stopped.before == stopped.after == killed.before
    assert killed.before[0] == f"pid 11:110 (VLLM::Worker) in {ENGINE} holds 83.0 GiB of card 0"
    assert killed.after == ()


def test_a_worker_that_left_the_cgroup_is_known_by_its_launch(table: Table) -> None:
    """Recorded by pid and start time it is ours, wherever it lies; systemd does not reach it."""
    table.add(worker(11, STRAY), card0=GIB)
    claim = Claim((ENGINE,), frozenset({(11, 110)}), (OTHER,), ("engine.service",))
    attempt = Attempt(table, claim)
    attempt.climb()
    assert attempt.killed() == {11}
    assert attempt.rungs() == ["stop", "holders"]


def test_a_recorded_number_of_another_start_is_somebody_else(table: Table) -> None:
    """The pid was given out anew: no kill; it holds a card and is told as not ours."""
    table.add(worker(11, STRAY, "python3", started=999), card0=GIB)
    attempt = Attempt(table, Claim((ENGINE,), frozenset({(11, 110)}), (OTHER,)))
    said = attempt.climb()
    assert attempt.killed() == set()
    assert said == f"not ours: pid 11:999 (python3) in {STRAY} holds 1.0 GiB of card 0"


def test_a_number_given_out_between_the_look_and_the_kill_is_spared(table: Table) -> None:
    """The pidfd is opened first and looked at again: another start time, nothing is sent."""
    table.add(worker(11, STRAY), card0=GIB)
    attempt = Attempt(table, Claim((ENGINE,), frozenset({(11, 110)}), (OTHER,)))

    def reused() -> None:
        table.add(worker(11, STRAY, "backup", started=5000))

    looks = iter(range(9))
    table.after_look = lambda: reused() if next(looks, 9) == 1 else None
    attempt.climb()
    assert attempt.killed() == set()
    (rung,) = (b for b in attempt.told if isinstance(b, Rung) and b.rung == "holders")
    assert "pid 11 is another process by now, started at 5000: no kill" in rung.sentence


def test_one_that_moved_to_another_cgroup_meanwhile_is_spared(table: Table) -> None:
    """What it was matched by is not so any more: no kill."""
    table.add(worker(11, STRAY), card0=GIB)
    attempt = Attempt(table, Claim((ENGINE,), frozenset({(11, 110)}), (OTHER,)))
    looks = iter(range(9))

    def moved() -> None:
        if next(looks, 9) == 1:
            table.add(worker(11, OTHER), card0=GIB)

    table.after_look = moved
    attempt.climb()
    assert attempt.killed() == set()


def test_the_neighbour_wins_over_the_record(table: Table) -> None:
    """Whatever lies in a living subject's cgroup is its own, recorded or not, claimed or not."""
    table.add(worker(11, OTHER + "/workers"), card0=GIB)
    attempt = Attempt(table, Claim((ENGINE, OTHER), frozenset({(11, 110)}), (OTHER,)))
    attempt.climb()
    assert attempt.killed() == set()


@pytest.mark.parametrize("name", SPARED)
def test_displays_and_the_driver_s_own_are_never_ended(table: Table, name: str) -> None:
    """Not even where they lie in our cgroup, were recorded, and a person names them."""
    table.add(worker(11, ENGINE, name[:15]), card0=GIB)
    claim = Claim((ENGINE,), frozenset({(11, 110)}), (OTHER,))
    attempt = Attempt(table, claim, may_kill=("11:110",))
    attempt.climb()
    assert attempt.killed() == set()


@pytest.mark.parametrize(
    ("named", "word"),
    [
        ("21:210", ""),
        ("21:211", "pid 21 is another process, of start time 210: no kill"),
        ("21", "pid 21 is another process, of start time 210: no kill"),
        ("22:220", "other is a neighbour's: no kill"),
        ("23:230", "smi holds no card: no kill"),
        ("99:990", "no process of that number has a card open"),
        ("", "no process of that number has a card open"),
    ],
)
def test_a_stranger_is_ended_only_by_pid_and_start_time(
    table: Table, named: str, word: str
) -> None:
    """A name on the command line ends exactly that process, or nobody, and says why."""
    table.add(worker(21, STRAY, "train"), card0=GIB)
    table.add(worker(22, OTHER, "other"), card1=GIB)
    table.add(Process(23, 230, "smi", STRAY, devices=("/dev/nvidiactl",)))
    attempt = Attempt(table, may_kill=(named,))
    attempt.climb()
    assert attempt.killed() == ({21} if not word else set())
    assert attempt.rungs() == ["named"]
    (rung,) = (body for body in attempt.told if isinstance(body, Rung))
    assert word in rung.sentence


def test_a_listed_number_without_a_card_open_is_nobody_here(table: Table) -> None:
    """Drivers before 535.113 tell a guest its node's pids: a person may not even name it."""
    table.add(worker(31, STRAY, "sshd-session"), card0=GIB)
    table.processes[31] = worker(31, STRAY, "sshd-session")
    attempt = Attempt(table, may_kill=("31:310",))
    attempt.climb()
    assert attempt.killed() == set()
    seen = Sight(table.sight(OURS).cards, (table.processes[31],))
    assert seen.strangers(OURS) == ()


def test_who_asks_nvml_holds_nothing(table: Table) -> None:
    """An exporter, our own child: they have cards open, uvm too, and are no strangers."""
    table.processes[32] = Process(32, 320, "nvitop", STRAY, devices=OPEN)
    assert Attempt(table, may_kill=("32:320",)).climb() == ""
    assert table.killed == []


@pytest.mark.parametrize(
    "cgroup", ["/", "", "/system.slice", "/init.scope", "/user.slice/..", "/lxc/129/ns"]
)
def test_what_is_not_one_unit_s_cgroup_claims_nobody(table: Table, cgroup: str) -> None:
    """A slice or a root would be everybody."""
    table.add(worker(11, "/system.slice/engine.service"), card0=GIB)
    table.add(worker(12, "/init.scope"), card0=GIB)
    attempt = Attempt(table, Claim((cgroup,)))
    attempt.climb()
    assert attempt.killed() == set()


# --- when it is done --------------------------------------------------------------------------


def test_a_driver_that_unwinds_is_waited_for(table: Table) -> None:
    """The processes are gone at once, the memory two minutes later: that is when it is done."""
    table.add(worker(11), card0=83 * GIB)
    table.unwinds_ms = 120_000
    began = table.clock.boot_ms()
    assert Attempt(table).climb() == "83.0 GiB back"
    assert 120_000 <= table.clock.boot_ms() - began <= 122_000


def test_memory_that_never_comes_back_needs_a_reboot(table: Table) -> None:
    """No process is left and 83 GiB are used: the sentence says so, with the rung that says it."""
    table.add(worker(11), card0=83 * GIB)
    table.leaks = {11}
    attempt = Attempt(table)
    with pytest.raises(
        NotFreedError, match=r"needs a reboot: card 0: 0.0 GiB of 83.0 GiB are back"
    ):
        attempt.climb()
    assert attempt.rungs() == ["stop", "cgroup", "reboot"]


def test_what_cannot_die_needs_a_reboot_and_nobody_else_is_ended_for_it(table: Table) -> None:
    """It hangs in the driver; its neighbours live, and the sentence says where it hangs."""
    table.add(worker(11), card0=83 * GIB)
    table.add(worker(12, OTHER), card1=83 * GIB)
    table.add(worker(13, STRAY), card1=GIB)
    table.undying = {11}
    attempt = Attempt(table)
    with pytest.raises(NotFreedError, match=r"needs a reboot: pid 11:110 .*uvm_spin_loop"):
        attempt.climb()
    assert attempt.killed() == {11}
    assert attempt.rungs() == ["stop", "cgroup", "holders", "reboot"]


@pytest.mark.parametrize("grown", [-20, 0, 20])
def test_what_a_neighbour_takes_or_gives_meanwhile_is_accounted_for(
    table: Table, grown: int
) -> None:
    """It loads 20 GiB while ours go, or ends: ours are back all the same, and no sooner."""
    table.add(worker(11), card0=83 * GIB)
    table.add(worker(12, OTHER), card0=30 * GIB)
    attempt = Attempt(table)
    debt = owed(table.sight(attempt.claim), attempt.claim, "boot")
    table.add(worker(12, OTHER), card0=(30 + grown) * GIB)
    assert attempt.climb_for(debt) == "83.0 GiB back"
    table.idle = {0: 5 * GIB}  # 5 GiB of the 83 that came back are used by nobody
    with pytest.raises(NotFreedError, match=r"78\.0 GiB of 83\.0 GiB are back"):
        attempt.climb_for(debt)


def test_a_process_that_ends_just_then_is_nothing_to_speak_of(table: Table) -> None:
    """Gone is gone: no rung beyond the first, no sentence."""
    table.add(worker(11), card0=GIB)
    attempt = Attempt(table)
    debt = owed(table.sight(attempt.claim), attempt.claim, "boot")
    table.end(11)
    assert attempt.climb_for(debt) == "1.0 GiB back"
    assert attempt.rungs() == ["stop"]


def test_a_card_that_is_not_seen_any_more_is_not_called_free(table: Table) -> None:
    """It fell off the bus while ours were ended: NVML's own sentence is the reason."""
    table.add(worker(11), card0=GIB)
    attempt = Attempt(table)
    debt = owed(table.sight(attempt.claim), attempt.claim, "boot")
    table.trouble = ("card 0: fallen off the bus",)
    with pytest.raises(NotFreedError, match=r"GPU-0 is not seen any more: card 0: fallen off"):
        attempt.climb_for(debt)


# --- a guest ----------------------------------------------------------------------------------


def guest(table: Table, answer: str) -> Attempt:
    """Let a guest's card be held by somebody whom it does not see: 83 GiB more than at rest."""
    table.idle = {0: 85 * GIB}
    return Attempt(table, idle={"GPU-0": 2 * GIB}, answer=answer)


def test_a_guest_s_memory_that_nobody_holds_is_freed_by_the_node(table: Table) -> None:
    """The cgroup goes with the ask; the node's word is the measure, for it sees everybody."""
    freed = Freed(ended=(Holder(70011, 5, 83 * GIB, "compute"),))
    attempt = guest(table, dumps(freed))
    assert attempt.climb() == "1 of its processes ended by the node"
    (asked,) = attempt.asked
    assert isinstance(asked, dict)
    assert asked["cgroup"] == ENGINE
    assert attempt.rungs() == ["node"]


@pytest.mark.parametrize(
    "answer",
    [
        "nobody answered for the node",
        dumps(Freed(sentence="the node is locked")),
        dumps(Freed(left=(Holder(70011, 5, GIB, "compute"),))),
        '{"surprise":1}',
    ],
)
def test_a_node_that_does_not_help_ends_it_within_the_deadline(table: Table, answer: str) -> None:
    """No answer, a refusal or somebody left: "needs the node", and never a hang."""
    attempt = guest(table, answer)
    began = table.clock.boot_ms()
    with pytest.raises(NotFreedError, match=r"^needs the node: card 0: 85.0 GiB are used"):
        attempt.climb()
    assert table.clock.boot_ms() - began < 1000 * EVICT_S
    assert attempt.killed() == set()


def test_what_another_guest_always_held_is_no_reason_to_ask(table: Table) -> None:
    """As much was used by nobody when the release was accepted."""
    table.idle = {0: 40 * GIB}
    attempt = Attempt(table, idle={"GPU-0": 40 * GIB}, answer="no")
    attempt.climb()
    assert attempt.asked == []


def test_on_a_machine_of_its_own_unexplained_memory_is_waited_for_and_told(table: Table) -> None:
    """Nothing of ours is owed, so it is no failure: the gates decide."""
    table.idle = {0: 20 * GIB}
    said = Attempt(table, idle={"GPU-0": 0}).climb()
    assert said == "card 0: 20.0 GiB are used, and no process is to be seen"


# --- any table of processes -------------------------------------------------------------------

CGROUPS = (
    *(ENGINE, ENGINE + "/worker", OTHER, OTHER + "/worker", STRAY, "/init.scope", "/"),
    *(
        "/system.slice",
        "/system.slice/engine.service2",
        "/system.slice/engine",
        "/lxc/129/ns" + ENGINE,
    ),
)
NAMES = ("VLLM::Worker", "python3", "Xorg", "nvidia-persiste", "nvidia-cuda-mps")


@dataclass(frozen=True)
class Drawn:
    """A process as drawn, whether it was recorded under which start time, and what it holds."""

    process: Process
    recorded: int
    held: int
    named: int


@st.composite
def drawn(draw: st.DrawFn) -> Drawn:
    """Draw a process."""
    pid = draw(st.integers(1, 40))
    started = draw(st.integers(1, 3))
    process = Process(
        pid,
        started,
        draw(st.sampled_from(NAMES)),
        draw(st.sampled_from(CGROUPS)),
        kernel=draw(st.booleans()) and draw(st.booleans()),
    )
    numbers = st.sampled_from([0, started, started + 1])
    return Drawn(process, draw(numbers), draw(st.integers(0, 3)) * GIB, draw(numbers))


@pytest.mark.gpu
def test_evicting_one_engine_never_touches_another(prove: Proofs) -> None:
    """In no table of processes is one sent SIGKILL that is the other's, or nobody's of ours."""
    killed: list[int] = []

    @given(st.lists(drawn(), max_size=12, unique_by=lambda row: row.process.pid), st.data())
    def evict(rows: list[Drawn], data: st.DataObject) -> None:
        killed.append(evicted(rows, data))

    evict()
    prove(
        "eviction",
        f"one of two engines is evicted in {len(killed)} random tables of processes",
        f"of {sum(killed)} killed none is the other engine's, each ours or named with its start",
    )


def evicted(rows: list[Drawn], data: st.DataObject) -> int:
    """See that whoever was killed was ours by cgroup, by record and start, or named; count them."""
    table = Table()
    for row in rows:
        table.add(row.process, **({"card0": row.held} if row.held else {}))
    table.undying = set(data.draw(st.sets(st.integers(1, 40), max_size=3)))
    recorded = frozenset((row.process.pid, row.recorded) for row in rows if row.recorded)
    named = tuple(f"{row.process.pid}:{row.named}" for row in rows if row.named)
    claim = Claim((ENGINE,), recorded, (OTHER,), ("engine.service",))
    before = dict(table.processes)
    attempt = Attempt(table, claim, may_kill=named)
    try:
        attempt.climb()
        freed = True
    except NotFreedError:
        freed = False
    for process in table.killed:
        assert before[process.pid] == process
        inside = (process.cgroup + "/").startswith(ENGINE + "/")
        by_systemd = inside and bool(table.units)
        if not by_systemd:
            assert process.name in ("VLLM::Worker", "python3")
            assert process.pid > 1
            assert not process.kernel
            assert inside or process.key in recorded or f"{process.pid}:{process.started}" in named
        assert not (process.cgroup + "/").startswith(OTHER + "/")
    if freed:
        assert not [one for one in table.processes.values() if one.devices and claim.is_ours(one)]
    return len(table.killed)
