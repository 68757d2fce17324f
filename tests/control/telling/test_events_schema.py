"""docs/schemas/events.schema.json holds for every line that --json writes of a story."""

import json
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, ValidationError

from dev.schemas import EVENTS_SCHEMA, ROWS
from headway.control.telling import story
from headway.control.telling.ndjson import row
from headway.wire.event import Body
from headway.wire.loader import kind_of
from tests.control import tell
from tests.wire.vocabulary import values

SCHEMA = json.loads(EVENTS_SCHEMA.read_text())
VALIDATOR = Draft202012Validator(SCHEMA)
DOCS = (EVENTS_SCHEMA.parents[1] / "events.md").read_text()


@pytest.mark.parametrize("case", tell.cases(), ids=lambda case: case.name)
def test_every_line_of_a_story_fits(case: tell.Case) -> None:
    """What a program was promised is what it gets."""
    for piece in case.told:
        VALIDATOR.validate(json.loads(row(piece)))


@pytest.mark.parametrize("kind", get_args(story.Told), ids=kind_of)
@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.data())
def test_any_piece_of_a_story_fits(kind: Any, data: st.DataObject) -> None:
    """Whatever the types allow is described: no key, no null and no kind is forgotten."""
    VALIDATOR.validate(json.loads(row(data.draw(values(kind)))))


@pytest.mark.parametrize(
    "line",
    [
        {"note": {"host": "gpu1", "text": "x", "hint": "", "more": 1}},
        {"note": {"host": "gpu1", "text": "x"}},
        {"note": {"host": "gpu1", "text": 1, "hint": ""}},
        {"vibes": {}},
        {},
    ],
)
def test_what_no_verb_writes_does_not_fit(line: object) -> None:
    """A schema that everything fits describes nothing."""
    with pytest.raises(ValidationError):
        VALIDATOR.validate(line)


def test_every_kind_and_key_of_a_story_stands_in_the_docs() -> None:
    """docs/events.md names them; a new key is a new word there."""
    named = [SCHEMA["$defs"][kind.__name__] for kind in get_args(story.Told)]
    named += [SCHEMA["$defs"][kind.__name__] for kind in get_args(Body)]
    assert {kind for kind in map(kind_of, get_args(Body)) if f"`{kind}`" not in DOCS} == set()
    keys = {key for one in named for key in one["properties"]} | set(SCHEMA["properties"])
    rows = {kind_of(kind) for kind in ROWS}
    assert {key for key in keys - rows if key not in DOCS} == set()
    assert {kind for kind in rows if f"`{kind}`" not in DOCS} == set()
