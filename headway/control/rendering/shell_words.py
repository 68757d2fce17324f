"""A command written as one string, split as Compose splits it: by no shell, and not to its end.

Compose takes mattn/go-shellwords (compose-go, types/command.go): quotes and backslashes are heeded,
variables and comments are not, and what stands behind a bare ; & | < > is dropped without a word.
"""

from dataclasses import dataclass

ENDS = ";&|<>"
_BLANKS = " \t\r\n"


class SplitError(ValueError):
    """A string that Compose refuses: a quote left open, or a bare parenthesis."""


@dataclass(frozen=True)
class Split:
    """The words that are passed on, and the text that is dropped, from the sign that ends it."""

    words: tuple[str, ...]
    lost: str = ""


def split(text: str) -> Split:
    """Split a command as Compose does; what it refuses is a SplitError."""
    return _Splitter().split(text)


class _Splitter:
    """The state between two characters: `quote` is what is open, a quote within ` among them."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self.word = ""
        self.begun = False
        self.quote = ""
        self.escaped = False

    def split(self, text: str) -> Split:
        for at, char in enumerate(text):
            if not self.quote and not self.escaped and char in ENDS:
                self._end(keeps=not (char == ">" and self.word[:1].isdecimal()))
                return Split(tuple(self.words), text[at:])
            self._take(char)
        if self.quote or self.escaped:
            missing = f"{self.quote[-1]} is not closed" if self.quote else "it ends in a backslash"
            raise SplitError(missing)
        self._end()
        return Split(tuple(self.words))

    def _take(self, char: str) -> None:
        if self.escaped:
            self.escaped = False
            self._add(char)
        elif char == "\\" and not self.quote.endswith("'"):
            self.escaped = True
        elif char in _BLANKS:
            if self.quote:
                self.word += char
            else:
                self._end()
        elif char in "()" and self.quote in ("", "("):
            self._parenthesis(char)
        elif char in "'\"" and self.quote.endswith(char):
            self.begun = True
            self.quote = self.quote[:-1]
        elif char in "'\"" and self.quote in ("", "`"):
            self.quote += char
        else:
            if char == "`" and self.quote in ("", "`"):
                self.quote = "" if self.quote else char
            self._add(char)

    def _parenthesis(self, char: str) -> None:
        if char == "(":
            if self.quote or not self.word.endswith("$"):
                problem = "a parenthesis wants quotes"
                raise SplitError(problem)
            self.word += char
            self.quote = char
        else:
            self.quote = "" if self.quote else "("
            self._add(char)

    def _add(self, char: str) -> None:
        self.word += char
        self.begun = True

    def _end(self, *, keeps: bool = True) -> None:
        if self.begun and keeps:
            self.words.append(self.word)
        self.word = ""
        self.begun = False
