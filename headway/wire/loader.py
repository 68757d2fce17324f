"""The one strict loader: JSON or YAML values in, frozen dataclasses out, and back.

Unknown key, missing key, wrong type: an error with the path to the place. A value of a Union of
dataclasses is a mapping with exactly one key, the kind (`{"file": {...}}`), on the wire as in a
role file. There are no floats on the wire: a NaN deadline would cross JSON as invalid text.
"""

import dataclasses
import json
import re
import types
import typing
from enum import Enum
from typing import Any, Callable, Dict, List, Tuple, Type, TypeVar, Union

T = TypeVar("T")
Json = Any
Path = Tuple[Union[str, int], ...]
_UNIONS = (Union, getattr(types, "UnionType", Union))  # the controller's Python writes X | Y


class WireError(ValueError):
    """A value that does not fit its type: where it is, what is wrong, what would be right."""

    def __init__(self, path: Path, problem: str) -> None:
        """Keep the path for whoever knows the line it stands on."""
        self.path = path
        self.problem = problem
        place = "/".join(str(step) for step in path)
        super().__init__(place + ": " + problem if place else problem)


def load(kind: Type[T], value: Json, path: Path = ()) -> T:
    """Read a value as this type or raise WireError with the path to what does not fit."""
    result: T = _reader(kind)(value, path)
    return result


def loads(kind: Type[T], text: Union[str, bytes]) -> T:
    """Read JSON text as this type; a duplicate key is an error, as any other misfit is."""
    return load(kind, parse(text))


def parse(text: Union[str, bytes]) -> Json:
    """Read JSON strictly: no duplicate keys, no floats, no NaN."""
    try:
        return json.loads(
            text, object_pairs_hook=_unique, parse_float=_no_float, parse_constant=_no_float
        )
    except WireError:
        raise
    except ValueError as error:
        raise WireError((), f"not JSON: {error}") from None


def dump(value: Any) -> Json:
    """Turn frozen dataclasses into JSON values; `load` of the result gives an equal value."""
    return _writer(type(value))(value)


def dumps(value: Any) -> str:
    """Write one line of JSON, in ASCII: a file name that is no UTF-8 crosses as it is."""
    return json.dumps(dump(value), separators=(",", ":"))


def line(value: Any) -> bytes:
    """Write one line of a conversation: the value under its kind, ended by a newline."""
    return json.dumps(_tag_writer(value), separators=(",", ":")).encode() + b"\n"


def canonical(value: Any) -> bytes:
    """Write the bytes that a hash is taken of: sorted keys, no blanks, UTF-8."""
    text = json.dumps(_plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8", "surrogatepass")


def kind_of(cls: type) -> str:
    """Name a dataclass as the wire and role files do: LockedVenv is `locked_venv`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__name__).lower()


def _unique(pairs: List[Tuple[str, Json]]) -> Dict[str, Json]:
    result = dict(pairs)
    if len(result) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise WireError((), f"key {twice!r} stands twice")
    return result


def _no_float(text: str) -> Json:
    raise WireError((), f"{text} is not a whole number; whole units only")


def _plain(value: Any) -> Json:
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return dump(value)


# --- reading: one reader a type, made once -------------------------------------------------

_READERS: Dict[Any, Callable[[Json, Path], Any]] = {}


def _reader(kind: Any) -> Callable[[Json, Path], Any]:
    if kind not in _READERS:
        _READERS[kind] = _make_reader(kind)
    return _READERS[kind]


def _make_reader(kind: Any) -> Callable[[Json, Path], Any]:
    if kind is Any:
        return _any
    if kind in (str, int, bool):
        return _scalar(kind)
    if dataclasses.is_dataclass(kind):
        return _record(kind)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return _enum(kind)
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin in _UNIONS:
        return _union(args)
    if origin is tuple and len(args) == 2 and args[1] is Ellipsis:  # noqa: PLR2004 # Tuple[T, ...]
        return _row(args[0])
    if origin is dict and args[0] is str:
        return _mapping(args[1])
    msg = f"the loader has no reader for {kind!r}"
    raise TypeError(msg)


_CALLED = {str: "text", int: "a whole number", bool: "true or false"}


def _describe(value: Json) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, (list, tuple)):
        return "a list"
    return repr(value)


def _any(value: Json, path: Path) -> Json:
    if isinstance(value, float):
        raise WireError(path, f"{value!r} is not a whole number; whole units only")
    if isinstance(value, dict):
        return {key: _any(item, (*path, key)) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_any(item, (*path, index)) for index, item in enumerate(value)]
    return value


def _scalar(kind: type) -> Callable[[Json, Path], Any]:
    def read(value: Json, path: Path) -> Any:
        if type(value) is not kind:
            raise WireError(path, f"wants {_CALLED[kind]}, got {_describe(value)}")
        return value

    return read


def _enum(kind: Type[Enum]) -> Callable[[Json, Path], Any]:
    by_value = {member.value: member for member in kind}

    def read(value: Json, path: Path) -> Any:
        if not isinstance(value, (str, int)) or value not in by_value:
            names = ", ".join(str(name) for name in by_value)
            raise WireError(path, f"wants one of {names}, got {_describe(value)}")
        return by_value[value]

    return read


def _row(item: Any) -> Callable[[Json, Path], Any]:
    def read(value: Json, path: Path) -> Any:
        if not isinstance(value, (list, tuple)):
            raise WireError(path, f"wants a list, got {_describe(value)}")
        each = _reader(item)
        return tuple(each(entry, (*path, index)) for index, entry in enumerate(value))

    return read


def _mapping(item: Any) -> Callable[[Json, Path], Any]:
    def read(value: Json, path: Path) -> Any:
        if not isinstance(value, dict):
            raise WireError(path, f"wants a mapping, got {_describe(value)}")
        each = _reader(item)
        for key in value:
            if not isinstance(key, str):
                raise WireError(path, f"key {key!r} is not text; quote it")
        return {key: each(entry, (*path, key)) for key, entry in value.items()}

    return read


def _union(options: Tuple[Any, ...]) -> Callable[[Json, Path], Any]:
    optional = type(None) in options
    rest = tuple(option for option in options if option is not type(None))
    if all(dataclasses.is_dataclass(option) for option in rest) and len(rest) > 1:
        inner = _tagged(rest)
    elif len(rest) == 1:
        inner = _reader(rest[0])
    else:
        msg = f"the loader has no reader for a Union of {options!r}"
        raise TypeError(msg)

    def read(value: Json, path: Path) -> Any:
        return None if optional and value is None else inner(value, path)

    return read


def _tagged(options: Tuple[Any, ...]) -> Callable[[Json, Path], Any]:
    by_kind = {kind_of(option): option for option in options}

    def read(value: Json, path: Path) -> Any:
        if not isinstance(value, dict) or len(value) != 1:
            raise WireError(
                path, "wants a mapping with exactly one key, its kind: " + ", ".join(by_kind)
            )
        ((kind, body),) = value.items()
        if kind not in by_kind:
            raise WireError(
                path, "unknown kind {!r}; there are {}".format(kind, ", ".join(by_kind))
            )
        return _reader(by_kind[kind])(body, (*path, kind))

    return read


def _record(cls: Any) -> Callable[[Json, Path], Any]:
    hints = typing.get_type_hints(cls)
    fields = {field.name: field for field in dataclasses.fields(cls) if field.init}
    required = [
        name
        for name, field in fields.items()
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    ]

    def read(value: Json, path: Path) -> Any:
        if not isinstance(value, dict):
            raise WireError(path, f"wants a mapping, got {_describe(value)}")
        for name in value:
            if name not in fields:
                known = ", ".join(fields) or "none"
                raise WireError((*path, name), f"unknown key; there are {known}")
        for name in required:
            if name not in value:
                raise WireError(path, f"key {name!r} is missing")
        return cls(
            **{name: _reader(hints[name])(item, (*path, name)) for name, item in value.items()}
        )

    return read


# --- writing: by the declared types too, so that a Union's kind is said exactly where it is read --

_WRITERS: Dict[Any, Callable[[Any], Json]] = {}


def _writer(kind: Any) -> Callable[[Any], Json]:
    if kind not in _WRITERS:
        _WRITERS[kind] = _make_writer(kind)
    return _WRITERS[kind]


def _make_writer(kind: Any) -> Callable[[Any], Json]:
    if dataclasses.is_dataclass(kind):
        return _record_writer(kind)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return lambda value: value.value
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin in _UNIONS:
        rest = tuple(option for option in args if option is not type(None))
        inner = _writer(rest[0]) if len(rest) == 1 else _tag_writer
        return lambda value: None if value is None else inner(value)
    if origin is tuple:
        return lambda value: [_writer(args[0])(item) for item in value]
    if origin is dict:
        return lambda value: {key: _writer(args[1])(item) for key, item in value.items()}
    return lambda value: _any(value, ())


def _tag_writer(value: Any) -> Json:
    return {kind_of(type(value)): _writer(type(value))(value)}


def _record_writer(cls: Any) -> Callable[[Any], Json]:
    hints = typing.get_type_hints(cls)
    names = [field.name for field in dataclasses.fields(cls) if field.init]

    def write(value: Any) -> Json:
        return {name: _writer(hints[name])(getattr(value, name)) for name in names}

    return write
