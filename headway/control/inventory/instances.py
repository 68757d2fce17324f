"""What should run on a host: `roles:` of all its groups and of itself, added up in order."""

import re
from collections.abc import Iterable
from typing import Any

from headway.control.errors import ConfigError
from headway.control.inventory.model import Instance, Value
from headway.control.inventory.values import checked_name

VARIABLE = "roles"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


def instances(host: str, lists: Iterable[Value]) -> tuple[Instance, ...]:
    """Add the entries up; a name that stands twice is a ConfigError that shows both places."""
    found: dict[str, Instance] = {}
    for value in lists:
        for one in _entries(value):
            other = found.get(one.name)
            if other:
                problem = f"host {host} has two instances named {one.name!r}: also {other.where}"
                hint = "give one of them a `name:` of its own, or list it in one place"
                raise ConfigError(one.where, problem, hint=hint)
            found[one.name] = one
    return tuple(found.values())


def _entries(value: Value) -> list[Instance]:
    if value.value is None:
        return []
    if not isinstance(value.value, list):
        hint = "write `roles: [NAME]`"
        raise ConfigError(value.where, "roles: wants a list", hint=hint)
    return [_entry(value, index, entry) for index, entry in enumerate(value.value)]


def _entry(value: Value, index: int, entry: Any) -> Instance:  # noqa: ANN401 # what YAML gave
    where = value.at(index)
    fields = {"role": entry} if isinstance(entry, str) else entry
    if not isinstance(fields, dict) or "role" not in fields:
        problem = f"roles/{index}: wants a role's name, or a mapping with `role:`"
        raise ConfigError(where, problem, hint="for example {role: vllm, name: chat, port: 8001}")
    role = _checked(fields["role"], f"roles/{index}/role", value.at(index, "role"))
    name = _checked(fields.get("name", role), f"roles/{index}/name", value.at(index, "name"))
    return Instance(
        name=name,
        role=role,
        vars={
            checked_name(key, value.at(index, str(key))): _inner(value, index, key, own)
            for key, own in fields.items()
            if key not in ("role", "name")
        },
        where=where,
    )


def _inner(value: Value, index: int, key: str, own: Any) -> Value:  # noqa: ANN401
    return Value(own, value.at(index, key), lambda path: value.at(index, key, *path))


def _checked(name: object, what: str, where: str) -> str:
    if isinstance(name, str) and _NAME.fullmatch(name):
        return name
    hint = "use letters, digits, '-', '_' and '.'"
    raise ConfigError(where, f"{what}: {name!r} cannot name files and units", hint=hint)
