"""A host with proxmox_vmid is a guest: of which node, of which kind, and how it is reached."""

import json
from pathlib import Path

import pytest

from headway.control.inventory import load
from headway.control.inventory.model import Host, Via
from headway.control.inventory.report import inventory_json, inventory_text
from tests.control.inventory.written import fleet


def made(tmp_path: Path, hosts: str, name: str = "ct1") -> Host:
    """Read an inventory of these hosts and give one of them."""
    return load(fleet(tmp_path, {"inventory/hosts.yaml": hosts})).host(name)


def way(host: Host) -> Via:
    """Give what a guest hangs on."""
    assert host.via is not None
    return host.via


INVENTORY = """\
all:
  hosts:
    pve1: {ansible_host: 10.0.0.9, ansible_user: ops, ansible_become: true, ansible_port: 2222}
    ct1:
      ansible_host: 10.0.0.29
      proxmox_host: pve1
      proxmox_vmid: 129
"""


@pytest.mark.parametrize(
    ("more", "how", "kind"),
    [
        ("", "ssh", "lxc"),
        ("ansible_connection: ssh", "ssh", "lxc"),
        ("ansible_connection: ansible.builtin.ssh", "ssh", "lxc"),
        ("proxmox_vmtype: qemu", "ssh", "qemu"),
        ("ansible_connection: pct", "pct", "lxc"),
        ("ansible_connection: community.proxmox.proxmox_pct_remote", "pct", "lxc"),
        ('ansible_connection: \'{{ "q" ~ "m" }}\'', "qm", "qemu"),
    ],
)
def test_a_guest_is_reached_the_way_the_inventory_says(
    tmp_path: Path, more: str, how: str, kind: str
) -> None:
    """By SSH to the guest itself where nothing is said."""
    host = made(tmp_path, f"{INVENTORY}      {more}\n")
    assert (way(host).how, way(host).kind, way(host).vmid) == (how, kind, 129)
    assert host.address == "10.0.0.29"


def test_the_node_is_reached_as_its_own_entry_says(tmp_path: Path) -> None:
    """User, port and sudo are the node's, and none of them the guest's."""
    host = made(tmp_path, INVENTORY)
    node = way(host).node
    assert (node.name, node.address, node.user, node.port) == ("pve1", "10.0.0.9", "ops", 2222)
    assert node.become
    assert not host.become
    assert way(host).where == "inventory/hosts.yaml:7"


def test_a_node_that_is_no_host_of_the_inventory_is_an_address(tmp_path: Path) -> None:
    """What ~/.ssh/config says of it is heeded."""
    host = made(tmp_path, "all: {hosts: {ct1: {proxmox_host: pve.lan, proxmox_vmid: '129'}}}\n")
    assert way(host).node == Host("pve.lan", "pve.lan", (), {})
    assert str(way(host)) == "container 129 on pve.lan"


def test_the_names_of_ansible_s_inventory_plugin_count(tmp_path: Path) -> None:
    """community.proxmox's facts: proxmox_node, proxmox_vmid, proxmox_vmtype."""
    facts = "proxmox_node: pve1, proxmox_vmid: 200, proxmox_vmtype: qemu"
    host = made(tmp_path, f"all: {{hosts: {{pve1: , vm1: {{{facts}}}}}}}\n", "vm1")
    assert (way(host).node.name, way(host).kind) == ("pve1", "qemu")


def test_the_address_is_the_node_s_where_ansible_s_connection_plugin_has_it_so(
    tmp_path: Path,
) -> None:
    """proxmox_pct_remote logs in at ansible_host, and uses sudo there for a login not root."""
    text = (
        "all: {hosts: {ct1: {ansible_host: 10.0.0.9, ansible_user: ops, proxmox_vmid: 129,"
        " ansible_connection: community.proxmox.proxmox_pct_remote}}}\n"
    )
    node = way(made(tmp_path, text)).node
    assert (node.name, node.address, node.user, node.become) == (
        "10.0.0.9",
        "10.0.0.9",
        "ops",
        True,
    )
    assert node.via is None


def test_a_variable_of_all_hosts_makes_no_guest_of_the_node(tmp_path: Path) -> None:
    """proxmox_host may stand at `all`: without a number the node itself is a plain host."""
    text = "all: {vars: {proxmox_host: pve1}, hosts: {pve1: , ct1: {proxmox_vmid: 129}}}\n"
    inventory = load(fleet(tmp_path, {"inventory/hosts.yaml": text}))
    pve1, ct1 = inventory.select(["all"])
    assert pve1.via is None
    assert way(ct1).node == pve1


def test_another_connection_of_a_plain_host_is_not_heeded_and_said_so(tmp_path: Path) -> None:
    """`localhost ansible_connection=local` is in many inventories and stops nobody."""
    text = "all: {hosts: {localhost: {ansible_connection: local}, gpu1: {ansible_connection: ssh}}}"
    inventory = load(fleet(tmp_path, {"inventory/hosts.yaml": text}))
    assert [host.via for host in inventory.select(["all"])] == [None, None]
    assert [one.problem for one in inventory.unheeded()] == [
        "ansible_connection is not heeded: no local, but SSH it is"
    ]


@pytest.mark.parametrize(
    ("more", "line"),
    [
        ("", "ct1  ssh 10.0.0.29; container 129 on pve1"),
        (
            "ansible_connection: pct",
            "ct1  pct into container 129 on pve1, ssh ops@10.0.0.9:2222, sudo to root",
        ),
    ],
)
def test_the_report_says_through_what_a_guest_is_reached(
    tmp_path: Path, more: str, line: str
) -> None:
    """`invoke inventory` is where a person looks when the way does not fit."""
    host = made(tmp_path, f"{INVENTORY}      {more}\n")
    assert inventory_text([host]).splitlines()[0] == line
    assert '"vmid": 129' in json.dumps(inventory_json([host]))
