"""Tokens of the stand-in: a word, up to three digits or one sign each; nothing is lost."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_PIECE = re.compile(r"<\|\w+\|>| ?[^\W\d_]+| ?\d{1,3}| ?[^\w\s]|.", re.DOTALL)
BLOCK = 16  # tokens that a prefix cache keeps together


def pieces(text: str) -> list[str]:
    """Cut a text into its tokens; joined again they are the text."""
    return _PIECE.findall(text)


class Vocabulary:
    """Numbers for the tokens seen so far, in the order they came."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._pieces: list[str] = []

    def encode(self, text: str) -> list[int]:
        """Number a text's tokens."""
        known = self._numbers
        found = []
        for piece in pieces(text):
            number = known.get(piece)
            if number is None:
                number = known[piece] = len(self._pieces)
                self._pieces.append(piece)
            found.append(number)
        return found

    def decode(self, numbers: Iterable[int]) -> str:
        """Give the text of tokens; those never seen are left out."""
        return "".join(self._pieces[n] for n in numbers if 0 <= n < len(self._pieces))


class PrefixCache:
    """Which beginnings of prompts were computed before, by blocks of tokens."""

    def __init__(self) -> None:
        self._known: set[int] = set()

    def take(self, numbers: list[int], salt: str) -> int:
        """Count the tokens at the beginning that are known, and know all of them from now on.

        The last token is always computed: something has to give the next one.
        """
        chain, cached, matching = hash(salt), 0, True
        for at in range(0, len(numbers) - BLOCK + 1, BLOCK):
            chain = hash((chain, tuple(numbers[at : at + BLOCK])))
            matching = matching and chain in self._known
            cached += BLOCK if matching else 0
            self._known.add(chain)
        return min(cached, max(0, len(numbers) - 1))
