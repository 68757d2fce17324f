"""A streamed completion out of a table: its words come when the row says, in time that is told.

It copies like the model of tests/lab/copy_model.py: a marker that the prompt introduced is what
comes after the words that introduced it. Four characters are a token.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from headway.wire.tools import Piece, Unreached

_MARKER = re.compile(r"The secret marker is (\S+)\. ")
_LETTERS = 4  # of a token


def tokens_of(text: str) -> int:
    """Count a text's tokens."""
    return len(text) // _LETTERS


@dataclass(frozen=True)
class Spoken:
    """One answer. `row` may say: first_us, every_us, tokens, text, finish, usage, ends ("late")."""

    body: Mapping[str, Any]
    row: Mapping[str, Any]
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    sent_us: int = 0

    def pieces(self) -> Iterator[Piece]:
        """Give a token a piece, then why it ended, then its usage."""
        at = self.row.get("first_us", 20_000)
        words = self._words()
        for word in words:
            yield Piece(at, _event({"choices": [{"text": word, "finish_reason": None}]}))
            at += self.row.get("every_us", 10_000)
        if self.row.get("ends") == "late":
            raise Unreached("no answer within 1 s", late=True)
        finish = self.row.get("finish", "length")
        yield Piece(at, _event({"choices": [{"text": "", "finish_reason": finish}]}))
        prompt = tokens_of(self.body["prompt"]) * self.row.get("prompt_percent", 100) // 100
        usage = {"prompt_tokens": prompt, "completion_tokens": len(words)}
        details = {"prompt_tokens_details": {"cached_tokens": self.row.get("cached", 0)}}
        yield Piece(at, _event({"choices": [], "usage": {**usage, **details}}))
        yield Piece(at, b"data: [DONE]\n\n")

    def close(self) -> None:
        """Leave it."""

    def _words(self) -> list[str]:
        said = [*_MARKER.finditer(self.body["prompt"])]
        text = self.row.get("text", f" {said[0].group(1)}." if said else " so")
        pieces = re.findall(r"\s?\S{1,4}", text)
        count = self.row.get("tokens", self.body["max_tokens"])
        return (pieces + [" word"] * count)[:count]


def _event(document: Mapping[str, Any]) -> bytes:
    return b"data: " + json.dumps(document).encode() + b"\n\n"
