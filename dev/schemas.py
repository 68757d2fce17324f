"""JSON Schemas for editors, made from the types that read the files.

    python -m dev.schemas          writes docs/schemas/role.schema.json and events.schema.json

An editor's YAML plug-in takes it by a comment at the top of a role.yaml:
# yaml-language-server: $schema=../../docs/schemas/role.schema.json
"""

import dataclasses
import inspect
import json
import sys
import types
import typing
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import Any, get_args

from pydantic import TypeAdapter

from headway.control.facts import HostFacts
from headway.control.fleet import Fleet
from headway.control.lint.finding import Finding
from headway.control.oncall.logs import HostLine
from headway.control.oncall.report import LeftOut, Written
from headway.control.oncall.showing import ReleaseDiff, ShownRelease
from headway.control.oncall.trend import Trend
from headway.control.page import PageWritten
from headway.control.past import HostHistory
from headway.control.rendering import gate_kinds
from headway.control.rendering.authoring import KINDS
from headway.control.rendering.roles import RoleFile
from headway.control.skew import Skew
from headway.control.status import HostStatus
from headway.control.telling import story
from headway.control.telling.history import PastRollout
from headway.wire.loader import kind_of

REPO = Path(__file__).resolve().parents[1]
ROLE_SCHEMA = REPO / "docs" / "schemas" / "role.schema.json"
EVENTS_SCHEMA = ROLE_SCHEMA.with_name("events.schema.json")

ROWS = (
    *(HostStatus, Skew, HostFacts, PastRollout, HostHistory, ShownRelease, ReleaseDiff),
    *(HostLine, Trend, Written, LeftOut, PageWritten, Finding),
)
"""What verbs that look answer with, but for plan and inventory."""

Schema = dict[str, Any]

_TEMPLATE: Schema = {"type": "string", "pattern": r"\{[{%]"}
_WHEN: dict[str, Schema] = {
    "when": {"type": "boolean", "default": True, "description": "Whether the entry holds here."}
}
_OF_GATES: dict[str, Schema] = {
    **_WHEN,
    "with": {"description": "More parameters, as one mapping: an inventory's word wins."},
    "name": {"type": "string", "description": "What reports call it; its kind by default."},
    "where": {"enum": ["host", "outside"]},
    "deadline_s": {"type": "integer", "description": "0 is the kind's own."},
    "retries": {"type": "integer", "default": 0, "description": "Further tries after a FAIL."},
}


def role_schema() -> Schema:
    """Describe a role.yaml: its keys, every resource kind, and every built-in gate kind."""
    fleet = Fleet(REPO)
    resources = {kind_of(kind): _kind(kind, _WHEN) for kind in KINDS}
    gates = {
        name: _kind(gate_kinds.asked(path, path.name)[0], _OF_GATES)
        for name, path in sorted(gate_kinds.kinds(fleet).items())
    }
    role = _kind(RoleFile, {})
    role["properties"]["resources"] = {"type": "array", "items": _one_of(resources)}
    role["properties"]["gates"] = {"type": "array", "items": _one_of(gates)}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "headway role",
        **role,
    }


def events_schema() -> Schema:
    """Describe a line of --json: a piece of the story, or a row of a verb that looks."""
    definitions: dict[str, Schema] = {}
    lines = _tagged((*get_args(story.Told), *ROWS), definitions)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "headway event",
        "description": "One line of --json: a mapping with exactly one key, its kind.",
        **lines,
        "$defs": dict(sorted(definitions.items())),
    }


_PLAIN: dict[Any, Schema] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    bool: {"type": "boolean"},
    Any: {},
}


def _written(kind: Any, definitions: dict[str, Schema]) -> Schema:  # noqa: ANN401 # one rule a kind of type
    """Describe how a value of a type is written: the loader's rules, one for one."""
    if kind in _PLAIN:
        return _PLAIN[kind]
    if dataclasses.is_dataclass(kind):
        return _record(kind, definitions)
    if inspect.isclass(kind) and issubclass(kind, Enum):
        return {"enum": [one.value for one in kind]}
    origin, args = typing.get_origin(kind), get_args(kind)
    if origin in (typing.Union, types.UnionType):
        rest = tuple(one for one in args if one is not types.NoneType)
        inner = _tagged(rest, definitions) if len(rest) > 1 else _written(rest[0], definitions)
        return {"anyOf": [inner, {"type": "null"}]} if len(rest) < len(args) else inner
    if origin is tuple:
        return {"type": "array", "items": _written(args[0], definitions)}
    if origin in (dict, Mapping):
        return {"type": "object", "additionalProperties": _written(args[1], definitions)}
    msg = f"no schema for {kind!r}"
    raise TypeError(msg)


def _record(kind: Any, definitions: dict[str, Schema]) -> Schema:  # noqa: ANN401 # a dataclass
    name = kind.__name__
    if name not in definitions:
        definitions[name] = {}  # it may hold itself
        hints = typing.get_type_hints(kind)
        names = [field.name for field in dataclasses.fields(kind)]
        definitions[name] = {
            "type": "object",
            "description": (inspect.getdoc(kind) or "").partition("\n")[0],
            "properties": {name: _written(hints[name], definitions) for name in names},
            "required": names,
            "additionalProperties": False,
        }
    return {"$ref": f"#/$defs/{name}"}


def _tagged(kinds: tuple[Any, ...], definitions: dict[str, Schema]) -> Schema:
    return _one_of({kind_of(kind): _record(kind, definitions) for kind in kinds})


def text(schema: Schema) -> str:
    """Write a schema as it is committed."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _kind(kind: type[Any], beside: dict[str, Schema]) -> Schema:
    """Describe a dataclass; wherever a value of another type stands, a template may, too."""
    found = TypeAdapter(kind).json_schema()
    schema: Schema = _opened(_inlined(found, found.get("$defs", {})))
    described = {name: _opened(one) for name, one in beside.items()}
    schema["properties"] = {**described, **schema.get("properties", {})}
    schema["description"] = (inspect.getdoc(kind) or "").partition("\n")[0]
    schema.pop("title", None)
    return {**schema, "additionalProperties": False}


def _one_of(kinds: dict[str, Schema]) -> Schema:
    """Describe a mapping with exactly one key, the kind."""
    return {
        "type": "object",
        "properties": kinds,
        "additionalProperties": False,
        "minProperties": 1,
        "maxProperties": 1,
    }


def _inlined(schema: Any, definitions: dict[str, Schema]) -> Any:  # noqa: ANN401 # JSON
    """Put definitions where they are referred to: editors show what stands in place."""
    if isinstance(schema, list):
        return [_inlined(one, definitions) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _inlined(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    return {
        key: _inlined(one, definitions)
        for key, one in schema.items()
        if key not in ("$defs", "title")
    }


def _opened(schema: Schema, *, top: bool = True) -> Schema:
    """Let a template stand for every value that is no text."""
    properties = schema.get("properties")
    if isinstance(properties, dict):
        schema = {
            **schema,
            "properties": {name: _opened(one, top=False) for name, one in properties.items()},
        }
    if top and properties is not None:
        return schema
    if schema.get("type") in (None, "string"):
        return schema
    kept: Schema = {key: schema[key] for key in ("description", "default") if key in schema}
    rest = {key: one for key, one in schema.items() if key not in kept}
    return {**kept, "anyOf": [rest, _TEMPLATE]}


def main() -> None:
    """Write the schemas."""
    ROLE_SCHEMA.parent.mkdir(parents=True, exist_ok=True)
    for path, schema in ((ROLE_SCHEMA, role_schema()), (EVENTS_SCHEMA, events_schema())):
        path.write_text(text(schema))
        sys.stdout.write(f"{path.relative_to(REPO)}\n")


if __name__ == "__main__":
    main()
