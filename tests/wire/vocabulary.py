"""Every type that crosses the wire or lies in a record, and any value of each."""

import dataclasses
import importlib
import inspect
import types
import typing
from enum import Enum
from typing import Any

from hypothesis import strategies as st

from headway.wire.loader import Json
from headway.wire.resources import Resource
from headway.wire.talk import FromController, FromHost, Order

MODULES = ("engines", "event", "findings", "gate", "record", "release", "resources", "talk")
UNIONS: dict[str, Any] = {
    "FromController": FromController,
    "FromHost": FromHost,
    "Order": Order,
    "Resource": Resource,
}

# a file name that is no UTF-8 comes out of os.listdir with lone surrogates in it
escaped = st.binary(max_size=6).map(lambda name: name.decode("utf-8", "surrogateescape"))
text = st.text(max_size=6) | escaped
json: st.SearchStrategy[Json] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), text),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(text, inner, max_size=2),
    max_leaves=4,
)


def dataclasses_of_the_wire() -> dict[str, Any]:
    """Name every dataclass of the modules that hold what is sent or kept."""
    found = {}
    for module in (importlib.import_module(f"headway.wire.{name}") for name in MODULES):
        for name, value in vars(module).items():
            mine = inspect.isclass(value) and value.__module__ == module.__name__
            if mine and dataclasses.is_dataclass(value):
                found[name] = value
    return found


TYPES: dict[str, Any] = {**dataclasses_of_the_wire(), **UNIONS}


def values(kind: Any) -> st.SearchStrategy[Any]:  # noqa: PLR0911 # one rule a kind of type
    """Draw any value of a type, from its hints alone."""
    if kind is Any:
        return json
    if kind is str:
        return text
    if kind in (int, bool) or (inspect.isclass(kind) and issubclass(kind, Enum)):
        return st.from_type(kind)
    if dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        fields = {field.name: values(hints[field.name]) for field in dataclasses.fields(kind)}
        return st.builds(typing.cast("type", kind), **fields)
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Union:
        return st.one_of(*(st.none() if each is types.NoneType else values(each) for each in args))
    if origin is tuple:
        return st.lists(values(args[0]), max_size=2).map(tuple)
    if origin is dict:
        return st.dictionaries(text, values(args[1]), max_size=2)
    msg = f"no values of {kind!r} are known: teach this module, and the loader"
    raise TypeError(msg)
