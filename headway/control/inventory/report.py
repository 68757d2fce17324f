"""`invoke inventory`: every value of a host, where it was written, and what it won over."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from headway.control.inventory.instances import VARIABLE
from headway.control.inventory.model import Host, Instance, Value, Via
from headway.control.secrets import MASK, Secret
from headway.wire.loader import Json

Row = tuple[str, str, str]
_COLUMN = 60
"""Longer values do not push the column of places further to the right."""


def explain(host: Host) -> dict[str, Value]:
    """Give a host's variables by name, sorted, each with what it won over.

    `roles` is left out: it adds up instead of winning, and its result is the host's instances.
    """
    return {name: host.vars[name] for name in sorted(host.vars) if name != VARIABLE}


def inventory_text(hosts: Sequence[Host]) -> str:
    """Write hosts for people: a line a value, `<` before what it won over; secrets are ***."""
    return "\n\n".join(_host_text(host) for host in hosts) + "\n"


def inventory_json(hosts: Sequence[Host]) -> Json:
    """Give the same as JSON values: a list of hosts; secrets are ***."""
    return [_host_json(host) for host in hosts]


def _host_text(host: Host) -> str:
    groups = ", ".join(host.groups) or "none"
    rows = list(_rows(explain(host)))
    for instance in host.instances:
        rows.append((f"{instance.name}: role {instance.role}", "", instance.where))
        rows.extend((f"  {name}", value, where) for name, value, where in _rows(instance.vars))
    head = [f"{host.name}  {_way(host)}", f"  groups: {groups}"]
    return "\n".join([*head, *_table(rows)])


def _way(host: Host) -> str:
    """Say how a host is reached; of a guest, through what, or at least what it is."""
    user = f"{host.user}@" if host.user else ""
    port = f":{host.port}" if host.port else ""
    become = f", sudo to {host.become_user}" if host.become else ""
    ssh = f"ssh {user}{host.address}{port}{become}"
    if host.via is None:
        return ssh
    if host.via.how == "ssh":
        return f"{ssh}; {host.via}"
    return f"{host.via.how} into {host.via}, {_way(host.via.node)}"


def _rows(values: Mapping[str, Value]) -> Iterable[Row]:
    for name, value in values.items():
        yield name, _shown(value.value), value.where
        for old in value.overridden:
            yield "  <", _shown(old.value), old.where


def _table(rows: Sequence[Row]) -> list[str]:
    names = max((len(name) for name, _, _ in rows), default=0)
    values = min(max((len(value) for _, value, _ in rows), default=0), _COLUMN)
    return [f"  {name:<{names}}  {value:<{values}}  {where}" for name, value, where in rows]


def _host_json(host: Host) -> Json:
    return {
        "name": host.name,
        "address": host.address,
        "port": host.port,
        "user": host.user,
        "key_file": host.key_file,
        "become": host.become,
        "become_user": host.become_user,
        "via": _via_json(host.via) if host.via else None,
        "groups": list(host.groups),
        "vars": _vars_json(explain(host)),
        "instances": [_instance_json(instance) for instance in host.instances],
    }


def _via_json(via: Via) -> Json:
    return {"node": via.node.name, "vmid": via.vmid, "kind": via.kind, "how": via.how}


def _instance_json(instance: Instance) -> Json:
    return {
        "name": instance.name,
        "role": instance.role,
        "where": instance.where,
        "vars": _vars_json(instance.vars),
    }


def _vars_json(values: Mapping[str, Value]) -> Json:
    return {
        name: {
            "value": masked(value.value),
            "where": value.where,
            "overridden": [
                {"value": masked(old.value), "where": old.where} for old in value.overridden
            ],
        }
        for name, value in values.items()
    }


def masked(value: Any) -> Json:  # noqa: ANN401 # any value of an inventory
    """Give a value with *** for every secret within it."""
    if isinstance(value, Secret):
        return MASK
    if isinstance(value, dict):
        return {str(key): masked(item) for key, item in value.items()}
    if isinstance(value, list):
        return [masked(item) for item in value]
    return value


def _shown(value: Any) -> str:  # noqa: ANN401
    plain = masked(value)
    as_is = isinstance(plain, str) and plain.isprintable() and plain
    return plain if as_is else json.dumps(plain, ensure_ascii=False)
