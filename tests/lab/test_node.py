"""A lab's node answers as Proxmox does: real LXC, and stand-ins for pct and qm."""

import json
import time

import pytest

from tests.lab.cards import MIB
from tests.lab.lab import Lab
from tests.lab.node import Node, node
from tests.lab.undying import undying

pytestmark = pytest.mark.lab


@pytest.fixture
def pve(lab: Lab) -> Node:
    """Return the node of this run, with new cards."""
    return node(lab)


def test_a_guest_is_a_host_of_its_own_on_the_labs_network(pve: Node) -> None:
    """Systemd, sshd and an address: what rolls out to a host rolls out to it."""
    for vmid, name in ((129, "ct129"), (130, "ct130"), (201, "vm201")):
        said = pve.guests[vmid].ssh("hostname; systemctl is-system-running --wait")
        assert said.stdout == f"{name}\nrunning\n"


def test_a_guest_sees_used_memory_and_not_who_holds_it(pve: Node) -> None:
    """On the node the holder lies in lxc/129/ns, and its inner pid is told by NSpid."""
    container = pve.cards_of(129)
    container.hold("engine", "--card", "0=83000", "1=83000")
    [pid] = map(int, pve.cards.look()[0]["compute"])
    [inner] = container.look()[0]["compute"]

    neighbour = pve.cards_of(130).look()[0]
    assert (neighbour["used"], neighbour["compute"]) == (83000 * MIB, {})
    said = pve.host.ssh(f"grep ^0 /proc/{pid}/cgroup; grep NSpid /proc/{pid}/status").stdout
    assert said == f"0::/lxc/129/ns/system.slice/engine.service\nNSpid:\t{pid}\t{inner}\n"
    assert pve.cards_of(201).look()[0]["used"] == 0

    pve.cards.system(pids="initial")
    assert pve.cards_of(130).look()[0]["compute"] == {str(pid): 83000 * MIB}

    pve.guests[129].ssh("systemctl kill --signal=KILL engine")
    assert pve.cards_of(130).look()[0]["used"] == 0


@pytest.mark.long
def test_a_guests_process_can_be_one_that_cannot_die(pve: Node) -> None:
    """Stopping the whole container does not end it; other guests live on."""
    pve.cards_of(130).hold("stuck", "--alone", "--card", "0=500")
    [pid] = map(int, pve.cards.look()[0]["compute"])
    with undying(pve.host, pid):
        pve.host.ssh(f"kill -9 {pid}; sleep 0.1")
        assert pve.cards.look()[0]["compute"] == {str(pid): 500 * MIB}
    until = time.monotonic() + 5
    while pve.cards.look()[0]["used"]:
        assert time.monotonic() < until


SAID = {
    "pct status 129": "status: running\n= 0\n",
    "pct config 129": "arch: amd64\nhostname: ct129\nmemory: 2048\nostype: debian\n= 0\n",
    "pct exec 129 --keep-env 0 -- sh -c 'cat; exit 7'": "sent\n= 7\n",
    "A=kept pct exec 129 -- printenv A": "kept\n= 0\n",
    "A=kept pct exec 129 --keep-env=0 -- printenv A": "= 1\n",
    "pct exec 129": "missing command\n= 255\n",
    "pct exec 131 -- true": ("Configuration file 'nodes/pve1/lxc/131.conf' does not exist\n= 2\n"),
    "pct start 129": "CT 129 already running\n= 255\n",
    "qm status 201": "status: running\n= 0\n",
    "qm config 201": "agent: 1\nmemory: 2048\nname: vm201\nostype: l26\n= 0\n",
    "qm guest exec 999 -- true": (
        "Configuration file 'nodes/pve1/qemu-server/999.conf' does not exist\n= 2\n"
    ),
    "qm guest exec 201 -- nope": (
        "Agent error: Guest agent command failed, error was"
        " 'Failed to execute child process “nope” (No such file or directory)'\n= 255\n"
    ),
}


def test_pct_and_qm_say_what_the_real_ones_say(pve: Node) -> None:
    """Output, wording and exit code."""
    asked = (f"echo sent | {{ {command}; }} 2>&1; echo = $?\n" for command in SAID)
    assert pve.host.ssh("".join(asked)).stdout == "".join(SAID.values())


def test_a_list_is_columns_of_a_fixed_width(pve: Node) -> None:
    """An empty lock is blank, so words cannot be counted."""
    assert pve.host.ssh("pct list").stdout == (
        "VMID       Status     Lock         Name                \n"
        "129        running                 ct129               \n"
        "130        running                 ct130               \n"
    )


def test_a_stopped_or_locked_container_is_refused(pve: Node) -> None:
    """A lock forbids start, stop and push, never exec."""
    pve.host.ssh("pct stop 130")
    try:
        done = pve.host.ssh("pct status 130; pct exec 130 -- true")
        assert done.stdout == "status: stopped\n"
        assert (done.returncode, done.stderr) == (255, "container '130' not running!\n")
        pve.host.ssh("echo 'lock: backup' >>/etc/pve/lxc/130.conf")
        done = pve.host.ssh("pct start 130")
        assert (done.returncode, done.stderr) == (255, "CT is locked (backup)\n")
    finally:
        pve.host.ssh("sed -i /^lock/d /etc/pve/lxc/130.conf")
        pve.guests[130].start()


def test_push_writes_a_file_with_mode_and_owner(pve: Node) -> None:
    """By default what root writes, 0644."""
    pve.host.ssh("echo content >/tmp/f; pct push 129 /tmp/f /srv/f --perms 0600 --user 33")
    assert pve.guests[129].ssh("stat -c '%a %U' /srv/f; cat /srv/f").stdout == (
        "600 www-data\ncontent\n"
    )


def test_qm_ends_well_whatever_the_command_returned(pve: Node) -> None:
    """Exit code, output and truncation stand in the JSON, as Perl prints it."""
    pve.host.path("/etc/standin-pve.json").write_text('{"output_bytes": 4}')
    try:
        done = pve.host.ssh(
            "qm guest exec 201 --pass-stdin 1 -- sh -c 'cat; echo bad >&2; exit 3'", stdin="sent!"
        )
    finally:
        pve.host.path("/etc/standin-pve.json").unlink()
    assert done.returncode == 0
    assert done.stdout == (
        '{\n   "err-data" : "bad\\n",\n   "exitcode" : 3,\n   "exited" : 1,\n'
        '   "out-data" : "sent",\n   "out-truncated" : 1\n}\n'
    )


@pytest.mark.long
def test_qm_gives_the_pid_when_time_is_up(pve: Node) -> None:
    """The command goes on, and can be asked for."""
    done = pve.host.ssh("qm guest exec 201 --timeout 1 -- sh -c 'sleep 1.5; echo late'")
    assert (done.returncode, done.stderr) == (0, "timeout reached, returning pid\n")
    ask = ["qm", "guest", "exec-status", "201", str(json.loads(done.stdout)["pid"])]
    while not (told := json.loads(pve.host.ssh(ask).stdout))["exited"]:
        pass
    assert told == {"exitcode": 0, "exited": 1, "out-data": "late\n"}


def test_qm_refuses_more_than_a_mebibyte_and_a_vm_without_agent(pve: Node) -> None:
    """Each in its own words."""
    exec_ = "qm guest exec 201 --pass-stdin 1 -- true"
    done = pve.host.ssh(exec_, stdin="x" * (MIB + 1))
    assert (done.returncode, done.stderr) == (
        255,
        "'input-data' (STDIN) is limited to 1 MiB, aborting\n",
    )
    pve.host.path("/etc/standin-pve.json").write_text('{"agents_down": [201]}')
    try:
        done = pve.host.ssh(exec_)
    finally:
        pve.host.path("/etc/standin-pve.json").unlink()
    assert (done.returncode, done.stderr) == (255, "QEMU guest agent is not running\n")


@pytest.mark.long
def test_guests_are_reached_as_before_after_a_power_cut_of_the_node(pve: Node) -> None:
    """Their addresses, keys and disks stay; cards are there again, and hold nothing."""
    pve.cards_of(129).hold("engine", "--alone", "--card", "0=500")
    pve.guests[129].path("/srv/kept").write_text("kept")
    pve.host.power_cut()
    pve.host.boot()
    for guest in pve.guests.values():
        guest.start()
    assert pve.guests[129].ssh("cat /srv/kept").stdout == "kept"
    assert pve.cards_of(129).look()[0]["used"] == 0
