"""`inventory`: every value of a host, with the file and line it comes from."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from headway.control.desk import Desk
from headway.control.inventory.instances import VARIABLE
from headway.control.inventory.model import Host, Steps, Value
from headway.control.table import table
from headway.wire.loader import Json
from headway.wire.phase import Exit


@dataclass(frozen=True)
class Origin:
    """One value: of an instance, or of the host itself where `instance` is empty.

    `name` is the path into mappings and lists, joined by dots. A number with a fraction is text.
    """

    host: str
    instance: str
    name: str
    value: Json
    where: str


def show(desk: Desk) -> Exit:
    """Print the values of the hosts in hand."""
    found = [origin for host in desk.hosts for origin in origins(host)]
    if desk.json:
        desk.rows(found)
    else:
        desk.print("\n\n".join(_text(host) for host in desk.hosts))
    return Exit.ACCEPTED


def origins(host: Host) -> Iterator[Origin]:
    """List every value of a host and its instances; secrets are shown as ***.

    `roles` is left out: it adds up over groups, and what it adds up to are the instances.
    """
    for name, value in host.vars.items():
        if name != VARIABLE:
            yield from _leaves(host.name, "", name, value)
    for instance in host.instances:
        yield Origin(host.name, instance.name, "role", instance.role, instance.where)
        for name, value in instance.vars.items():
            yield from _leaves(host.name, instance.name, name, value)


def _text(host: Host) -> str:
    rows = [
        (f"{one.instance}.{one.name}" if one.instance else one.name, _shown(one.value), one.where)
        for one in origins(host)
    ]
    head = f"{host.name}  {host.address}  groups: {', '.join(host.groups) or 'none'}"
    return f"{head}\n{table(('NAME', 'VALUE', 'WHERE'), rows)}" if rows else head


def _leaves(host: str, instance: str, name: str, value: Value) -> Iterator[Origin]:
    for steps, leaf in _walk(value.value):
        path = ".".join((name, *map(str, steps)))
        yield Origin(host, instance, path, _plain(leaf), value.at(*steps))


def _walk(value: Any, steps: Steps = ()) -> Iterator[tuple[Steps, Any]]:  # noqa: ANN401 # YAML
    """Give what is no mapping or list, with the way to it; an empty one is itself a leaf."""
    inside: list[tuple[str | int, Any]] = []
    if isinstance(value, dict):
        inside = list(value.items())
    elif isinstance(value, list | tuple):
        inside = list(enumerate(value))
    if not inside:
        yield steps, value
    for key, item in inside:
        yield from _walk(item, (*steps, key))


def _plain(leaf: Any) -> Json:  # noqa: ANN401
    return leaf if leaf is None or isinstance(leaf, bool | int | dict | list) else str(leaf)


def _shown(value: Json) -> str:
    if not isinstance(value, str):
        return json.dumps(value)
    first, *more = value.splitlines() or [""]
    return f"{first} ..." if more else first
