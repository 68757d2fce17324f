"""Secrets are never shown: a text that cannot be printed, and a redactor for all that is.

Where they come from is `secret_sources`.
"""

import json
import re
import threading
from collections.abc import Callable, Iterable
from typing import NoReturn

MASK = "***"
SHORTEST = 4
"""Shorter values stand in too many words to be hidden by value."""


class Secret:
    """A text that cannot be printed: str(), repr() and formats give ***, JSON refuses it.

    Whoever puts it into a file of a release calls `reveal()`; `where` is FILE:LINE of its origin.
    """

    __slots__ = ("_cell", "where")

    def __init__(self, cell: "Cell", where: str) -> None:
        """Wrap a source; `Secret.of` wraps a text."""
        self._cell = cell
        self.where = where

    @classmethod
    def of(cls, text: str, where: str) -> "Secret":
        """Wrap a text made of other secrets; `secret_sources` makes one that is redacted, too."""
        return cls(Cell(lambda _where: text, lambda _secret: None), where)

    def reveal(self) -> str:
        """Give the text; a source that is missing is a ConfigError that says what to set."""
        return self._cell.text(self.where)

    def __repr__(self) -> str:
        return MASK

    def __format__(self, spec: str) -> str:
        return format(MASK, spec)

    def __copy__(self) -> "Secret":
        return self

    def __deepcopy__(self, memo: object) -> "Secret":
        return self

    def __reduce__(self) -> NoReturn:
        msg = f"the secret at {self.where} may not be pickled or dumped"
        raise TypeError(msg)


class Cell:
    """A source, asked at most once, whichever thread or place asks first."""

    def __init__(self, ask: Callable[[str], str], tell: Callable[[str], None]) -> None:
        """Take what gives the text, for FILE:LINE, and who is told of it first."""
        self._ask = ask
        self._tell = tell
        self._lock = threading.Lock()
        self._text: str | None = None

    def text(self, where: str) -> str:
        """Give the text, asked for once."""
        with self._lock:
            if self._text is None:
                self._text = self._ask(where)
                self._tell(self._text)
            return self._text


class Redactor:
    """Replaces secrets by *** wherever they stand in a text, encoded as sinks encode them."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        """Begin with these values; `learn` adds to them at any time, from any thread."""
        self._lock = threading.Lock()
        self._forms: set[str] = set()
        self._pattern: re.Pattern[str] | None = None
        self.too_short = 0
        for value in values:
            self.learn(value)

    def learn(self, value: str) -> None:
        """Hide this value from now on, and how JSON, URLs and base64 (at any offset) write it.

        A value of under 4 characters is counted in `too_short` and not hidden: it stands in too
        many words.
        """
        if len(value) < SHORTEST:
            self.too_short += 1
            return
        with self._lock:
            self._forms |= _forms(value)
            longest_first = sorted(self._forms, key=lambda form: (-len(form), form))
            self._pattern = re.compile("|".join(map(re.escape, longest_first)))

    def text(self, text: str) -> str:
        """Give the text without secrets."""
        return self._pattern.sub(MASK, text) if self._pattern else text


def _forms(text: str) -> set[str]:
    import base64
    from urllib.parse import quote, quote_plus

    whole = {text, *_lines(text)}
    escaped = {
        json.dumps(form, ensure_ascii=ascii_)[1:-1] for form in whole for ascii_ in (True, False)
    }
    urls = {quote(text, safe=""), quote(text), quote_plus(text)}
    coded = {
        _core(encode(b"\0" * offset + text.encode()).decode(), offset, len(text.encode()))
        for encode in (base64.b64encode, base64.urlsafe_b64encode)
        for offset in range(3)
    }
    return {form for form in whole | escaped | urls | coded if len(form) >= SHORTEST}


def _lines(text: str) -> list[str]:
    """List the lines of a key of many lines: logs show them one by one."""
    lines = text.splitlines()
    return [line for line in lines if len(line) >= 2 * SHORTEST] if len(lines) > 1 else []


def _core(encoded: str, offset: int, size: int) -> str:
    """Cut off the characters of base64 that depend on what stands before or after."""
    tail = {0: 0, 1: 3, 2: 2}[(offset + size) % 3]
    return encoded[(0, 2, 3)[offset] : len(encoded) - tail]
