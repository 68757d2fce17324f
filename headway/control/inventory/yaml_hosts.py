"""An inventory file in Ansible's YAML format: groups of `hosts`, `vars` and `children`."""

from dataclasses import replace

from headway.control.errors import ConfigError
from headway.control.inventory.addresses import expand
from headway.control.inventory.model import Value
from headway.control.inventory.tree import Tree
from headway.control.inventory.values import variables
from headway.control.near import near
from headway.control.yaml_nodes import Spot


def read(spot: Spot) -> Tree:
    """Read all groups; what Ansible would skip with a warning is a ConfigError here."""
    tree = Tree()
    if not isinstance(spot.value, dict):
        problem = "wants groups, as a mapping" if spot.value is not None else "holds no group"
        hint = "begin with `all:`, below it `hosts:`, below that your hosts"
        raise ConfigError(spot.where, problem, hint=hint)
    if "plugin" in spot.value:
        raise ConfigError(spot.where, "inventory plugins are not supported", hint="list the hosts")
    for name, inner in spot.items():
        _group(tree, name, inner)
    tree.finish()
    return tree


def _group(tree: Tree, name: object, spot: Spot) -> str:
    if not isinstance(name, str) or not name:
        raise ConfigError(spot.where, f"{name!r} is no name for a group", hint="quote it")
    tree.add_group(name)
    for section, inner in _entries(spot, f"group {name!r}"):
        if section not in _SECTIONS:
            problem = f"group {name!r} has no {section!r}; {near(str(section), _SECTIONS)}"
            raise ConfigError(inner.where, problem)
        _SECTIONS[section](tree, name, inner)
    return name


def _hosts(tree: Tree, group: str, spot: Spot) -> None:
    for pattern, inner in _entries(spot, f"hosts of {group!r}"):
        if not isinstance(pattern, str):
            raise ConfigError(inner.where, f"{pattern!r} is no name for a host", hint="quote it")
        own = _variables(inner, f"host {pattern!r}")
        names, port = expand(pattern, inner.where)
        for name in names:
            tree.add_host(name, group, port, inner.where).update(own)


def _vars(tree: Tree, group: str, spot: Spot) -> None:
    for name, value in _variables(spot, f"vars of {group!r}").items():
        tree.set_group_var(group, name, value)


def _children(tree: Tree, group: str, spot: Spot) -> None:
    for name, inner in _entries(spot, f"children of {group!r}"):
        tree.add_child(group, _group(tree, name, inner), inner.where)


_SECTIONS = {"hosts": _hosts, "vars": _vars, "children": _children}


def _entries(spot: Spot, what: str) -> list[tuple[object, Spot]]:
    """List the entries of a mapping; nothing is an empty one, and a lone name one entry."""
    if isinstance(spot.value, str):
        return [(spot.value, replace(spot, value=None))]
    if spot.value is not None and not isinstance(spot.value, dict):
        hint = "write `name:` a line, not `- name`" if isinstance(spot.value, list) else ""
        raise ConfigError(spot.where, f"{what}: wants a mapping", hint=hint)
    return list(spot.items())


def _variables(spot: Spot, what: str) -> dict[str, Value]:
    if spot.value is not None and not isinstance(spot.value, dict):
        raise ConfigError(spot.where, f"{what}: wants variables, as a mapping")
    return variables(spot)
