"""Groups and hosts as an inventory file declares them, before any variable is merged."""

from dataclasses import dataclass, field

from headway.control.errors import ConfigError
from headway.control.inventory.model import Value

ALL, UNGROUPED = "all", "ungrouped"


@dataclass
class Group:
    """A group: its own hosts, its children in the order they were added, its own variables."""

    name: str
    hosts: list[str] = field(default_factory=list)
    children: list[str] = field(default_factory=list)
    parents: list[str] = field(default_factory=list)
    vars: dict[str, Value] = field(default_factory=dict)
    priority: int = 1


class Tree:
    """All groups by name and all hosts' own variables by host, in the order of the file."""

    def __init__(self) -> None:
        """Begin with the two groups that always exist."""
        self.groups: dict[str, Group] = {}
        self.hosts: dict[str, dict[str, Value]] = {}
        self.add_group(ALL)
        self.add_child(ALL, self.add_group(UNGROUPED).name, "")

    def add_group(self, name: str) -> Group:
        """Give the group of this name, made if it is new."""
        return self.groups.setdefault(name, Group(name))

    def add_child(self, parent: str, child: str, where: str) -> None:
        """Put a group into another; one that would hold itself is a ConfigError."""
        if UNGROUPED in (parent, child) and where:
            hint = "make a group of your own"
            raise ConfigError(where, "`ungrouped` neither holds groups nor is held", hint=hint)
        if child == ALL:
            raise ConfigError(where, f"`all` cannot be a child of {parent!r}: it holds every group")
        if child == parent or child in self.ancestors(parent):
            problem = f"a loop: group {child!r} would be its own parent, through {parent!r}"
            raise ConfigError(where, problem, hint="take it out of one of the two `children`")
        if child not in self.groups[parent].children:
            self.groups[parent].children.append(child)
            self.groups[child].parents.append(parent)

    def add_host(self, name: str, group: str, port: int | None, where: str) -> dict[str, Value]:
        """Put a host into a group and give its variables; a port counts where it first appears."""
        if name not in self.hosts:
            self.hosts[name] = {"ansible_port": Value(port, where)} if port else {}
        if name not in self.groups[group].hosts:
            self.groups[group].hosts.append(name)
        return self.hosts[name]

    def set_group_var(self, group: str, name: str, value: Value) -> None:
        """Set a group's variable; `ansible_group_priority` is the group's and no variable."""
        if name != "ansible_group_priority":
            self.groups[group].vars[name] = value
            return
        try:
            self.groups[group].priority = int(value.value)
        except (TypeError, ValueError):
            problem = f"ansible_group_priority: wants a whole number, got {value.value!r}"
            raise ConfigError(value.where, problem) from None

    def finish(self) -> None:
        """Put every group below `all`, and exactly the hosts without a group into `ungrouped`."""
        for name, group in self.groups.items():
            if name != ALL and not group.parents:
                self.add_child(ALL, name, "")
        grouped = {
            host
            for group in self.groups.values()
            if group.name not in (ALL, UNGROUPED)
            for host in group.hosts
        }
        ungrouped = self.groups[UNGROUPED].hosts
        late = [host for host in self.hosts if host not in grouped and host not in ungrouped]
        ungrouped[:] = [host for host in ungrouped if host not in grouped] + late

    def ancestors(self, name: str) -> set[str]:
        """Name every group that holds this one."""
        found: set[str] = set()
        waiting = list(self.groups[name].parents)
        while waiting:
            parent = waiting.pop()
            if parent not in found:
                found.add(parent)
                waiting.extend(self.groups[parent].parents)
        return found

    def members(self, name: str) -> list[str]:
        """List the hosts of a group and of the groups below it, nearest groups first."""
        below, hosts = [name], dict.fromkeys(self.groups[name].hosts)
        for group in below:
            below.extend(child for child in self.groups[group].children if child not in below)
            hosts.update(dict.fromkeys(self.groups[group].hosts))
        return list(hosts)
