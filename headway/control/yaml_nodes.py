"""YAML with its lines: plain values, and FILE:LINE of anything within them. PyYAML's only home.

Files are read as Ansible reads them (YAML 1.1: `yes` is true, 0644 is octal), but a key that
stands twice is an error, a date stays text, and an unknown tag is not ignored.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from headway.control.errors import ConfigError
from headway.wire.loader import WireError, load

T = TypeVar("T")
Steps = tuple[str | int, ...]
Tag = Callable[[Any, str], Any]
"""Makes a value of what stands behind a tag, given FILE:LINE."""
Plain = Callable[[str], Any]
"""Makes a value of a scalar without quotes, for files that are not read as Ansible's are."""

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_YAML = "tag:yaml.org,2002:"
_MERGE = _YAML + "merge"
_AS_WRITTEN = {_YAML + name for name in ("str", "timestamp", "value")}
_SHOWN = 40  # characters of a value in a message
_PLAIN = {_YAML + name for name in ("null", "bool", "int", "float", "binary", "map", "seq")}


@dataclass(frozen=True)
class Document:
    """A file's one YAML document. `file` is its name as messages show it; empty: value is None."""

    file: str
    value: Any
    root: Node | None = field(repr=False, compare=False)

    @property
    def spot(self) -> "Spot":
        """Give the whole value with its place, to walk from."""
        return Spot(self.value, self.file, _line(self.root), self.root)

    def where(self, path: Steps = ()) -> str:
        """Say FILE:LINE of what the keys and indices lead to, or of the nearest thing above it."""
        return self.spot.at(path)

    def load(self, kind: type[T], path: Steps = ()) -> T:
        """Read the value at `path` as a type of ours; a misfit is a ConfigError at its line."""
        value = self.value
        for step in path:
            value = value[step]
        try:
            return load(kind, value, path)
        except WireError as error:
            raise self.error(error.path, error.problem) from None

    def error(self, path: Steps, problem: str, *, hint: str = "") -> ConfigError:
        """Make the error that names the line, the path and the problem."""
        place = "/".join(str(step) for step in path)
        text = f"{place}: {problem}" if place else problem
        return ConfigError(self.where(path), text, hint=hint)


class Place(NamedTuple):
    """How many steps of a path led somewhere, the line they led to, and how text stands there.

    `style` is the quote, or > and | of a block; "" without any, and for what is no text.
    """

    steps: int
    line: int
    style: str


@dataclass(frozen=True)
class Spot:
    """A value within a document, and its line: of its key in a mapping, of itself in a list."""

    value: Any
    file: str
    line: int
    node: Node | None = field(repr=False, compare=False)

    @property
    def where(self) -> str:
        """Say FILE:LINE."""
        return f"{self.file}:{self.line}"

    def at(self, path: Steps) -> str:
        """Say FILE:LINE of what the keys and indices lead to, or of the nearest thing above it."""
        return f"{self.file}:{self.reached(path).line}"

    def reached(self, path: Steps) -> Place:
        """Follow keys and indices as far as they lead."""
        node, line, steps = self.node, self.line, 0
        for step in path:
            found = _entries(node).get(str(step))
            if found is None:
                break
            node, line = found
            steps += 1
        style = node.style if isinstance(node, ScalarNode) else ""
        return Place(steps, line, style or "")

    def items(self) -> Iterator[tuple[Any, "Spot"]]:
        """Walk a mapping's entries, or a list's by index; nothing else has any."""
        inside: dict[Any, Any] = self.value if isinstance(self.value, dict) else {}
        if isinstance(self.value, list):
            inside = dict(enumerate(self.value))
        entries = _entries(self.node)
        for key, value in inside.items():
            node, line = entries.get(str(key), (None, self.line))
            yield key, Spot(value, self.file, line, node)


def parse(
    text: str, shown: str, tags: Mapping[str, Tag] | None = None, *, plain: Plain | None = None
) -> Document:
    """Read YAML text; what `tags` makes of a tagged value stands in its place.

    With `plain`, quoted text stays text, and `plain` alone says what any other scalar means.
    """
    try:
        root = yaml.compose(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        raise _misread(shown, error) from None
    except yaml.reader.ReaderError as error:
        line = text.encode().count(b"\n", 0, error.position) + 1
        problem = f"character U+{error.character:04X} may not stand in YAML"
        raise ConfigError(f"{shown}:{line}", problem, hint="remove it") from None
    values = _Values(shown, tags or {}, plain)
    return Document(shown, None if root is None else values.of(root), root)


def written(value: Any) -> str:  # noqa: ANN401 # any YAML
    """Write a value as `parse` reads it back: a block, its innermost mappings on one line each."""
    text: str = yaml.safe_dump(
        value,
        default_flow_style=None,
        sort_keys=False,
        width=float("inf"),
        allow_unicode=True,
    )
    return text


def _misread(shown: str, error: yaml.MarkedYAMLError) -> ConfigError:
    mark = error.problem_mark or error.context_mark
    place = f"{shown}:{mark.line + 1}" if mark else shown
    since = error.context_mark
    begun = f" that begins in line {since.line + 1}" if since and error.problem_mark else ""
    context = f" ({error.context}{begun})" if error.context else ""
    hint = "indent with spaces, close what is open, and quote text that holds ': ' or starts with {"
    return ConfigError(place, f"not YAML: {error.problem}{context}", hint=hint)


class _Values:
    """Plain values of nodes; an anchor's value is made once and shared, as YAML means it."""

    def __init__(self, file: str, tags: Mapping[str, Tag], plain: Plain | None) -> None:
        self._file = file
        self._tags = tags
        self._bare = plain
        self._made: dict[int, Any] = {}
        self._open: set[int] = set()
        self._plain = yaml.constructor.SafeConstructor()

    def of(self, node: Node) -> Any:  # noqa: ANN401 # any YAML value
        key = id(node)
        if key not in self._made:
            if key in self._open:
                raise self._error(node, "an anchor may not hold itself")
            self._open.add(key)
            self._made[key] = self._make(node)
            self._open.discard(key)
        return self._made[key]

    def _make(self, node: Node) -> Any:  # noqa: ANN401
        tag = node.tag
        if self._bare and isinstance(node, ScalarNode) and tag.startswith(_YAML):
            return node.value if node.style else self._bare(node.value)
        if tag in _AS_WRITTEN:
            return node.value
        if tag not in _PLAIN:
            return self._tagged(tag, node)
        if isinstance(node, MappingNode):
            return self._mapping(node)
        if isinstance(node, SequenceNode):
            return [self.of(item) for item in node.value]
        try:
            return self._plain.construct_object(node)
        except (ValueError, yaml.YAMLError):
            kind = tag.rpartition(":")[2]
            text = node.value if len(node.value) <= _SHOWN else node.value[:_SHOWN] + "..."
            raise self._error(node, f"{text!r} is no {kind}; quote it if it is text") from None

    def _tagged(self, tag: str, node: Node) -> Any:  # noqa: ANN401
        make = self._tags.get(tag)
        if make is None:
            known = ", ".join(self._tags) or "none here"
            raise self._error(node, f"unknown tag {tag}; there are {known}")
        if isinstance(node, MappingNode):
            inner: Any = self._mapping(node)
        elif isinstance(node, SequenceNode):
            inner = [self.of(item) for item in node.value]
        else:
            inner = node.value
        return make(inner, f"{self._file}:{_line(node)}")

    def _mapping(self, node: MappingNode) -> dict[Any, Any]:
        result: dict[Any, Any] = {}
        lines: dict[Any, int] = {}
        for source in _merged(node):
            if not isinstance(source, MappingNode):
                raise self._error(source, "<< wants a mapping or a list of mappings")
            result.update(self.of(source))
        for key_node, value_node in node.value:
            if key_node.tag == _MERGE:
                continue
            key = self.of(key_node)
            if not isinstance(key_node, ScalarNode):
                problem = "a mapping or list cannot be a key; quote text that starts with { or ["
                raise self._error(key_node, problem)
            if key in lines:
                hint = "keep one of the two"
                raise self._error(
                    key_node, f"key {key!r} stands twice, first in line {lines[key]}", hint=hint
                )
            lines[key] = _line(key_node)
            result[key] = self.of(value_node)
        return result

    def _error(self, node: Node, problem: str, *, hint: str = "") -> ConfigError:
        return ConfigError(f"{self._file}:{_line(node)}", problem, hint=hint)


def _line(node: Node | None) -> int:
    return node.start_mark.line + 1 if node else 1


def _merged(node: MappingNode) -> list[Node]:
    """List what `<<` brings in, weakest first: of a list of mappings the first one wins."""
    found: list[Node] = []
    for key_node, value_node in node.value:
        if key_node.tag == _MERGE:
            several = isinstance(value_node, SequenceNode)
            found.extend(reversed(value_node.value) if several else [value_node])
    return found


def _entries(node: Node | None) -> dict[str, tuple[Node, int]]:
    """Name what lies within a node, and its line: by key as written, or by index."""
    if isinstance(node, SequenceNode):
        return {str(index): (item, _line(item)) for index, item in enumerate(node.value)}
    entries: dict[str, tuple[Node, int]] = {}
    if isinstance(node, MappingNode):
        for source in _merged(node):
            entries.update(_entries(source))
        for key, value in node.value:
            if key.tag != _MERGE:
                entries[key.value] = (value, _line(key))
    return entries
