"""Host patterns of the command line, as Ansible reads them.

    all  *  gpu1  engines  gpu*  ~gpu[12]  engines[0]  engines[1:3]  a:b  a,b  a:!b  a:&b

Unlike Ansible, a term that matches nothing is an error: a typo in `engines:!gpu3` must not put
gpu3 in hand.
"""

import re
from collections.abc import Iterable, Sequence
from fnmatch import translate

from headway.control.errors import UsageError
from headway.control.inventory.tree import ALL, Tree
from headway.control.near import near

_SUBSCRIPT = re.compile(r"(.+)\[(?:(-?[0-9]+)|([0-9]+):([0-9]*))\]")
_TERM = re.compile(r"(?:[^\s:\[\]]|\[[^\]]*\])+")
_SPECIAL = re.compile(r"[.?*\[]")
_IPV6 = re.compile(r"[0-9a-fA-F]*:[0-9a-fA-F:.]*:[0-9a-fA-F:.]*")


def select(tree: Tree, patterns: Sequence[str]) -> tuple[str, ...]:
    """Name the hosts that the patterns select, in the order of the inventory, each once."""
    terms = [term for pattern in patterns for term in split(tree, pattern)]
    if not terms:
        raise UsageError("no hosts are named", hint="name them: --host gpu1, or --host all")
    plain = [term for term in terms if term[0] not in "&!"] or [ALL]
    chosen = dict.fromkeys(host for term in plain for host in _matches(tree, term))
    for sign, keeps in (("&", True), ("!", False)):
        for term in terms:
            if term[0] == sign:
                those = set(_matches(tree, term[1:]))
                chosen = {host: None for host in chosen if (host in those) is keeps}
    if not chosen:
        shown = ",".join(patterns)
        raise UsageError(f"{shown!r} leaves no host", hint="see `invoke inventory --host all`")
    return tuple(chosen)


def split(tree: Tree, pattern: str) -> list[str]:
    """Split a pattern into its terms; ':' splits too, but not within [1:3] or an IPv6 address."""
    if "," in pattern:
        return [term.strip() for term in pattern.split(",") if term.strip()]
    if pattern in tree.hosts or _IPV6.fullmatch(pattern) or pattern.startswith("~"):
        return [pattern]
    return _TERM.findall(pattern)


def _matches(tree: Tree, term: str) -> list[str]:
    if term in tree.hosts:
        return [term]
    expression, subscript = _subscript(term)
    groups = _named(tree.groups, expression, term)
    hosts = dict.fromkeys(host for group in groups for host in tree.members(group))
    if not groups or expression.startswith("~") or _SPECIAL.search(expression):
        named = _named(tree.hosts, expression, term)
        hosts.update(dict.fromkeys(named))
        if not groups and not named:
            names = near(term, (*tree.hosts, *tree.groups))
            raise UsageError(f"no host or group matches {term!r}; {names}")
    return subscript_of(list(hosts), subscript, term)


def _named(names: Iterable[str], expression: str, term: str) -> list[str]:
    try:
        regex = expression[1:] if expression.startswith("~") else translate(expression)
        pattern = re.compile(regex)
    except re.error as error:
        raise UsageError(f"{term!r} is no regular expression: {error}") from None
    return [name for name in names if pattern.match(name)]


def _subscript(term: str) -> tuple[str, tuple[int, int | None] | int | None]:
    found = None if term.startswith("~") else _SUBSCRIPT.fullmatch(term)
    if not found:
        return term, None
    expression, index, start, end = found.groups()
    return expression, int(index) if index else (int(start), int(end) if end else None)


def subscript_of(
    hosts: list[str], subscript: tuple[int, int | None] | int | None, term: str
) -> list[str]:
    """Take one host by its index, or those from one to another; both ends are included."""
    if subscript is None:
        return hosts
    if isinstance(subscript, int):
        if not -len(hosts) <= subscript < len(hosts):
            raise UsageError(f"{term!r}: there are only {len(hosts)} hosts, counted from 0")
        return [hosts[subscript]]
    first, last = subscript
    return hosts[first : None if last is None else last + 1]
