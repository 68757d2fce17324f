"""Prompts of real text that no prefix cache has seen, and whose end is a question."""

import functools
import re
import secrets
from pathlib import Path
from typing import Tuple

QUESTION = "The secret marker is"
"""Prompts end in it, and it leads every marker in: a model that only copies answers, too."""

_TEXTS = Path(__file__).resolve().parents[1] / "texts"
_LETTERS, _FIGURES = "BCDFGHJKLMNPQRSTVWXZ", "23456789"
_SALT = "abcdefghijklmnopqrstuvwxyz"
_TRIGRAM = 3  # signs in a row by which a model may take one place for another


def texts() -> Tuple[str, ...]:
    """Name the texts there are."""
    return tuple(sorted(path.stem for path in _TEXTS.glob("*.txt")))


@functools.lru_cache(maxsize=4)
def text(name: str) -> str:
    """Read a text; ASCII."""
    return (_TEXTS / f"{name}.txt").read_text("ascii")


@functools.lru_cache(maxsize=4)
def passages(name: str) -> Tuple[str, ...]:
    """Cut a text into sentences, or into lines where it is code; joined they are the text."""
    return tuple(re.findall(r".+?(?:[.!?]['\")]*\s+|\n+|$)", text(name), re.DOTALL))


def filler(name: str, characters: int, start: int = 0) -> str:
    """Give so many characters of a text from passage `start` on, again from its top at its end."""
    if characters <= 0:
        return ""
    parts = passages(name)
    lead = "".join(parts[start % len(parts) :])
    rounds = max(0, characters - len(lead)) // len(text(name)) + 1
    return (lead + text(name) * rounds)[:characters]


def somewhere(name: str) -> int:
    """Pick a passage to begin at."""
    return secrets.randbelow(len(passages(name)))


def salt() -> str:
    """Make a beginning that no prompt had before: prefix caches know nothing of what follows."""
    return f"Page {''.join(secrets.choice(_SALT) for _ in range(16))}. "


def marker(near: str) -> str:
    """Make a word to be quoted that shares no three signs with the text around it.

    Nor has it one sign three times in a row: the first sign of a prompt has nothing before it, and
    to a model that copies by three signs that is the same (PPP went on as the salt's "Page" does).
    """
    while True:
        parts = (_LETTERS, 3), (_FIGURES, 4), (_LETTERS, 3)
        word = "-".join("".join(secrets.choice(of) for _ in range(n)) for of, n in parts)
        trigrams = {word[at : at + _TRIGRAM] for at in range(len(word) - _TRIGRAM + 1)}
        twice = len(trigrams) < len(word) - _TRIGRAM + 1
        alike = any(len(set(one)) == 1 for one in trigrams)
        if not (twice or alike or any(one in near for one in trigrams)):
            return word


def hidden(word: str) -> str:
    """Word the sentence that hides a marker."""
    return f" {QUESTION} {word}. "
