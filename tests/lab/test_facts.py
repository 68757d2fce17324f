"""`invoke facts` over the stand-in cards: whole, quick, and a sentence for everything broken."""

import json
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

import pytest

from headway.control.facts import HostFacts, text
from headway.wire.cards import CardsSeen
from headway.wire.loader import load
from tests.lab.cards import LIBRARY, MIB, Cards, cards
from tests.lab.fleet import Fleet
from tests.lab.host import Host
from tests.lab.lab import Lab
from tests.lab.proof import Proofs
from tests.lab.speed import Track, listen_closely
from tests.lab.undying import undying

pytestmark = [pytest.mark.lab, pytest.mark.gpu]

Hosts = Callable[..., list[Host]]
MOST_RATIO = 2.0
ROUNDS = 5
INSIDE = "unshare --pid --fork --mount-proc"
LOOK = """\
import glob, sys
sys.path.insert(0, max(glob.glob("/var/lib/headway/runner/*/"), key=lambda p: p.count("satchel")))
from headway.runner.cards import look
from headway.wire.loader import dumps
for deadline_s in map(int, sys.argv[1:]):
    print(dumps(look(pairs=False, deadline_s=deadline_s)), flush=True)
"""


@pytest.fixture
def gpu1(hosts: Hosts) -> Host:
    """Return a host for cards; whoever asks gives it new ones."""
    [host] = hosts("cards1")
    return host


@pytest.fixture
def fleet(lab: Lab, tmp_path: Path, gpu1: Host) -> Fleet:
    """Return a fleet of this one host, which is to run nothing."""
    made = Fleet(lab, tmp_path)
    made.describe(gpu1)
    return made


def facts(fleet: Fleet, host: Host) -> HostFacts:
    """Ask as an operator's script does."""
    said = fleet.invoke("facts", host)
    assert said.code == 0, said.stderr
    [row] = said.told("host_facts")
    return load(HostFacts, row)


def seen(fleet: Fleet, host: Host) -> CardsSeen:
    """Ask for the cards alone."""
    found = facts(fleet, host).cards
    assert found is not None
    return found


def look(host: Host, *deadlines_s: int, before: str = "") -> list[CardsSeen]:
    """Look on the host itself, once a deadline, with the runner that facts brought there."""
    host.path("/root/look.py").write_text(LOOK)
    words = " ".join(map(str, deadlines_s))
    done = host.ssh(f"{before} python3 -I -S /root/look.py {words}", timeout_s=60)
    assert done.returncode == 0, done.stderr
    return [load(CardsSeen, json.loads(row)) for row in done.stdout.splitlines()]


def test_facts_of_eight_cards_are_whole(fleet: Fleet, gpu1: Host, prove: Proofs) -> None:
    """Each field is what another reader of NVML says, holders are named by pid and start."""
    made = cards(gpu1, 8)
    made.hold("engine", "--card", "0=83000", "--card", "1=83000")
    made.card(0, utilization_gpu=100, utilization_memory=0, power_mw=123_000)
    made.pair(2, 3, "p2p 1 4")
    gpu1.path("/etc/nccl.conf").write_text("NCCL_P2P_LEVEL=SYS\n")
    try:
        told = facts(fleet, gpu1)
        theirs = made.look()
    finally:
        gpu1.path("/etc/nccl.conf").unlink()
        gpu1.ssh("systemctl stop engine")
    ours = told.cards
    assert ours is not None
    assert ours.trouble == ()
    assert [(c.name, c.uuid, c.used, c.total) for c in ours.cards] == [
        (card["name"], card["uuid"], card["used"], card["total"]) for card in theirs
    ]
    holders = [holder for card in ours.cards for holder in card.holders]
    assert [(h.used, h.cgroup) for h in holders] == [
        (83_000 * MIB, "/system.slice/engine.service")
    ] * 2
    assert all(holder.started > 0 and holder.command for holder in holders)
    assert told.doing[0].startswith("waiting, most likely for the other cards (busy 100 %,")
    assert len(ours.pairs) == 56
    refused = [(pair.a, pair.b) for pair in ours.pairs if pair.write != "ok"]
    assert refused == [(2, 3)]
    assert ours.host is not None
    assert ours.host.module == "580.159.04"
    assert ours.host.nccl_files == {"/etc/nccl.conf": "NCCL_P2P_LEVEL=SYS\n"}
    reads = text((told,), 60)
    assert max(map(len, reads.splitlines())) <= 60, reads
    prove("facts", "eight stand-in cards, two held", "every field as another reader of NVML has it")


def test_facts_of_eight_cards_cost_one_exec_and_twice_a_login(
    lab: Lab, tmp_path: Path, gpu1: Host, prove: Proofs
) -> None:
    """At most 2 x `paramiko connect + exec true`, plus what NVML took in the same run."""
    cards(gpu1, 8)
    listen_closely([gpu1])
    track = Track(lab, [gpu1], tmp_path)
    track.facts(gpu1)  # brings the runner and its part for cards
    execs = track.execs(gpu1, lambda: track.facts(gpu1))
    turns = [(track.facts(gpu1), track.floor(1)) for _ in range(ROUNDS)]
    ours = statistics.median(took for (took, _), _ in turns)
    nvml_ms = statistics.median(nvml_ms for (_, nvml_ms), _ in turns)
    floor = statistics.median(took for _, took in turns)
    figure = f"{ours:.2f} s, floor {floor:.2f} s, NVML {nvml_ms:.0f} ms, {execs} exec"
    prove("facts", "eight cards, whole processes in turns", figure, f"{ours / floor:.2f}")
    assert execs == 1
    assert ours <= MOST_RATIO * floor + nvml_ms / 1000, figure


Break = Callable[[Cards], AbstractContextManager[object]]


def _without_library(made: Cards) -> AbstractContextManager[object]:
    library = made.host.root / LIBRARY.lstrip("/")
    library.rename(library.with_name("away"))
    stack = ExitStack()
    stack.callback(lambda: library.with_name("away").rename(library))
    return stack


def _updated(made: Cards) -> AbstractContextManager[object]:
    made.system(module="580.65.06")
    stack = ExitStack()
    stack.callback(lambda: made.system(module="580.159.04"))
    return stack


BROKEN: dict[str, tuple[Break, str]] = {
    "no library": (_without_library, "kernel module 580.159.04 is loaded, but libnvidia-ml.so.1"),
    "updated": (_updated, "the kernel module is 580.65.06 and user space is"),
    "no permission": (lambda made: made.fault("nvmlInit", 4), "no permission to open /dev/nvid"),
    "not answering": (lambda made: made.fault("nvmlInit", 9), "580.159.04 is loaded and does not"),
    "cut off": (lambda made: made.fault("nvmlInit", 999), "NVML says Unknown Error under"),
    "no card": (lambda made: made.fault("nvmlDeviceGetCount", 3), "is loaded and sees no card"),
    "lost": (lambda made: made.fault("*", 15, card=1), "card 1: fallen off the bus"),
    "a sensor": (
        lambda made: made.fault("nvmlDeviceGetTemperature", 999, card=0),
        "card 0: nvmlDeviceGetTemperature: Unknown Error",
    ),
}


@pytest.fixture
def brought(fleet: Fleet, gpu1: Host) -> Iterator[Cards]:
    """Return two cards on a host that has the runner with its part for cards."""
    made = cards(gpu1, 2)
    facts(fleet, gpu1)
    yield made
    made.reset(2)


def test_each_trouble_is_a_sentence_of_its_own(brought: Cards, gpu1: Host, prove: Proofs) -> None:
    """And a person reads what to do, not an error number."""
    said = {}
    for name, (broken, sentence) in BROKEN.items():
        with broken(brought):
            [found] = look(gpu1, 10)
        assert any(sentence in trouble for trouble in found.trouble), (name, found.trouble)
        said[name] = found.trouble
    assert len(set(said.values())) == len(BROKEN)
    prove("facts", f"{len(BROKEN)} ways to break a driver", "a sentence each")


def test_a_card_that_hangs_nvml_is_found_and_the_rest_goes_on(
    brought: Cards, gpu1: Host, prove: Proofs
) -> None:
    """The child is left; the card before it is read, and the next look is answered."""
    with brought.fault("nvmlDeviceGetPowerUsage", "hang", card=1):
        began = time.monotonic()
        [found] = look(gpu1, 1)
        took = time.monotonic() - began
    assert found.trouble == ("NVML did not answer within 1 s: it hangs at card 1",)
    assert [card.index for card in found.cards] == [0]
    assert took < 10
    assert gpu1.ssh("pgrep -f cards/child.py").stdout == ""
    prove("facts", "NVML hangs at card 1", found.trouble[0], f"{took:.1f} s")


def test_a_child_that_cannot_die_is_left_behind(brought: Cards, gpu1: Host) -> None:
    """Real D state: SIGKILL stays pending, the look ends all the same, and the next one at once."""
    said: list[CardsSeen] = []
    with brought.fault("nvmlDeviceGetPowerUsage", "hang", card=1):
        asking = threading.Thread(target=lambda: said.extend(look(gpu1, 3, 30)))
        asking.start()
        until = time.monotonic() + 10
        while not (child := gpu1.ssh("pgrep -f cards/child.py$").stdout.split()):
            child = gpu1.ssh("pgrep -f cards/child.py").stdout.split()
            if child:
                break
            assert time.monotonic() < until
        with undying(gpu1, int(child[0])):
            asking.join(25)
            assert not asking.is_alive()
    first, second = said
    assert f"process {child[0]} does not die" in first.trouble[0]
    assert second == first


def test_inside_a_namespace_memory_is_used_by_nobody(brought: Cards, gpu1: Host) -> None:
    """A guest: what its driver hides it must ask its node about. Old drivers name strangers."""
    brought.hold("engine", "--card", "0=83000", "--card", "1=83000")
    brought.card(0, utilization_gpu=100, utilization_memory=30, power_mw=600_000)
    try:
        [hidden] = look(gpu1, 10, before=INSIDE)
        brought.system(pids="initial", driver="530.41.03", module="530.41.03")
        [strangers] = look(gpu1, 10, before=INSIDE)
    finally:
        gpu1.ssh("systemctl stop engine")
    assert [card.used for card in hidden.cards] == [83_000 * MIB] * 2
    assert [card.holders for card in hidden.cards] == [(), ()]
    assert hidden.cards[0].doing().startswith("held by what is not seen from here")
    named = [holder for card in strangers.cards for holder in card.holders]
    assert [holder.started for holder in named] == [0, 0]
    assert "names processes by the node's numbers" in strangers.trouble[0]
