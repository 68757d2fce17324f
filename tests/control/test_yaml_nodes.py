"""A fleet's YAML is read strictly, and knows its lines."""

from dataclasses import dataclass
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from headway.control.errors import ConfigError
from headway.control.yaml_nodes import parse

TEXT = """\
base: &base
  port: 8000
  names: [a, b]
chat:
  <<: *base
  model: qwen
list:
  - one
  - deep:
      er: 2
"""


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ((), 1),
        (("base",), 1),
        (("base", "names", 1), 3),
        (("chat",), 4),
        (("chat", "model"), 6),
        (("chat", "port"), 2),
        (("list", 1, "deep", "er"), 10),
        (("list", 7), 7),
        (("chat", "absent", "deeper"), 4),
    ],
)
def test_a_path_leads_to_the_line_of_its_key(path: tuple[str | int, ...], line: int) -> None:
    """What a merge key brought in leads to where it was written; what is absent, to its parent."""
    assert parse(TEXT, "f.yaml").where(path) == f"f.yaml:{line}"


def test_walking_gives_the_same_places_as_asking() -> None:
    """`items` and `at` agree on every entry."""
    document = parse(TEXT, "f.yaml")

    for key, spot in document.spot.items():
        assert spot.where == document.where((key,))
        for inner, deeper in spot.items():
            assert deeper.where == document.where((key, inner))
            assert deeper.value == document.value[key][inner]


_keys = st.text(st.characters(min_codepoint=97, max_codepoint=122), min_size=1, max_size=6)
# PyYAML writes Unicode's line breaks bare where it should escape them; it reads them as a space.
_texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x85\u2028\u2029"))
_values = st.recursive(
    st.none() | st.booleans() | st.integers() | _texts | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_keys, inner, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(_keys, _values, max_size=4))
def test_values_are_those_that_were_written(value: dict[str, Any]) -> None:
    """Whatever a dumper writes is read back equal, each key in the line that it is said to be."""
    text = yaml.safe_dump(value, allow_unicode=True)

    document = parse(text, "f")

    assert document.value == value
    lines = text.splitlines()
    for key in value:
        line = int(document.where((key,)).partition(":")[2])
        assert key in lines[line - 1]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("a: 1\nb: 2\na: 3\n", "f:3: key 'a' stands twice, first in line 1"),
        ("a: {b: 1, b: 2}\n", "f:1: key 'b' stands twice"),
        ("a: &x [*x]\n", "f:1: an anchor may not hold itself"),
        ("a: &x {<<: *x}\n", "f:1: an anchor may not hold itself"),
        ("a:\n  <<: [1]\n", "f:2: << wants a mapping"),
        ("a:\n\t- b\n", "f:2: not YAML: found character that cannot start any token"),
        ("a: [1,\n", "f:2: not YAML: "),
        ("a: *nowhere\n", "f:1: not YAML: found undefined alias"),
        ("a: 1\n---\nb: 2\n", "f:2: not YAML: .*another document"),
        ("\n\na: {{ b }}\n", "f:3: a mapping or list cannot be a key; quote"),
        ("a: !strange 1\n", "f:1: unknown tag !strange; there are !secret"),
        ("a: !!python/name:os.system ''\n", "f:1: unknown tag"),
        ("a: !!int five\n", "f:1: 'five' is no int; quote it"),
        ("a: b\nc: \x07\n", "f:2: character U.0007 may not stand in YAML"),
        ("[" * 5000, "f:1: not YAML: exceeded maximum nesting depth"),
    ],
)
def test_what_is_not_plain_yaml_is_one_line_with_a_place(text: str, error: str) -> None:
    """Nothing is skipped, guessed or executed."""
    with pytest.raises(ConfigError, match=error) as caught:
        parse(text, "f", {"!secret": lambda value, where: (value, where)})

    assert "\n" not in str(caught.value)


def test_a_tag_is_handed_its_value_and_its_place() -> None:
    """Whoever owns a tag makes the value; that is how secrets come in."""
    document = parse("a:\n  - !secret {env: X}\n", "f", {"!secret": lambda *given: given})

    assert document.value == {"a": [({"env": "X"}, "f:2")]}


def test_an_empty_file_holds_nothing() -> None:
    """A file of comments is no error."""
    document = parse("# nothing\n", "f")

    assert document.value is None
    assert document.where(("a",)) == "f:1"


@dataclass(frozen=True)
class Gate:
    """What a document is read as."""

    name: str
    deadline_s: int = 0


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("gates:\n  - name: a\n    deadline: 5\n", "f:3: gates/0/deadline: unknown key"),
        ("gates:\n  - name: a\n    deadline_s: x\n", "f:3: gates/0/deadline_s: wants a whole"),
        ("gates:\n  - deadline_s: 5\n", "f:2: gates/0: key 'name' is missing"),
        ("gates:\n  - name: a\n    deadline_s: 1.5\n", "f:3: gates/0/deadline_s: wants a whole"),
    ],
)
def test_a_misfit_is_named_at_its_own_line(text: str, error: str) -> None:
    """The strict loader knows the path, the document knows the line."""
    with pytest.raises(ConfigError, match=error):
        parse(text, "f").load(Gate, ("gates", 0))


def test_a_fit_is_loaded() -> None:
    """The same loader as on the wire."""
    assert parse("g: {name: a, deadline_s: 3}", "f").load(Gate, ("g",)) == Gate("a", 3)


def test_a_reader_may_say_what_bare_scalars_mean() -> None:
    """Compose reads 22:22 as text, where Ansible reads 1342; quoted text is text either way."""
    document = parse("a: 22:22\nb: '1'\nc: [yes, \"yes\"]\n", "f.yaml", plain=lambda text: (text,))
    assert document.value == {("a",): ("22:22",), ("b",): "1", ("c",): [("yes",), "yes"]}


@pytest.mark.parametrize(
    ("path", "place"),
    [
        (("a",), (1, 1, "")),
        (("b", "c"), (2, 3, ">")),
        (("b", "d", 1), (3, 6, "'")),
        (("b", "x", "y"), (1, 2, "")),
    ],
)
def test_a_path_tells_how_far_it_leads_and_how_text_is_quoted(
    path: tuple[str | int, ...], place: tuple[int, int, str]
) -> None:
    """A folded string is read otherwise than it looks."""
    text = "a: b\nb:\n  c: >\n    e\n  d: [1,\n    'f']\n"
    assert parse(text, "f.yaml").spot.reached(path) == place
