"""Guests of a Proxmox node: real LXC on a lab host; pct and qm are stand-ins (node.py)."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from headway.control.errors import UnreachableError
from headway.control.fleet import Fleet
from headway.control.inventory.guests import KIND_OF
from headway.control.inventory.model import Host, How, Via
from headway.control.reaching.pack import pack
from headway.control.reaching.reach import over_ssh
from headway.control.rolling.node import freed
from headway.control.secrets import Secret
from headway.wire.event import Ask
from headway.wire.loader import loads
from headway.wire.talk import Done, Follow, Freed
from tests.control.doubles import scripted
from tests.lab import fleet as fleets
from tests.lab.cards import MIB
from tests.lab.lab import Lab
from tests.lab.node import Node, node
from tests.lab.proof import Proofs
from tests.lab.recipes import OPS_PASSWORD
from tests.lab.test_ssh import target

pytestmark = pytest.mark.lab
TELLS = """
import os
hear()
said = " ".join([str(os.getuid()), os.uname().nodename, *sorted(os.environ)])
say({"done": {"exit_code": 0, "sentence": said}})
"""
PACK = scripted(TELLS)
CANARY = "NODE_SECRET"
XID = "NVRM: Xid (PCI:0000:9b:00): 79, GPU has fallen off the bus."


@pytest.fixture
def pve(lab: Lab) -> Node:
    """Return the node of this run; its guests run."""
    return node(lab)


def described(
    fleet: fleets.Fleet,
    pve: Node,
    vmid: int,
    how: How,
    engine: Mapping[str, object],
    **of_node: object,
) -> str:
    """Write an inventory of the node and one guest, and name the guest."""
    guest = pve.guests[vmid]
    roles = [{"role": "engine", "name": "engine", **engine}]
    entry = {"proxmox_host": pve.host.name, "proxmox_vmid": vmid, "ansible_connection": how}
    hosts = {
        pve.host.name: {**fleet.lab.connection(pve.host), **of_node},
        guest.name: {**fleet.lab.connection(guest.disk), **entry, "roles": roles},
    }
    path = fleet.folder / "inventory/hosts.yaml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(yaml.safe_dump({"all": {"hosts": hosts}}, sort_keys=False))
    return guest.name


def told(lab: Lab, pve: Node, how: How, vmid: int, **of_node: object) -> str:
    """Open a guest the way a verb does, and give what a runner's double there says of itself."""
    carrier = target(lab, pve.host, **of_node)
    via = Via(carrier, vmid, KIND_OF[how], how, "inventory/hosts.yaml:1")
    address = pve.guests[vmid].address if vmid in pve.guests else "10.77.0.250"
    entry = replace(target(lab, pve.host), name="guest", address=address, via=via)
    password = Secret.of(OPS_PASSWORD, "test")
    connect_s = 1 if how == "ssh" else 5
    with over_ssh(PACK, None, password, connect_s).open(entry, lambda _told: None) as session:
        (word,) = session.order(Follow())
    assert isinstance(word, Done)
    return word.sentence


def refused(lab: Lab, pve: Node, how: How, vmid: int) -> str:
    """Give the one sentence with which a guest is not entered; what to do next is there, too."""
    with pytest.raises(UnreachableError) as raised:
        told(lab, pve, how, vmid)
    assert raised.value.hint
    return str(raised.value).removeprefix("guest: ")


@contextmanager
def changed(pve: Node, before: str, after: str) -> Iterator[None]:
    """Change something on the node for a while."""
    assert pve.host.ssh(before).returncode == 0
    try:
        yield
    finally:
        assert pve.host.ssh(after).returncode == 0
        for guest in pve.guests.values():
            guest.start()


def test_a_release_reaches_a_container_through_its_node(
    lab: Lab, pve: Node, tmp_path: Path
) -> None:
    """Accepted after a new connection, unchanged, and back by itself: all of it by pct exec."""
    fleet, guest = fleets.Fleet(lab, tmp_path), pve.guests[129]
    name = described(fleet, pve, 129, "pct", {"colour": "red"})
    said = fleet.invoke("rollout", name, "--confirm")
    assert said.code == 0, (said.stderr, said.told("host_ended"))
    assert said.told("connecting")[0]["address"] == "container 129 on pve1"
    assert guest.ssh("systemctl is-active engine").stdout == "active\n"
    assert guest.path("/etc/engine/config").read_text() == "colour = red\nof = engine\n"
    assert not pve.host.path("/var/lib/headway/state.json").exists()

    again = fleet.invoke("rollout", name)
    assert again.told("host_ended")[-1]["outcome"] == "unchanged"

    described(fleet, pve, 129, "pct", {"colour": "blue", "ask": ["false"]})
    assert fleet.invoke("rollout", name).code == 1
    assert guest.path("/etc/engine/config").read_text() == "colour = red\nof = engine\n"
    assert guest.ssh("systemctl is-active engine").stdout == "active\n"


def stale(fleet: fleets.Fleet, pve: Node, how: How, **of_node: object) -> fleets.Said:
    """Evict a container whose card is held by what only its node sees; 130 holds the other one."""
    name = described(fleet, pve, 129, how, {}, **of_node)
    assert fleet.invoke("rollout", name).code == 0
    assert fleet.invoke("park", name).code == 0
    pve.cards_of(130).hold("code", "--alone", "--card", "1=9000")
    inside = "lxc/129/ns/system.slice/engine.service"  # of the node's own processes: 129 sees none
    pve.cards.hold("stale", "--card", "0=83000", "--ignore-term", "--escape", inside)
    said = fleet.invoke("evict", name)
    used = [card["used"] for card in pve.cards.look()]
    assert used == [0 if said.code == 0 else 83000 * MIB, 9000 * MIB], (said.sentence, said.stderr)
    pve.host.ssh("systemctl kill --signal=KILL stale")
    pve.guests[130].ssh("systemctl stop code")
    assert fleet.invoke("unpark", name).code == 0
    return said


def test_memory_without_a_process_is_freed_by_the_node(lab: Lab, pve: Node, tmp_path: Path) -> None:
    """The guest asks, and the controller has the node do it; another guest's engine lives on."""
    said = stale(fleets.Fleet(lab, tmp_path), pve, "pct")
    assert said.code == 0, said.story
    (rung,) = said.bodies("rung")
    assert (rung["rung"], rung["after"], rung["sentence"]) == ("node", [], "")
    (replied,) = said.bodies("replied")
    did = loads(Freed, replied["answer"]["value"])
    assert [holder.used for holder in did.ended] == [83000 * MIB]


@pytest.mark.gpu
def test_facts_of_a_container_have_the_xids_of_its_node(
    lab: Lab, pve: Node, tmp_path: Path, prove: Proofs
) -> None:
    """Asked beside the container, by its own login; where that fails the rest is told with why."""
    fleet = fleets.Fleet(lab, tmp_path)
    records = f"6,0,0,-;Linux version 6.1.0\\n4,1,7200000123,-;{XID}\\n"
    with changed(pve, f"printf '{records}' >/dev/kmsg", "rm /dev/kmsg"):
        seen = {}
        for how, vmid in (("ssh", 129), ("pct", 130)):
            name = described(fleet, pve, vmid, how, {})  # type: ignore[arg-type]
            (row,) = fleet.invoke("facts", name).told("host_facts")
            seen[name] = row["cards"]["host"]
    for host in seen.values():
        assert (host["log"], host["log_of"]) == ("", "pve1"), host
        assert [(xid["number"], xid["at_s"], xid["line"]) for xid in host["xids"]] == [
            (79, 7200, XID)
        ]
        assert host["xids"][0]["advice"]

    name = described(fleet, pve, 129, "ssh", {}, ansible_port=2)
    said = fleet.invoke("facts", name)
    assert said.code == 0, said.stderr
    (row,) = said.told("host_facts")
    assert len(row["cards"]["cards"]) == 2
    assert row["cards"]["host"]["log"].startswith("not visible from here: pve1: ")
    assert "nobody listens there" in row["cards"]["host"]["log"]
    prove("facts", "an Xid in the log of a container's node", XID, "by ssh and by pct")


@pytest.mark.long
def test_a_node_that_cannot_free_it_is_the_reason(lab: Lab, pve: Node, tmp_path: Path) -> None:
    """The guest itself answers SSH; that its node does not is where it ends, and not in a wait."""
    said = stale(fleets.Fleet(lab, tmp_path), pve, "ssh", ansible_port=2)
    assert said.code == 7, said.story
    assert re.search("needs the node: card 0: .* pve1: .* nobody listens there", said.sentence)


def test_the_environment_of_the_node_stays_on_the_node(lab: Lab, pve: Node) -> None:
    """What its sshd gives a login (secrets of a shell profile, too) is not seen in a guest."""
    conf = "/etc/ssh/sshd_config.d/secret.conf"
    set_it = f"echo SetEnv {CANARY}=canary >{conf}; systemctl reload ssh"
    with changed(pve, set_it, f"rm {conf}; systemctl reload ssh"):
        assert CANARY in pve.host.ssh("pct exec 129 -- env").stdout  # the default lets it in
        words = told(lab, pve, "pct", 129).split()
        assert words[:2] == ["0", "ct129"]
        assert CANARY not in words
        assert CANARY not in told(lab, pve, "qm", 201)


def test_a_login_that_is_not_root_is_root_by_sudo_first(lab: Lab, pve: Node) -> None:
    """The password goes to the node's sudo; what is said in the guest does not get in its way."""
    give = "install -d -o ops -g ops /home/ops/.ssh; cp .ssh/authorized_keys /home/ops/.ssh"
    with changed(pve, give, "rm -r /home/ops/.ssh"):
        for how, vmid, name in (("pct", 129, "ct129"), ("qm", 201, "vm201")):
            words = told(lab, pve, how, vmid, user="ops", become=True)  # type: ignore[arg-type]
            assert words.startswith(f"0 {name}")
        with pytest.raises(UnreachableError, match="pct on pve1 needs root"):
            told(lab, pve, "pct", 129, user="ops")


def test_a_vm_is_looked_at_through_its_guest_agent(lab: Lab, pve: Node, tmp_path: Path) -> None:
    """Facts come by qm guest exec, the runner is brought by it; a rollout is refused at once."""
    fleet = fleets.Fleet(lab, tmp_path)
    name = described(fleet, pve, 201, "qm", {})
    facts = fleet.invoke("facts", name)
    assert facts.code == 0, facts.stderr
    (told_of,) = facts.told("host_facts")
    assert told_of["facts"]["hostname"] == "vm201", told_of
    assert len(told_of["cards"]["cards"]) == 2

    said = fleet.invoke("rollout", name)
    assert said.code == 2
    first, hint = said.stderr.splitlines()
    assert "vm201: ansible_connection qm carries no rollout" in first
    assert first.startswith("headway: inventory/hosts.yaml:")
    assert "ansible_connection: ssh" in hint


def test_a_vm_s_cards_are_freed_through_its_guest_agent(
    lab: Lab, pve: Node, tmp_path: Path
) -> None:
    """Who is not ours is named, and ended when it is named back; each call is one answer."""
    fleet = fleets.Fleet(lab, tmp_path)
    name = described(fleet, pve, 201, "qm", {})
    pve.cards_of(201).hold("stray", "--alone", "--card", "0=500", "--ignore-term")
    said = fleet.invoke("evict", name)
    assert said.code == 8, (said.stderr, said.story)
    _, _, stranger = said.sentence.partition("--kill ")
    assert fleet.invoke("evict", name, "--kill", stranger).code == 0
    assert pve.cards_of(201).look()[0]["used"] == 0


def test_a_guest_that_is_stopped_or_locked_says_so(lab: Lab, pve: Node) -> None:
    """By its node, whichever way it is reached: over SSH it is silence that is looked into."""
    lock = "echo 'lock: backup' >>/etc/pve/lxc/130.conf"
    with changed(pve, "pct stop 130; qm stop 201", "sed -i /^lock/d /etc/pve/lxc/130.conf"):
        assert refused(lab, pve, "pct", 130) == "container 130 on pve1 is stopped"
        assert refused(lab, pve, "ssh", 130) == "container 130 on pve1 is stopped"
        assert refused(lab, pve, "qm", 201) == "VM 201 on pve1 is stopped"
        pve.host.ssh(lock)
        assert refused(lab, pve, "pct", 130).endswith("130 on pve1 is stopped and locked (backup)")


@pytest.mark.parametrize(
    ("how", "vmid", "before", "after", "sentence"),
    [
        (
            "pct",
            130,
            "mkdir -p /etc/pve/nodes/pve2/lxc; mv /etc/pve/lxc/130.conf /etc/pve/nodes/pve2/lxc",
            "mv /etc/pve/nodes/pve2/lxc/130.conf /etc/pve/lxc; rm -r /etc/pve/nodes/pve2",
            "container 130 is on pve2, and not on pve1",
        ),
        ("pct", 999, "true", "true", "there is no container 999 on pve1"),
        ("pct", 201, "true", "true", "201 on pve1 is a VM, and no container"),
        (
            "qm",
            201,
            "sed -i /^agent/d /etc/pve/qemu-server/201.conf",
            "echo agent: 1 >>/etc/pve/qemu-server/201.conf",
            "VM 201 on pve1 has no guest agent configured",
        ),
        (
            "qm",
            201,
            """echo '{"agents_down": [201]}' >/etc/standin-pve.json""",
            "rm /etc/standin-pve.json",
            "the guest agent of VM 201 on pve1 does not answer: QEMU guest agent is not running",
        ),
        (
            "pct",
            130,
            "mv /usr/sbin/pct /root",
            "mv /root/pct /usr/sbin",
            "pve1 has no pct: it is no Proxmox node",
        ),
    ],
    ids=["moved", "unknown", "other kind", "no agent", "silent agent", "no node"],
)
def test_a_guest_that_cannot_be_entered_is_one_sentence(
    lab: Lab, pve: Node, how: How, vmid: int, before: str, after: str, sentence: str
) -> None:
    """Found from what the node says when it is asked, after the failure."""
    with changed(pve, before, after):
        assert refused(lab, pve, how, vmid) == sentence


def test_cards_are_freed_through_the_node_and_a_neighbour_lives_on(lab: Lab, pve: Node) -> None:
    """Two engines in one container: the node ends by its own pids what lies in one cgroup."""
    container = pve.cards_of(129)
    container.hold("chat", "--card", "0=83000", "--card", "1=83000", "--ignore-term")
    container.hold("code", "--alone", "--card", "0=9000")
    way = Via(target(lab, pve.host), 129, "lxc", "ssh", "inventory/hosts.yaml:1")
    guest = Host("ct129", pve.guests[129].address, (), {}, via=way)
    detail = json.dumps({"cgroup": "/system.slice/chat.service"})
    ask = Ask(7, "evict", "chat", detail, 60, "needs the node")
    reach = over_ssh(pack(Fleet(Path(__file__).parent)), None, None, 3)

    did = freed(guest, ask, reach, lambda _told: None, "op")

    assert (did.sentence, did.left) == ("", ())
    assert {holder.used for holder in did.ended} == {83000 * MIB}
    assert [card["used"] for card in pve.cards.look()] == [9000 * MIB, 0]
    assert pve.guests[129].ssh("systemctl is-active code").stdout == "active\n"
    pve.guests[129].ssh("systemctl stop code")


def test_a_node_that_does_not_answer_is_named(lab: Lab, pve: Node) -> None:
    """A guest behind it is reached by way of it."""
    way = Via(target(lab, pve.host, port=2), 129, "lxc", "pct", "inventory/hosts.yaml:1")
    entry = Host("guest", "10.77.0.250", (), {}, via=way)
    with pytest.raises(UnreachableError, match=r"guest: by way of pve1: .* nobody listens there"):
        over_ssh(PACK, None, None, 3).open(entry, lambda _told: None)
