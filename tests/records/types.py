"""What a record is made of, as text: every type that one may hold, field by field."""

import dataclasses
import inspect
import typing
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

from headway.runner.records import _Reports
from headway.wire.event import Answer, Event
from headway.wire.gate import Criteria
from headway.wire.record import State, Transition
from headway.wire.release import Release
from headway.wire.talk import Request

ROOTS = (State, Release, Criteria, Transition, Event, _Reports, Answer, Request)
TYPES_FILE = Path(__file__).parents[1] / "cases/records/types.txt"


def described() -> str:
    """Describe every type within reach of a record, a line a field."""
    found: dict[Any, None] = {}
    for root in ROOTS:
        _reach(root, found)
    kinds = sorted(found, key=lambda kind: str(kind.__name__))
    return "".join(f"{line}\n" for kind in kinds for line in _lines(kind))


def _reach(kind: Any, found: dict[Any, None]) -> None:
    if kind in found:
        return
    if inspect.isclass(kind) and issubclass(kind, Enum):
        found[kind] = None
    elif dataclasses.is_dataclass(kind):
        found[kind] = None
        for hint in typing.get_type_hints(kind).values():
            _reach(hint, found)
    else:
        for each in typing.get_args(kind):
            _reach(each, found)


def _lines(kind: Any) -> Iterator[str]:
    if issubclass(kind, Enum):
        yield f"{kind.__name__}: {' '.join(str(member.value) for member in kind)}"
        return
    hints = typing.get_type_hints(kind)
    for field in dataclasses.fields(kind):
        factory = field.default_factory is not dataclasses.MISSING
        optional = field.default is not dataclasses.MISSING or factory
        yield f"{kind.__name__}.{field.name}: {_named(hints[field.name])}" + " ?" * optional
    if not dataclasses.fields(kind):
        yield kind.__name__


def _named(hint: Any) -> str:
    """Name a type as people do, the same under any Python."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return "any"
    if origin is typing.Union:
        return " | ".join(_named(each) for each in args)
    if origin is tuple:
        return f"[{_named(args[0])}]"
    if origin is dict:
        return f"{{{_named(args[1])}}}"
    return "null" if hint is type(None) else str(hint.__name__)
