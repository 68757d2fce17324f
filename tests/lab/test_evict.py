"""Cards that a stopped engine still holds, in whole rollouts on lab hosts with stand-in cards.

The stand-in engine is like vLLM: a front, a core under it, and a worker a card with 83,000 MiB.
Everything is judged by plain systemctl, /proc and pynvml, not by what headway says.
"""

import json
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from tests.lab import fleet as fleets
from tests.lab.cards import MIB, Cards, cards
from tests.lab.fleet import Fleet, Said
from tests.lab.host import Host, HostSpec
from tests.lab.lab import Lab
from tests.lab.looks import state
from tests.lab.node import Node, node
from tests.lab.proof import Proofs
from tests.lab.undying import undying

pytestmark = [pytest.mark.lab, pytest.mark.gpu]

ITEM = "eviction"
HELD = 83_000
LAUNCHES = "/var/lib/headway/launches.json"


@dataclass
class Desk:
    """A host with four cards, and two engines on it: `engine` on 0 and 1, `other` on 2 and 3."""

    host: Host
    cards: Cards
    fleet: Fleet

    def describe(self, colour: str, **engine: object) -> None:
        """Say what the engine is; the other one never changes."""
        own = {"options": options(0, 1), "colour": colour, "kill_mode": "process", **engine}
        other = {"options": options(2, 3), "port": 8001}
        self.fleet.describe(self.host, engine=own, other=other)

    def rollout(self, *words: str) -> Said:
        """Bring the host there; KillMode=process is what lint would refuse."""
        return self.fleet.invoke("rollout", self.host, "--no-lint", *words)

    def used(self) -> list[int]:
        """Read what is used of each card, in MiB."""
        return [card["used"] // MIB for card in self.cards.look()]

    def workers(self, *indices: int) -> set[int]:
        """Name who holds these cards."""
        seen = self.cards.look()
        return {int(pid) for index in indices for pid in seen[index]["compute"]}

    def show(self, unit: str, name: str) -> str:
        """Read a property of a unit."""
        return self.host.ssh(
            ["systemctl", "show", "--value", f"--property={name}", unit]
        ).stdout.strip()

    def is_there(self, pid: int) -> bool:
        """Tell whether a process lives."""
        return self.host.ssh(["kill", "-0", str(pid)]).returncode == 0

    def started(self, pid: int) -> int:
        """Read when a process started, as /proc/PID/stat says."""
        stat = self.host.ssh(["cat", f"/proc/{pid}/stat"]).stdout
        return int(stat.rpartition(")")[2].split()[19])


def options(*indices: int) -> dict[str, object]:
    """Give the options of an engine that holds these cards and ignores SIGTERM."""
    return {"card": [f"{index}={HELD}" for index in indices], "ignore-term": True}


def role() -> str:
    """Give the fleet's role, of the engine that holds cards and may be let outlive its unit."""
    changes = {
        "/opt/standin/engine.py": "/opt/standin/holder.py",
        "defaults:\n": "defaults:\n  kill_mode: control-group\n",
        "TimeoutStopSec: 5\n": "TimeoutStopSec: 3\n          KillMode: '{{ kill_mode }}'\n",
    }
    return fleets.role(changes)


@pytest.fixture(scope="module")
def made(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """Return a new host; its engines let their workers outlive them where a test says so."""
    [host] = lab.up([HostSpec("gpu1")], fresh=True)
    folder = tmp_path_factory.mktemp("evict")
    fleet = Fleet(lab, folder)
    (folder / "roles/engine/role.yaml").write_text(role())
    return Desk(host, cards(host, 4), fleet)


@pytest.fixture
def desk(made: Desk) -> Desk:
    """Return it with both engines accepted and running, and with nobody else on its cards."""
    made.describe("red")
    said = made.rollout("--again")
    assert said.code == 0, (said.stderr, said.sentence)
    assert made.used() == [HELD] * 4
    return made


def took_s(said: Said) -> float:
    """Measure from the beginning of the eviction until the new engine is healthy, by the events."""
    events = [row["event"] for row in said.told("host_said")]

    def at(kind: str, **fields: str) -> int:
        rows = ((e["at_ms"], e["body"].get(kind, {})) for e in events)
        found = ((ms, body.get("report", body)) for ms, body in rows)
        return int(next(ms for ms, body in found if fields.items() <= body.items()))

    began, healthy = at("step_began", step="evict"), at("reported", gate="health", verdict="PASS")
    return (healthy - began) / 1000


def rungs(said: Said) -> list[str]:
    """Name the rungs that were told."""
    return [rung["rung"] for rung in said.bodies("rung")]


def test_workers_that_outlived_their_front_are_replaced(desk: Desk, prove: Proofs) -> None:
    """The front is killed -9 and its workers hold both cards: systemd's own restarts cannot load.

    The next rollout has the cards back before it starts the engine.
    """
    old, others = desk.workers(0, 1), desk.workers(2, 3)
    other = desk.show("other", "InvocationID")
    desk.host.ssh(["kill", "-9", desk.show("engine", "MainPID")])
    time.sleep(2)
    assert desk.workers(0, 1) >= old
    desk.describe("blue")
    said = desk.rollout()
    assert said.code == 0, (said.sentence, said.bodies("rung"))
    assert not [pid for pid in old if desk.is_there(pid)]
    assert (desk.workers(2, 3), desk.show("other", "InvocationID")) == (others, other)
    assert desk.used() == [HELD] * 4
    assert took_s(said) < 60
    prove(
        ITEM,
        f"an engine's front is killed -9, its workers hold {HELD} MiB a card on two; rollout",
        "new workers hold them, the other engine's launch and processes are the same",
        f"{took_s(said):.1f} s from the start of eviction until the engine is healthy",
    )


@pytest.mark.long
def test_by_hand_one_of_two_engines_is_evicted(desk: Desk, prove: Proofs) -> None:
    """Down, with workers left: they go. What is up is left alone, and so is a stranger."""
    others, old = desk.workers(2, 3), desk.workers(0, 1)
    running = desk.fleet.invoke("evict", desk.host)
    assert (running.code, rungs(running)) == (0, [])
    assert desk.used() == [HELD] * 4

    desk.host.ssh(["systemctl", "stop", "engine"])
    assert desk.workers(0, 1) == old
    said = desk.fleet.invoke("evict", desk.host)
    assert (said.code, rungs(said)) == (0, ["stop", "cgroup"]), said.sentence
    assert desk.used() == [0, 0, HELD, HELD]
    assert desk.workers(2, 3) == others
    alone = desk.host.ssh(["headway-host", "evict"])
    assert (alone.returncode, alone.stdout) == (0, "nothing of ours is left\n"), alone.stderr

    desk.cards.hold("train", "--alone", "--card", "0=40000", "--ignore-term")
    [pid] = desk.workers(0)
    name = f"{pid}:{desk.started(pid)}"
    listed = desk.fleet.invoke("evict", desk.host)
    assert (listed.code, desk.used()[0]) == (8, 40_000)
    assert f"--kill {name}" in listed.sentence
    assert "/system.slice/train.service" in listed.sentence

    wrong = desk.fleet.invoke("evict", desk.host, "--kill", f"{pid}:{desk.started(pid) + 1}")
    assert (wrong.code, desk.workers(0)) == (8, {pid})
    assert "is another process" in wrong.bodies("rung")[0]["sentence"]
    spared = desk.fleet.invoke(
        "evict", desk.host, "--kill", f"{min(others)}:{desk.started(min(others))}"
    )
    assert (spared.code, desk.workers(2, 3)) == (8, others)
    assert "a neighbour's: no kill" in spared.bodies("rung")[0]["sentence"]
    named = desk.fleet.invoke("evict", desk.host, "--kill", name)
    assert (named.code, desk.used()) == (0, [0, 0, HELD, HELD]), named.sentence
    prove(
        ITEM,
        "`invoke evict` with one engine down, its workers left, a running engine and a stranger",
        "the workers are gone, the other engine lives; the stranger is listed (8) and ended only "
        "by its PID:STARTTIME, with another start time nobody is",
    )


def test_a_recorded_pid_of_another_start_time_is_not_killed(desk: Desk, prove: Proofs) -> None:
    """Workers that left their cgroup are known by their launch; of another start, they are not."""
    [worker, last] = sorted(desk.workers(0, 1))
    away = "/sys/fs/cgroup/system.slice/away.scope"
    move = f"mkdir -p {away} && for pid in {worker} {last}; do echo $pid >{away}/cgroup.procs; done"
    assert desk.host.ssh(move).returncode == 0
    desk.host.ssh(["systemctl", "stop", "engine"])
    path = desk.host.path(LAUNCHES)
    record = json.loads(path.read_text())
    mine = record["parts"]["engine"]["processes"]
    assert f"{worker}:{desk.started(worker)}" in mine
    reused = [
        f"{worker}:{desk.started(worker) - 1}" if name.startswith(f"{worker}:") else name
        for name in mine
    ]
    record["parts"]["engine"]["processes"] = reused
    path.write_text(json.dumps(record))

    said = desk.fleet.invoke("evict", desk.host)
    assert said.code == 8, said.sentence
    assert f"--kill {worker}:{desk.started(worker)}" in said.sentence
    assert desk.workers(0, 1) == {worker}
    assert not desk.is_there(last)
    prove(
        ITEM,
        "both workers left their cgroup; one is recorded with another start time",
        "the one recorded rightly is ended, the other is not killed and is listed as a stranger",
    )
    desk.host.ssh(["kill", "-9", str(worker)])


def test_what_cannot_die_rests_stuck(desk: Desk, prove: Proofs) -> None:
    """A worker hangs in D state: no way back is tried, exit 7, and nobody else is ended for it."""
    old, others = sorted(desk.workers(0, 1)), desk.workers(2, 3)
    desk.cards.hold("train", "--alone", "--card", "1=9000")
    [stranger] = desk.workers(1) - set(old)
    other = desk.show("other", "InvocationID")
    with undying(desk.host, old[0]):
        desk.describe("blue")
        said = desk.rollout("--evict-within", "4")
        assert (said.code, said.told("host_ended")[-1]["outcome"]) == (7, "stuck"), said.sentence
        assert f"needs a reboot: pid {old[0]}:" in said.sentence
        assert "state D" in said.sentence
        assert desk.used() == [HELD, 9000, HELD, HELD]
        assert (desk.workers(1), desk.workers(2, 3)) == ({stranger}, others)
        assert desk.show("other", "InvocationID") == other
        assert state(desk.host)["phase"] == "STUCK"
        assert desk.show("engine", "ActiveState") in ("inactive", "failed")
    prove(
        ITEM,
        "a worker hangs in D state (held by the kernel's freezer) while its engine is replaced",
        "exit 7, STUCK, it is named with where it hangs; the other engine and a stranger live",
    )
    desk.host.ssh(["systemctl", "kill", "--signal=KILL", "train"])
    back = desk.fleet.invoke("rollback", desk.host)
    assert back.code == 0, back.sentence
    assert desk.used() == [HELD] * 4


@pytest.fixture
def pve(lab: Lab) -> Node:
    """Return a node whose guests run, with new cards."""
    return node(lab)


def test_a_guest_is_freed_through_its_node_beside_another_engine_in_it(
    lab: Lab, pve: Node, tmp_path: Path, prove: Proofs
) -> None:
    """Its card is held in its own unit's cgroup by a process that only the node sees."""
    guest, fleet = pve.guests[129], Fleet(lab, tmp_path)
    via = {"proxmox_host": pve.host.name, "proxmox_vmid": 129, "ansible_connection": "pct"}
    own: dict[str, object] = {"colour": "red", "options": {"card": ["0=20000"]}}
    roles = [{"role": "engine", "name": "engine", **own}]
    entries = {
        pve.host.name: lab.connection(pve.host),
        guest.name: {**lab.connection(guest.disk), **via, "roles": roles},
    }
    inventory = tmp_path / "inventory/hosts.yaml"
    inventory.parent.mkdir()
    (tmp_path / "roles/engine/role.yaml").write_text(role())
    inventory.write_text(yaml.safe_dump({"all": {"hosts": entries}}))
    assert fleet.invoke("rollout", guest.name, "--no-lint").code == 0

    container = pve.cards_of(129)
    container.hold("other", "--card", "1=30000", "--ignore-term")
    container.hold("embed", "--alone", "--card", "0=5000")
    inside = "lxc/129/ns/system.slice/engine.service"
    pve.cards.hold("stale", "--card", "0=83000", "--ignore-term", "--escape", inside)
    assert [card["used"] // MIB for card in pve.cards.look()] == [108_000, 30_000]

    roles[0]["colour"] = "blue"
    inventory.write_text(yaml.safe_dump({"all": {"hosts": entries}}))
    said = fleet.invoke("rollout", guest.name, "--no-lint")
    assert said.code == 0, (said.sentence, said.bodies("rung"))
    assert "node" in rungs(said)
    assert [card["used"] // MIB for card in pve.cards.look()] == [25_000, 30_000]
    for unit in ("other", "embed"):
        assert guest.ssh(f"systemctl is-active {unit}").stdout == "active\n"
        guest.ssh(f"systemctl kill --signal=KILL {unit}")
    pve.host.ssh("systemctl kill --signal=KILL stale")
    prove(
        ITEM,
        "a guest's card is held by a process of its unit that only the node sees; rollout",
        "the guest asks, its node ends that one alone; two other engines in the guest live on",
        f"{took_s(said):.1f} s from the start of eviction until the engine is healthy",
    )
