"""Whatever the groups, a child wins over its parents and a loop is refused."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.control.errors import ConfigError, UsageError
from headway.control.fleet import Fleet
from headway.control.inventory.model import Value
from headway.control.inventory.patterns import select
from headway.control.inventory.precedence import Precedence
from headway.control.inventory.tree import Tree
from headway.control.inventory.vars_files import VarsFiles

GROUPS = "abcdefg"
edges = st.sets(st.tuples(st.sampled_from(GROUPS), st.sampled_from(GROUPS)), max_size=12)
places = st.dictionaries(
    st.sampled_from(["h1", "h2", "h3"]), st.sets(st.sampled_from(GROUPS), max_size=4), min_size=1
)


def tree_of(edges: set[tuple[str, str]], places: dict[str, set[str]]) -> Tree:
    """Make a tree whose edges go down the alphabet, each group naming itself in `v`."""
    tree = Tree()
    for name in GROUPS:
        tree.set_group_var(tree.add_group(name).name, "v", Value(name, name))
    for parent, child in sorted(edges):
        if parent < child:
            tree.add_child(parent, child, "f:1")
    for host, groups in places.items():
        for group in sorted(groups or {"all"}):
            tree.add_host(host, group, None, "f:1")
    tree.finish()
    return tree


@given(edges, places)
def test_no_group_below_the_winner_says_otherwise(
    edges: set[tuple[str, str]], places: dict[str, set[str]]
) -> None:
    """The nearest word counts."""
    tree = tree_of(edges, places)
    precedence = Precedence(tree, VarsFiles(Fleet(Path("/")), Path("/nowhere")))

    for host in tree.hosts:
        layers = precedence.layers(host)
        if layers.groups == ("ungrouped",):
            continue
        winner = layers.merged()["v"].value
        assert not [group for group in layers.groups if winner in tree.ancestors(group)]


@given(edges, places, st.sampled_from(GROUPS), st.sampled_from(GROUPS))
def test_a_loop_is_refused_wherever_it_would_close(
    edges: set[tuple[str, str]], places: dict[str, set[str]], parent: str, child: str
) -> None:
    """Afterwards, no group is above itself."""
    tree = tree_of(edges, places)

    if child == parent or child in tree.ancestors(parent):
        with pytest.raises(ConfigError, match="a loop"):
            tree.add_child(parent, child, "f:1")
    else:
        tree.add_child(parent, child, "f:1")

    assert not [name for name in tree.groups if name in tree.ancestors(name)]


@given(edges, places, st.sampled_from(GROUPS), st.sampled_from(GROUPS))
def test_patterns_are_set_arithmetic_in_the_order_of_the_inventory(
    edges: set[tuple[str, str]], places: dict[str, set[str]], one: str, other: str
) -> None:
    """Union, intersection and difference of the groups' members."""
    tree = tree_of(edges, places)
    ours, theirs = tree.members(one), tree.members(other)

    def chosen(pattern: str) -> list[str]:
        try:
            return list(select(tree, [pattern]))
        except UsageError:
            return []

    assert chosen(f"{one}:{other}") == ours + [host for host in theirs if host not in ours]
    assert chosen(f"{one}:&{other}") == [host for host in ours if host in theirs]
    assert chosen(f"{one}:!{other}") == [host for host in ours if host not in theirs]
