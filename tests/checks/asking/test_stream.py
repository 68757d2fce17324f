"""A stream is heard as it was meant, however it is cut, and what is wrong with it is told."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.wire.tools import Piece, Unreached
from tests.checks.tables import check

stream = check("asking.stream")
TICK_US = 1000
USAGE = {"prompt_tokens": 7, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 4}}


@dataclass(frozen=True)
class Cut:
    """A stream that comes in these pieces, a tick apart, and may break."""

    parts: tuple[bytes, ...]
    breaks: Unreached | None = None
    status: int = 200
    sent_us: int = 0
    headers: dict[str, str] = field(default_factory=dict)

    def pieces(self) -> Iterator[Piece]:
        """Give them."""
        for number, part in enumerate(self.parts, 1):
            yield Piece(number * TICK_US, part)
        if self.breaks is not None:
            raise self.breaks

    def close(self) -> None:
        """Leave it."""


def event(**fields: Any) -> bytes:
    """Write an event as most engines do."""
    return b"data: " + json.dumps(fields).encode() + b"\n\n"


def word(text: str) -> bytes:
    """Write an event with a word of a completion."""
    return event(choices=[{"index": 0, "text": text, "finish_reason": None}])


END = (
    event(choices=[{"index": 0, "text": "", "finish_reason": "length"}])
    + event(choices=[], usage=USAGE, timings={"predicted_per_second": 12.5})
    + b"data: [DONE]\n\n"
)


def heard(*parts: bytes, **how: Any) -> Any:
    """Hear a stream of these pieces."""
    return stream.hear(lambda: Cut(parts, **how))


def test_words_their_times_and_the_end() -> None:
    """Every event with words arrives when its last byte does; usage is the engine's."""
    found = heard(word(" one"), word(" two"), word(" three"), END)

    assert found.text == " one two three"
    assert found.arrivals == (1000, 2000, 3000)
    assert (found.ttft_us, found.gaps_us) == (1000, [1000, 1000])
    assert (found.finish, found.trouble) == ("length", "")
    assert found.usage == stream.Usage(prompt=7, generated=3, cached=4)
    assert found.last["timings"] == {"predicted_per_second": 12.5}


@given(st.lists(st.text(min_size=1), min_size=1, max_size=5), st.data())
def test_no_cut_changes_what_is_heard(words: list[str], data: st.DataObject) -> None:
    """HTTP cuts where it likes: in a letter, in an escape, in `data:`."""
    whole = b"".join(map(word, words)) + END
    cut = data.draw(st.lists(st.integers(1, len(whole) - 1), max_size=6, unique=True).map(sorted))

    found = heard(*(whole[a:b] for a, b in zip([0, *cut], [*cut, len(whole)], strict=True)))

    assert found.text == "".join(words)
    assert (found.finish, found.usage.generated, len(found.arrivals)) == ("length", 3, len(words))


SPREAD = json.dumps({"choices": [], "usage": USAGE}, indent=1).replace("\n", "\ndata: ")


@pytest.mark.parametrize(
    "last",
    [
        f"data: {SPREAD}\n\n".encode(),
        (END.replace(b"\n", b"\r\n")),
        b": ping\n\n" + END + b": ping\n\n",
        END.replace(b"data: ", b"data:"),
    ],
    ids=["lines", "crlf", "pings", "no space"],
)
def test_other_forms_of_streams(last: bytes) -> None:
    """SSE lets an event stand on several lines, end in CR LF, and have comments between."""
    found = heard(word(" one"), last)

    assert (found.text, found.usage.prompt, found.usage.cached) == (" one", 7, 4)


def test_thoughts_are_no_answer() -> None:
    """What a model reasons stands in a field of its own, under either name."""
    deltas: list[Mapping[str, Any]] = [
        {"role": "assistant", "content": ""},
        {"reasoning_content": "so "},
        {"reasoning": "then"},
        {"content": "42"},
    ]
    found = heard(*(event(choices=[{"delta": delta}]) for delta in deltas), END)

    assert (found.thought, found.text, len(found.arrivals)) == ("so then", "42", 3)


@pytest.mark.parametrize(
    ("parts", "trouble"),
    [
        ((), "no stream came: an empty answer"),
        ((b"<html>",), "no stream came: <html>"),
        ((word("a"), event(error={"message": "broke"})), 'it says: {"message": "broke"}'),
    ],
)
def test_what_is_no_answer_is_told(parts: tuple[bytes, ...], trouble: str) -> None:
    """200 and nothing, 200 and a page, 200 and an error in the middle (llama-server)."""
    assert heard(*parts).trouble == trouble


def test_a_broken_stream_keeps_what_came() -> None:
    """Half an answer is shown, and why it is half."""
    found = heard(word(" one"), breaks=Unreached("reset", late=True))

    assert (found.text, found.finish, found.trouble, found.late) == (" one", "", "reset", True)


def test_nobody_there() -> None:
    """A request that finds nobody is heard as that."""

    def refused() -> Cut:
        raise Unreached("nobody listens", refused=True)

    found = stream.hear(refused)

    assert (found.status, found.refused, found.late, found.arrivals) == (0, True, False, ())
