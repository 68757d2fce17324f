"""The inventory of a fleet: its hosts file read once, hosts made when they are in hand."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from headway.control.errors import ConfigError
from headway.control.fleet import Fleet
from headway.control.inventory import ini_hosts, patterns, yaml_hosts
from headway.control.inventory.connection import connection, honoured, unheeded
from headway.control.inventory.guests import Guest, guest
from headway.control.inventory.instances import VARIABLE, instances
from headway.control.inventory.model import Host, Via
from headway.control.inventory.precedence import Precedence
from headway.control.inventory.tree import Tree
from headway.control.inventory.vars_files import GROUP_VARS, HOST_VARS, VarsFiles
from headway.control.secret_sources import Sources


@dataclass(frozen=True)
class Unheeded:
    """Something that Ansible or the author might think counts, and does not; lint names it."""

    where: str
    problem: str


class Inventory:
    """All hosts of a fleet. Variables and secrets of a host are read when it is selected."""

    def __init__(self, tree: Tree, files: VarsFiles, secrets: Sources) -> None:
        """Take what the hosts file declares, and the variable files beside it."""
        self._tree = tree
        self._secrets = secrets
        self._files = files
        self._precedence = Precedence(tree, files)
        self._nodes: dict[str, Host] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """Name every host, in the order of the groups."""
        return tuple(self._tree.members("all"))

    @property
    def groups(self) -> dict[str, tuple[str, ...]]:
        """Name every group and the hosts in it or below it."""
        return {name: tuple(self._tree.members(name)) for name in self._tree.groups}

    def select(self, wanted: Sequence[str]) -> tuple[Host, ...]:
        """Make the hosts that Ansible's patterns select, in order.

        A pattern that matches nothing is a UsageError that offers near names.
        """
        return tuple(self.host(name) for name in patterns.select(self._tree, wanted))

    def host(self, name: str) -> Host:
        """Make one host of the inventory: its variables merged, its roles added up."""
        host, found = self._made(name)
        if found is None:
            return host
        node = self._node(host, found)
        return replace(host, via=Via(node, found.vmid, found.kind, found.how, found.where))

    def _made(self, name: str) -> tuple[Host, Guest | None]:
        layers = self._precedence.layers(name)
        merged = layers.merged()
        values = honoured(name, merged)
        reach = connection(name, values, self._secrets)
        host = Host(
            name=name,
            address=reach.address,
            groups=layers.groups,
            vars=merged,
            instances=instances(name, layers.every(VARIABLE)),
            port=reach.port,
            user=reach.user,
            key_file=reach.key_file,
            become=reach.become,
            become_user=reach.become_user,
            become_password=reach.become_password,
        )
        return host, guest(name, values)

    def _node(self, host: Host, found: Guest) -> Host:
        """Find the node of a guest: a host of the inventory, an address, or where the guest is."""
        if not found.node:  # as Ansible's proxmox_pct_remote has it: these are the node's
            become = host.become or host.user not in {None, "root"}
            return replace(host, name=host.address, instances=(), become=become)
        if found.node not in self._tree.hosts:
            return Host(found.node, found.node, (), {})
        if found.node not in self._nodes:
            node, outer = self._made(found.node)
            if outer is not None:
                problem = f"{found.node} is a guest itself, and a node has to be none"
                raise ConfigError(found.node_where, problem)
            self._nodes[found.node] = node
        return self._nodes[found.node]

    def unheeded(self) -> tuple[Unheeded, ...]:
        """List what counts for nothing: ansible_ variables we do not know, files of no group."""
        found = {
            (where, problem): None
            for name in self.names
            for where, problem in unheeded(self._precedence.layers(name).merged())
        }
        for kind, names in ((GROUP_VARS, self._tree.groups), (HOST_VARS, self._tree.hosts)):
            what = "group" if kind == GROUP_VARS else "host"
            for entry in self._files.unused(kind, names):
                found[(entry, f"speaks for no {what} of the inventory")] = None
        return tuple(Unheeded(where, problem) for where, problem in found)


def load(fleet: Fleet) -> Inventory:
    """Read the hosts file of a fleet, YAML or INI; what does not fit is a ConfigError."""
    path = fleet.hosts_file()
    text = fleet.text(path)
    if ini_hosts.is_ini(path.name, text):
        tree = ini_hosts.read(text, fleet.shown(path))
    else:
        tree = yaml_hosts.read(fleet.document(path).spot)
    return Inventory(tree, VarsFiles(fleet, path.parent), fleet.secrets)
