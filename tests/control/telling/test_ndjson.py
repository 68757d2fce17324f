import io
import json
from typing import get_args

import pytest

from headway.control.secrets import Redactor
from headway.control.telling import story
from headway.control.telling.ndjson import ndjson
from headway.control.telling.redaction import redacted, redacting
from headway.control.telling.sinks import together
from headway.wire.loader import kind_of, load
from tests.control import tell

CANARY = 'canary-"7f3a"-value'


@pytest.mark.parametrize("case", tell.cases(), ids=lambda case: case.name)
def test_every_line_reads_back_as_what_was_told(case: tell.Case) -> None:
    """A line is one JSON value under its kind, and says everything that was told."""
    out = io.StringIO()
    sink = ndjson(out)
    for piece in case.told:
        sink(piece)
    rows = [json.loads(line) for line in out.getvalue().splitlines()]
    read = [load(tell.KINDS[kind], value) for row in rows for kind, value in row.items()]
    assert tuple(read) == case.told


def test_every_kind_of_line_is_documented() -> None:
    """docs/events.md has a heading for each kind of line that --json writes of a story."""
    text = (tell.CASES.parents[2] / "docs" / "events.md").read_text()
    missing = [kind_of(kind) for kind in get_args(story.Told) if f"`{kind_of(kind)}`" not in text]
    assert missing == []


class _Planted:
    """Puts the canary into every text it is shown."""

    def text(self, text: str) -> str:
        return f"{text} {CANARY}"


@pytest.mark.parametrize("case", tell.cases(), ids=lambda case: case.name)
def test_no_sink_is_told_a_secret_wherever_it_stands(case: tell.Case) -> None:
    """Redaction goes by value over every text of a story, before any sink."""
    seen: list[story.Told] = []
    sink = redacting(seen.append, Redactor([CANARY]))
    planted = [redacted(piece, _Planted()) for piece in case.told]
    for piece in planted:
        sink(piece)
    assert all("canary" in repr(piece) for piece in planted)
    assert not any("canary" in repr(piece) for piece in seen)
    assert [type(piece) for piece in seen] == [type(piece) for piece in case.told]


def test_a_secret_with_quotes_is_blotted_out_before_json_escapes_it() -> None:
    """A value that JSON writes with backslashes must not slip through."""
    out = io.StringIO()
    sink = redacting(ndjson(out), Redactor([CANARY]))
    sink(story.Note("gpu1", f"the engine said {CANARY}", "look there"))
    assert json.loads(out.getvalue()) == {
        "note": {"host": "gpu1", "text": "the engine said ***", "hint": "look there"}
    }


def test_a_sink_that_breaks_is_let_go_and_the_others_hear_on() -> None:
    """A reader that left (`| head`) or a full disk must not stop a rollout."""

    def broken(_told: story.Told) -> None:
        raise BrokenPipeError

    heard: list[story.Told] = []
    sink = together([broken, heard.append])
    told = tell.case("stuck").told
    for piece in told:
        sink(piece)
    assert tuple(heard) == told
