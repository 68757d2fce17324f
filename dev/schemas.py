"""JSON Schemas for editors, made from the types that read the files.

    python -m dev.schemas          writes docs/schemas/role.schema.json

An editor's YAML plug-in takes it by a comment at the top of a role.yaml:
# yaml-language-server: $schema=../../docs/schemas/role.schema.json
"""

import inspect
import json
import sys
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from headway.control.fleet import Fleet
from headway.control.rendering import gate_kinds
from headway.control.rendering.authoring import KINDS
from headway.control.rendering.roles import RoleFile
from headway.wire.loader import kind_of

REPO = Path(__file__).resolve().parents[1]
ROLE_SCHEMA = REPO / "docs" / "schemas" / "role.schema.json"

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
    ROLE_SCHEMA.write_text(text(role_schema()))
    sys.stdout.write(f"{ROLE_SCHEMA.relative_to(REPO)}\n")


if __name__ == "__main__":
    main()
