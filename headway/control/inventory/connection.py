"""How a host is reached: which of Ansible's connection variables count, and what they may hold."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from headway.control.inventory import guests
from headway.control.inventory.misfit import misfit, text
from headway.control.inventory.model import Value
from headway.control.secret_sources import Sources
from headway.control.secrets import Secret

HONOURED = (
    "ansible_host",
    "ansible_port",
    "ansible_user",
    "ansible_ssh_private_key_file",
    "ansible_become",
    "ansible_become_user",
    "ansible_become_password",
    "ansible_python_interpreter",
    *guests.HEEDED,
)
"""All else about a connection belongs into ~/.ssh/config (ProxyJump, ciphers, control sockets)."""

INSTEAD = {
    "ansible_ssh_host": "write ansible_host",
    "ansible_ssh_port": "write ansible_port",
    "ansible_ssh_user": "write ansible_user",
    "ansible_private_key_file": "write ansible_ssh_private_key_file",
    "ansible_become_pass": "write ansible_become_password",
    "ansible_ssh_common_args": "write ProxyJump and such to ~/.ssh/config",
    "ansible_ssh_extra_args": "write them to ~/.ssh/config",
    "ansible_password": "use a key: passwords are asked for sudo only",
    "ansible_ssh_pass": "use a key: passwords are asked for sudo only",
    "ansible_become_method": "sudo is the only way there is",
    "ansible_group_priority": "it counts in the hosts file only, under a group's vars",
}

_PORTS = range(1, 65536)
_YES, _NO = ("true", "yes", "on", "1", "y", "t"), ("false", "no", "off", "0", "n", "f")


@dataclass(frozen=True)
class Connection:
    """The connection fields of a Host."""

    address: str
    port: int | None
    user: str | None
    key_file: str | None
    become: bool
    become_user: str
    become_password: Secret | None


def honoured(host: str, given: Mapping[str, Value]) -> Mapping[str, Value]:
    """Pick the variables that say how a host is reached, rendered where they are templates."""
    values = {name: given[name] for name in HONOURED if name in given}
    if any("{{" in str(value.value) for value in values.values()):
        return _rendered(host, given, values)
    return values


def connection(host: str, values: Mapping[str, Value], secrets: Sources) -> Connection:
    """Read what `honoured` picked; what does not fit is a ConfigError at its line."""
    return Connection(
        address=text(values, "ansible_host") or host,
        port=_port(values),
        user=text(values, "ansible_user"),
        key_file=text(values, "ansible_ssh_private_key_file"),
        become=_truth(values, "ansible_become"),
        become_user=text(values, "ansible_become_user") or "root",
        become_password=_secret(values, "ansible_become_password", secrets),
    )


def _rendered(
    host: str, given: Mapping[str, Value], values: Mapping[str, Value]
) -> dict[str, Value]:
    """Render the few that are written as templates, as `"{{ inventory_hostname }}.lan"` is."""
    from headway.control.rendering.scope import (
        Scope,  # with jinja2: 40 ms that few inventories need
    )
    from headway.control.rendering.templates import Templates

    def find(name: str) -> tuple[str, str]:
        raise KeyError(name)

    names = {"inventory_hostname": host, "inventory_hostname_short": host.partition(".")[0]}
    scope = Scope(given, names, Templates(find))
    return {name: replace(value, value=scope.get(name)) for name, value in values.items()}


def unheeded(values: Mapping[str, Value]) -> list[tuple[str, str]]:
    """Name each ansible_ variable that changes nothing here: FILE:LINE, and what to write."""
    found = [
        (value.where, f"{name} is not heeded: {INSTEAD.get(name, 'headway does not know it')}")
        for name, value in values.items()
        if name.startswith("ansible_") and name not in HONOURED
    ]
    by = values.get("ansible_connection")
    if by is not None and "{{" not in str(by.value) and str(by.value) not in guests.CONNECTIONS:
        found.append((by.where, f"ansible_connection is not heeded: no {by.value}, but SSH it is"))
    return found


def _port(values: Mapping[str, Value]) -> int | None:
    if "ansible_port" not in values:
        return None
    value: Any = values["ansible_port"].value
    number = int(value) if isinstance(value, str) and value.isdigit() else value
    if type(number) is not int or number not in _PORTS:
        raise misfit(values["ansible_port"], "ansible_port", f"wants a port, got {value!r}")
    return number


def _truth(values: Mapping[str, Value], name: str) -> bool:
    if name not in values:
        return False
    value: Any = values[name].value
    word = str(value).lower()
    if word not in (*_YES, *_NO):
        raise misfit(values[name], name, f"wants true or false, got {value!r}")
    return word in _YES


def _secret(values: Mapping[str, Value], name: str, secrets: Sources) -> Secret | None:
    if name not in values:
        return None
    value = values[name].value
    if isinstance(value, Secret) or value is None:
        return value
    if isinstance(value, (str, int)):
        return secrets.known(str(value), values[name].where)
    raise misfit(values[name], name, "wants text, or !secret")
