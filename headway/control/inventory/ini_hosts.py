"""An inventory file in Ansible's INI format: [group], [group:vars] and [group:children].

A value is read as a Python literal where it is one (5, True, ['a']), else it is text: that is
Ansible's rule for hosts and for :vars alike (ansible-core 2.19, plugins/inventory/ini.py).
"""

import ast
import re
import shlex
import warnings
from typing import Any

from headway.control.errors import ConfigError
from headway.control.inventory.addresses import expand
from headway.control.inventory.model import Value
from headway.control.inventory.tree import UNGROUPED, Tree
from headway.control.inventory.values import checked_name

_SECTION = re.compile(r"\[([^:\]\s]+)(?::(\w+))?\]\s*(?:#.*)?")
_NAME = re.compile(r"([^:\]\s]+)\s*(?:#.*)?")
_YAML = re.compile(r"---|[^\s\[#;][^\s:]*:(\s|$)")


def is_ini(name: str, text: str) -> bool:
    """Tell INI from YAML: by the ending, else by the first line that says something."""
    if name.endswith((".ini", ".yaml", ".yml")):
        return name.endswith(".ini")
    lines = (line.strip() for line in text.splitlines())
    first = next((line for line in lines if line and line[0] not in "#;"), "")
    return not _YAML.match(first)


def read(text: str, shown: str) -> Tree:
    """Read all sections; a group that only others mention is a ConfigError, as for Ansible."""
    return _Reader(shown).read(text)


class _Reader:
    """Reads line by line; `_declared` and `_mentioned` tell groups that exist from typos."""

    def __init__(self, shown: str) -> None:
        self._shown = shown
        self._tree = Tree()
        self._declared = set(self._tree.groups)
        self._mentioned: dict[str, str] = {}

    def read(self, text: str) -> Tree:
        states = {"hosts": self._host, "vars": self._var, "children": self._child}
        group, state = UNGROUPED, "hosts"
        for number, raw in enumerate(text.splitlines(), start=1):
            line, where = raw.strip(), f"{self._shown}:{number}"
            if not line or line[0] in "#;":
                continue
            section = _SECTION.fullmatch(line)
            if section:
                group, state = section[1], section[2] or "hosts"
                if state not in states:
                    known = ", ".join(f"[{group}:{name}]" for name in ("vars", "children"))
                    raise ConfigError(where, f"{line} is no section; there are [{group}], {known}")
                self._tree.add_group(group)
                if state == "vars":
                    self._mentioned.setdefault(group, where)
                else:
                    self._declared.add(group)
            elif line.startswith("[") and line.endswith("]"):
                hint = "a name holds no blank and no ':'"
                raise ConfigError(where, f"{line} is no section", hint=hint)
            else:
                states[state](group, line, where)
        for name, where in self._mentioned.items():
            if name not in self._declared:
                problem = f"there is no group {name!r}"
                raise ConfigError(where, problem, hint=f"declare it with a section [{name}]")
        self._tree.finish()
        return self._tree

    def _host(self, group: str, line: str, where: str) -> None:
        try:
            pattern, *words = shlex.split(line, comments=True)
        except ValueError as error:
            hint = "close the quote"
            raise ConfigError(where, f"not a host: {error}".lower(), hint=hint) from None
        names, port = expand(pattern, where)
        own = dict(_pair(word, where) for word in words)
        for name in names:
            self._tree.add_host(name, group, port, where).update(own)

    def _var(self, group: str, line: str, where: str) -> None:
        name, value = _pair(line, where)
        self._tree.set_group_var(group, name, value)

    def _child(self, group: str, line: str, where: str) -> None:
        name = _NAME.fullmatch(line)
        if not name:
            raise ConfigError(where, f"{line!r} is no name of a group")
        self._tree.add_group(name[1])
        self._tree.add_child(group, name[1], where)
        self._mentioned.setdefault(name[1], where)


def _pair(text: str, where: str) -> tuple[str, Value]:
    name, equals, value = text.partition("=")
    if not equals:
        raise ConfigError(where, f"{text!r} is no variable", hint="write name=value")
    return checked_name(name.strip(), where), Value(_literal(value.strip(), where), where)


def _literal(text: str, where: str) -> Any:  # noqa: ANN401 # any Python literal
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            return _plain(ast.literal_eval(text))
    except (ValueError, SyntaxError):
        return text
    except (TypeError, MemoryError, RecursionError):
        raise ConfigError(where, f"{text!r} cannot be read", hint="quote it as text") from None


def _plain(value: Any) -> Any:  # noqa: ANN401
    """Turn a literal into what JSON knows, as Ansible does."""
    if isinstance(value, (list, tuple, set)):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if value is ...:
        return "..."
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return str(value) if isinstance(value, complex) else value
