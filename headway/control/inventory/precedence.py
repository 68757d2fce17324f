"""Which value wins: Ansible's order of groups and layers, as `ansible-inventory` applies it.

    all, in the hosts file < groups, in the hosts file < group_vars/all < group_vars/GROUP
    < the host, in the hosts file < host_vars/HOST

Among groups a parent yields to its child, then the lower `ansible_group_priority`, then the
earlier name. (ansible-core 2.19, VariableManager.get_vars and VARIABLE_PRECEDENCE.)
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from headway.control.inventory.model import Value
from headway.control.inventory.tree import ALL, Tree
from headway.control.inventory.vars_files import VarsFiles

Vars = Mapping[str, Value]


@dataclass(frozen=True)
class Layers:
    """The variables of a host, layer by layer, the weakest first; `groups` leaves out `all`."""

    groups: tuple[str, ...]
    inline: tuple[Vars, ...]
    files: tuple[tuple[Vars, ...], ...]
    host_inline: Vars
    host_files: tuple[Vars, ...]

    def merged(self) -> dict[str, Value]:
        """Let the strongest layer win; each value remembers what it won over."""
        from_groups = (*self.inline, *(layer for layers in self.files for layer in layers))
        return merge((*from_groups, self.host_inline, *self.host_files))

    def every(self, name: str) -> list[Value]:
        """List each value of a variable that adds up: all, then parents, children, the host."""
        layers = [
            layer
            for inline, files in zip(self.inline, self.files, strict=True)
            for layer in (inline, *files)
        ]
        return [
            layer[name] for layer in (*layers, self.host_inline, *self.host_files) if name in layer
        ]


def merge(layers: Iterable[Vars]) -> dict[str, Value]:
    """Let a later layer win over an earlier one, whole values at a time as Ansible does."""
    result: dict[str, Value] = {}
    for layer in layers:
        for name, value in layer.items():
            old = result.get(name)
            result[name] = replace(value, overridden=(old, *old.overridden)) if old else value
    return result


class Precedence:
    """Knows in which order the groups of a tree yield to one another."""

    def __init__(self, tree: Tree, files: VarsFiles) -> None:
        """Take a finished tree, and where group_vars/ and host_vars/ are read from."""
        self._tree = tree
        self._files = files

    def layers(self, host: str) -> Layers:
        """Lay out everything that is said about a host."""
        groups = self.groups_of(host)
        in_order = [self._tree.groups[name] for name in (ALL, *groups)]
        return Layers(
            groups=groups,
            inline=tuple(group.vars for group in in_order),
            files=tuple(self._files.of_group(group.name) for group in in_order),
            host_inline=self._tree.hosts[host],
            host_files=self._files.of_host(host),
        )

    def groups_of(self, host: str) -> tuple[str, ...]:
        """Name all groups of a host in the order they are merged, without `all`."""
        names = set(self._direct.get(host, ()))
        for name in tuple(names):
            names |= self._tree.ancestors(name)
        return tuple(sorted(names - {ALL}, key=self._rank))

    @cached_property
    def _direct(self) -> dict[str, list[str]]:
        direct: dict[str, list[str]] = {}
        for group in self._tree.groups.values():
            for host in group.hosts:
                direct.setdefault(host, []).append(group.name)
        return direct

    def _rank(self, name: str) -> tuple[int, int, str]:
        return (self._depths[name], self._tree.groups[name].priority, name)

    @cached_property
    def _depths(self) -> dict[str, int]:
        """Count the longest way down from `all` to each group."""
        depths: dict[str, int] = {}

        def depth(name: str) -> int:
            if name not in depths:
                parents = self._tree.groups[name].parents
                depths[name] = max((depth(parent) + 1 for parent in parents), default=0)
            return depths[name]

        for name in self._tree.groups:
            depth(name)
        return depths
