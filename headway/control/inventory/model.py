"""What an inventory says: hosts, their variables with the line each came from, their instances."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from headway.control.secrets import Secret

Steps = tuple[str | int, ...]

CLASS = "class"
"""The variable that names the kind of machine a host is."""
Kind = Literal["lxc", "qemu"]
How = Literal["ssh", "pct", "qm"]
KINDS: dict[Kind, str] = {"lxc": "container", "qemu": "VM"}


@dataclass(frozen=True)
class Value:
    """A variable's value as written, and FILE:LINE of where it was.

    Raw: text may hold `{{ }}`, and a Secret may stand anywhere inside. `inner` answers for what
    lies within a mapping or list. `overridden` are the values it won over, newest first.
    """

    value: Any
    where: str
    inner: Callable[[Steps], str] | None = field(default=None, compare=False, repr=False)
    overridden: tuple["Value", ...] = field(default=(), compare=False, repr=False)

    def at(self, *steps: str | int) -> str:
        """Say FILE:LINE of what these keys and indices lead to within the value."""
        return self.inner(steps) if self.inner and steps else self.where


@dataclass(frozen=True)
class Instance:
    """One use of a role on a host. `vars` are its own; the host's lie beneath them."""

    name: str
    role: str
    vars: Mapping[str, Value]
    where: str


@dataclass(frozen=True)
class Via:
    """What a guest hangs on: its Proxmox node, its number there, and `how` the guest is reached.

    `kind` is Proxmox's own word; KINDS has the one for people. `where` is FILE:LINE of what says
    how.
    """

    node: "Host"
    vmid: int
    kind: Kind
    how: How
    where: str

    def __str__(self) -> str:
        """Name the guest as people do: container 129 on pve1."""
        return f"{KINDS[self.kind]} {self.vmid} on {self.node.name}"


@dataclass(frozen=True)
class Host:
    """A machine: how it is reached, what is true of it, and what should run on it.

    `user`, `port` and `key_file` are None where the inventory leaves them to ~/.ssh/config.
    `groups` are all groups it is in, as variables are merged: parents first, `all` left out.
    `via` is a Proxmox guest's node; None for a machine that is none.
    """

    name: str
    address: str
    groups: tuple[str, ...]
    vars: Mapping[str, Value]
    instances: tuple[Instance, ...] = ()
    port: int | None = None
    user: str | None = None
    key_file: str | None = None
    become: bool = False
    become_user: str = "root"
    become_password: "Secret | None" = None
    via: Via | None = None

    def instance(self, name: str) -> Instance | None:
        """Find an instance by its name."""
        return next((one for one in self.instances if one.name == name), None)
