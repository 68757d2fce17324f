"""What a node ends for a guest: holders in that one unit's cgroup, and nobody else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.runner.cards.evict.node import FREE_S, free
from headway.runner.cards.evict.process import Process, lies_in
from headway.wire.record import Orders
from headway.wire.talk import Free
from tests.runner.cards.evict.table import GIB, Table

UNIT = "/system.slice/engine.service"
OURS = "/lxc/129/ns" + UNIT
CGROUPS = (
    *(OURS, OURS + "/worker", "/lxc.payload.129" + UNIT, "/lxc/129/ns/system.slice/other.service"),
    *("/lxc/129/ns", "/lxc/129/ns/init.scope", "/lxc/1290/ns" + UNIT, "/lxc/130/ns" + UNIT, UNIT),
    *("/lxc.monitor/129", "/system.slice/train.service", "/lxc/129/ns" + UNIT + "2", "/"),
)
ORDER = Free(129, UNIT, Orders("test"))


def held(table: Table, pid: int, cgroup: str, count: int = GIB, name: str = "worker") -> Process:
    """Let a process hold some of card 0."""
    return table.add(Process(pid, pid * 10, name, cgroup), card0=count)


@given(st.lists(st.sampled_from(CGROUPS), max_size=10), st.booleans())
def test_only_holders_in_the_unit_s_own_cgroup_are_ended(rows: list[str], spared: bool) -> None:
    """Another unit of the same guest, the same unit of another guest and the node's own live."""
    table = Table()
    for number, cgroup in enumerate(rows):
        held(table, 100 + number, cgroup, name="Xorg" if spared and number == 0 else "worker")
    table.add(Process(99, 990, "shell", OURS))
    freed = free(ORDER, table, table.clock)
    ended = {holder.pid for holder in freed.ended}
    meant = (OURS, "/lxc.payload.129" + UNIT)
    assert ended == {process.pid for process in table.killed}
    assert ended == {
        100 + number
        for number, cgroup in enumerate(rows)
        if any(lies_in(cgroup, own) for own in meant) and not (spared and number == 0)
    }
    assert (freed.left, freed.sentence) == ((), "")


def test_it_is_done_when_the_memory_is_back(table: Table) -> None:
    """Gone is not enough: the driver unwinds, and the answer waits for it."""
    held(table, 7, OURS)
    table.unwinds_ms = 30_000
    began = table.clock.boot_ms()
    assert free(ORDER, table, table.clock).sentence == ""
    assert table.clock.boot_ms() - began >= 30_000


def test_what_the_node_cannot_end_it_names_within_the_deadline(table: Table) -> None:
    """It hangs in the driver: who is left, where it hangs, and that nothing here helps."""
    held(table, 7, OURS)
    held(table, 8, OURS)
    table.undying = {7}
    began = table.clock.boot_ms()
    freed = free(ORDER, table, table.clock)
    assert [holder.pid for holder in freed.left] == [7]
    assert [holder.pid for holder in freed.ended] == [8]
    assert freed.sentence.startswith("the node needs a reboot: pid 7:70 (worker)")
    assert table.clock.boot_ms() - began <= 1000 * FREE_S + 1000


@pytest.mark.parametrize("cgroup", ["/", "/system.slice", "/init.scope", ""])
def test_a_whole_guest_is_refused(table: Table, cgroup: str) -> None:
    """Nothing is looked at, nothing is ended."""
    held(table, 7, OURS)
    freed = free(Free(129, cgroup, Orders("test")), table, table.clock)
    assert "is no cgroup of one unit of guest 129" in freed.sentence
    assert table.killed == []


def test_a_node_without_cards_says_so(table: Table) -> None:
    """NVML's own sentence is the answer."""
    table.trouble = ("the NVIDIA kernel module is not loaded",)
    assert free(ORDER, table, table.clock).sentence == "the NVIDIA kernel module is not loaded"


@pytest.fixture
def table() -> Table:
    """Give two cards and nobody."""
    return Table()
