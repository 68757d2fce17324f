"""Roles: what a kind of service needs, read from roles/NAME/role.yaml and checked by its kinds.

    description: one line for people
    defaults: {port: 8080}                 variables; the inventory's win
    subject: "{{ instance }}.service"      the unit that is judged; none: in_place judges the role
    listens: ["{{ port }}"]
    order: 50                              parts of a host go in this order, lowest first
    resources:
      - dir: {path: /srv/models}           a mapping with exactly one key, its kind
    gates:
      - health: {port: "{{ port }}", deadline_s: 600}
      - decode: {when: "{{ decode is not none }}", with: "{{ decode }}", engine: vllm}

Kinds and keys are checked here, before anything is rendered; types are checked after.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any, NoReturn, get_type_hints

from headway.control.errors import ConfigError
from headway.control.fleet import Fleet
from headway.control.inventory.model import Value
from headway.control.near import near
from headway.control.rendering import gate_kinds
from headway.control.rendering.authoring import KINDS, Kind
from headway.control.yaml_nodes import Document
from headway.wire.loader import WireError, kind_of
from headway.wire.loader import load as wire_load

WHEN = "when"
WITH = "with"
GATE_OWN = ("name", "where", "deadline_s", "retries")
SERVICE = "service"
GATE_KEYS = (WHEN, WITH, SERVICE, *GATE_OWN)
"""What a gate takes beside its kind's own parameters; `with` is more of them, as one mapping.

`service` names the services of the role's stack that it is asked about: one, or a list.
"""

_RESOURCES: Mapping[str, Kind] = {kind_of(kind): kind for kind in KINDS}


@dataclass(frozen=True)
class RoleFile:
    """The keys of a role.yaml."""

    description: str = ""
    defaults: dict[str, Any] = dataclasses.field(default_factory=dict)
    subject: str = ""
    listens: tuple[Any, ...] = ()
    order: int = 50
    resources: tuple[dict[str, Any], ...] = ()
    gates: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True)
class Entry:
    """A resource or gate as written: its kind, its type, its body, and where each key stands.

    `side` is where a gate of this kind is judged unless it says otherwise.
    """

    kind: str
    type: type[Any]
    body: Mapping[str, Any]
    at: Value
    side: str = ""


@dataclass(frozen=True)
class Role:
    """A role as written, its kinds and keys known to be right."""

    name: str
    document: Document
    file: RoleFile
    resources: tuple[Entry, ...]
    gates: tuple[Entry, ...]

    def defaults(self) -> dict[str, Value]:
        """Give the role's variables as the inventory gives its own."""
        return {name: self.value("defaults", name) for name in self.file.defaults}

    def value(self, *path: str | int) -> Value:
        """Give what lies at a path of the file, with its lines."""
        return _value(self.document, path)


def load(fleet: Fleet, name: str, *, where: str = "") -> Role:
    """Read a role and check its kinds and keys; `where` names what refers to it."""
    names = [one for one in fleet.names("roles") if _is_role(fleet, one)]
    if name not in names:
        raise ConfigError(where or "roles", f"there is no role {name!r}; {near(name, names)}")
    path = fleet.lookup("roles", f"{name}/role.yaml")
    return _load(fleet, name, path, path.stat().st_mtime_ns)


@lru_cache(maxsize=256)
def _load(fleet: Fleet, name: str, path: Path, _changed: int) -> Role:
    """Read a role once for all hosts that use it, until its file changes."""
    document = fleet.document(path)
    file = _file(document)
    kinds = gate_kinds.kinds(fleet)
    return Role(
        name,
        document,
        file,
        tuple(_resource(document, index) for index in range(len(file.resources))),
        tuple(_gate(fleet, kinds, document, index) for index in range(len(file.gates))),
    )


def decimals(value: Any) -> Any:  # noqa: ANN401
    """Take floats for what was written: an engine option may be 0.9, the wire knows no floats."""
    if isinstance(value, float):
        return Decimal(repr(value))
    if isinstance(value, Mapping):
        return {key: decimals(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [decimals(one) for one in value]
    return value


def _file(document: Document) -> RoleFile:
    try:
        return wire_load(RoleFile, decimals(document.value or {}))
    except WireError as error:
        raise document.error(error.path, error.problem) from None


def _is_role(fleet: Fleet, name: str) -> bool:
    return any((folder / name / "role.yaml").is_file() for folder in fleet.folders("roles"))


def _value(document: Document, path: tuple[str | int, ...]) -> Value:
    value = document.value
    for step in path:
        value = value[step]
    return Value(value, document.where(path), lambda inner: document.where((*path, *inner)))


def _resource(document: Document, index: int) -> Entry:
    path = ("resources", index)
    kind, body = _one_key(document, path, "resource", _RESOURCES)
    cls = _RESOURCES[kind]
    _check_keys(document, (*path, kind), body, cls, (WHEN,))
    return Entry(kind, cls, body, _value(document, (*path, kind)))


def _gate(fleet: Fleet, kinds: Mapping[str, Path], document: Document, index: int) -> Entry:
    path = ("gates", index)
    kind, body = _one_key(document, path, "gate", kinds)
    params, side = gate_kinds.asked(kinds[kind], fleet.shown(kinds[kind]))
    _check_keys(document, (*path, kind), body, params, GATE_KEYS)
    return Entry(kind, params, body, _value(document, (*path, kind)), side)


def _one_key(
    document: Document, path: tuple[str | int, ...], what: str, known: Mapping[str, Any]
) -> tuple[str, dict[str, Any]]:
    value = document.value
    for step in path:
        value = value[step]
    if len(value) != 1:
        _fail(document, path, f"wants a mapping with exactly one key, the kind of {what}")
    ((kind, body),) = value.items()
    if kind not in known:
        _fail(document, (*path, kind), f"unknown {what} {kind!r}; {near(kind, known)}", path)
    if body is None:
        body = {}
    if not isinstance(body, dict):
        _fail(document, (*path, kind), "wants a mapping of its keys")
    return kind, body


def _check_keys(
    document: Document,
    path: tuple[str | int, ...],
    body: Mapping[str, Any],
    cls: type[Any],
    beside: tuple[str, ...] = (),
) -> None:
    """Check the keys of a mapping against a dataclass, and of what it nests."""
    hints = get_type_hints(cls)
    fields = {one.name: one for one in dataclasses.fields(cls)}
    for key, value in body.items():
        if key not in fields and key not in beside:
            _fail(document, (*path, key), f"unknown key; {near(str(key), (*fields, *beside))}")
        inner = hints.get(key)
        if isinstance(inner, type) and dataclasses.is_dataclass(inner) and isinstance(value, dict):
            _check_keys(document, (*path, key), value, inner)
    for name, one in fields.items():
        no_default = (
            one.default is dataclasses.MISSING and one.default_factory is dataclasses.MISSING
        )
        if no_default and name not in body and WITH not in body:
            _fail(document, path, f"key {name!r} is missing")


def _fail(
    document: Document,
    path: tuple[str | int, ...],
    problem: str,
    shown: tuple[str | int, ...] | None = None,
) -> NoReturn:
    place = "/".join(str(step) for step in (path if shown is None else shown))
    raise ConfigError(document.where(path), f"{place}: {problem}")
