"""What is written reads back as it was: every type of the vocabulary, and any value of it."""

import dataclasses
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.wire.loader import canonical, dump, dumps, line, load, loads, parse
from headway.wire.talk import FromController, FromHost
from tests.wire.vocabulary import TYPES, UNIONS, dataclasses_of_the_wire, values

RECORDS = dataclasses_of_the_wire()


def test_the_vocabulary_is_found() -> None:
    """A property over an empty list would prove nothing."""
    assert {"Release", "State", "Transition", "Event", "Rollout", "Looked", "Engine"} <= set(TYPES)


@pytest.mark.parametrize("name", sorted(RECORDS))
@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_a_record_reads_back_as_it_was(name: str, data: st.DataObject) -> None:
    """As JSON values and as a line of text; and its hash does not depend on the way it went."""
    kind: Any = RECORDS[name]
    value = data.draw(values(kind))

    assert load(kind, dump(value)) == value
    again = loads(kind, dumps(value).encode())
    assert again == value
    assert canonical(again) == canonical(value)


@pytest.mark.parametrize("name", sorted(UNIONS))
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_a_line_says_what_kind_it_is(name: str, data: st.DataObject) -> None:
    """One line, ended by its only newline, that the other side reads without being told more."""
    value = data.draw(values(UNIONS[name]))

    row = line(value)

    assert row.count(b"\n") == 1
    assert row.endswith(b"\n")
    assert load(UNIONS[name], parse(row)) == value


@pytest.mark.parametrize("union", [FromController, FromHost])
def test_every_kind_of_a_union_has_a_name_of_its_own(union: Any) -> None:
    """Two kinds of one name would be read as the last of them."""
    names = [each.__name__ for each in union.__args__]

    assert len(set(names)) == len(names)


def test_the_hash_does_not_see_the_order_of_keys_or_the_kind_of_list() -> None:
    """A release read from a file and one just rendered are one release."""
    assert canonical({"b": (1, 2), "a": "é"}) == canonical({"a": "é", "b": [1, 2]})
    assert canonical({"a": "é", "b": [1]}) == '{"a":"é","b":[1]}'.encode()


@pytest.mark.parametrize("name", sorted(RECORDS))
def test_every_record_is_frozen(name: str) -> None:
    """What was said cannot be changed afterwards: it is replaced."""
    assert RECORDS[name].__dataclass_params__.frozen
    assert dataclasses.is_dataclass(RECORDS[name])
