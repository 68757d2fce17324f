"""Which hosts are guests of a Proxmox node, and how a guest is reached: by SSH, pct or qm.

A host with `proxmox_vmid` is a guest. `proxmox_host` names its node: a host of the inventory, or
an address. Ansible's names count as well: proxmox_node and proxmox_vmtype (community.proxmox's
inventory), and its connection plugin proxmox_pct_remote, whose ansible_host is the node's.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast, get_args

from headway.control.inventory.misfit import misfit, text
from headway.control.inventory.model import How, Kind, Value

HEEDED = (
    "ansible_connection",
    "proxmox_host",
    "proxmox_node",
    "proxmox_vmid",
    "proxmox_vmtype",
)
_SSH = ("ssh", "smart", "paramiko", "paramiko_ssh")
_PCT = "proxmox_pct_remote"
CONNECTIONS: dict[str, How] = {
    **dict.fromkeys((*_SSH, *(f"ansible.builtin.{name}" for name in _SSH)), "ssh"),
    **dict.fromkeys(("pct", _PCT, f"community.proxmox.{_PCT}", f"community.general.{_PCT}"), "pct"),
    "qm": "qm",
}
"""What ansible_connection may say of a guest. Of other hosts "ssh" is all that counts."""

KIND_OF: dict[How, Kind] = {"ssh": "lxc", "pct": "lxc", "qm": "qemu"}
VMIDS = range(100, 1_000_000_000)
"""Proxmox's own limits (pve-common, the standard option pve-vmid)."""


@dataclass(frozen=True)
class Guest:
    """What the inventory says of a guest; `node` "" is the machine at the host's own address."""

    node: str
    vmid: int
    kind: Kind
    how: How
    where: str
    node_where: str


def guest(host: str, values: Mapping[str, Value]) -> Guest | None:
    """Read what makes a host a guest; None where it is none, ConfigError where it does not fit."""
    word = text(values, "ansible_connection") or "ssh"
    how = CONNECTIONS.get(word)
    node_name = next((n for n in ("proxmox_host", "proxmox_node") if text(values, n)), "")
    node = text(values, node_name) or ""
    if "proxmox_vmid" not in values or values["proxmox_vmid"].value is None:
        if how in {"pct", "qm"}:
            raise misfit(values["ansible_connection"], word, "wants proxmox_vmid beside it")
        if node_name == "proxmox_host" and node != host:
            raise misfit(values[node_name], node_name, "wants proxmox_vmid beside it")
        return None
    if how is None:
        problem = f"wants ssh, pct or qm of a guest, got {word!r}"
        raise misfit(values["ansible_connection"], "ansible_connection", problem)
    if node == host:
        raise misfit(values[node_name], node_name, f"{host} cannot be its own node")
    if not node and not (how == "pct" and text(values, "ansible_host")):
        raise misfit(values["proxmox_vmid"], "proxmox_vmid", "wants proxmox_host beside it")
    where = values["ansible_connection" if how != "ssh" else "proxmox_vmid"].where
    node_where = values[node_name].where if node else where
    return Guest(node, _vmid(values["proxmox_vmid"]), _kind(values, how), how, where, node_where)


def _vmid(value: Value) -> int:
    given: Any = value.value
    number = int(given) if isinstance(given, str) and given.isdecimal() else given
    if type(number) is not int or number not in VMIDS:
        raise misfit(value, "proxmox_vmid", f"wants a number from {VMIDS[0]} on, got {given!r}")
    return number


def _kind(values: Mapping[str, Value], how: How) -> Kind:
    said = text(values, "proxmox_vmtype")
    if said is None:
        return KIND_OF[how]
    if said not in get_args(Kind):
        raise misfit(values["proxmox_vmtype"], "proxmox_vmtype", f"wants lxc or qemu, got {said!r}")
    if how != "ssh" and said != KIND_OF[how]:
        problem = f"{how} reaches {KIND_OF[how]} guests only; this one is {said}"
        raise misfit(values["ansible_connection"], "ansible_connection", problem)
    return cast("Kind", said)
