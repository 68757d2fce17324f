"""Sources as they travel: without what only readers need, each line where it was.

Comments and docstrings are a third of the runner, and on a host nobody reads them. In a traceback
the line numbers are those of the tree.
"""

import io
import tokenize
from collections.abc import Iterator

_BETWEEN = (tokenize.NL, tokenize.COMMENT)
_OPENING = (tokenize.ENCODING, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)


def slim(source: bytes) -> bytes:
    """Blank the comments and docstrings of a Python source; its lines keep their numbers."""
    lines = source.decode().splitlines(keepends=True)
    for token in reversed(list(_unread(source, lines))):  # what stands before keeps its place
        _blank(lines, token, "" if token.type == tokenize.COMMENT else '""')
    return "".join(lines).encode()


def _unread(source: bytes, lines: list[str]) -> Iterator[tokenize.TokenInfo]:
    opening = True  # a statement may begin here
    for token in tokenize.tokenize(io.BytesIO(source).readline):
        docstring = opening and token.type == tokenize.STRING and _is_all(lines, token)
        if docstring or token.type == tokenize.COMMENT:
            yield token
        if token.type not in _BETWEEN:
            opening = token.type in _OPENING


def _is_all(lines: list[str], token: tokenize.TokenInfo) -> bool:
    """Say whether a string is all of its statement: nothing but a comment follows it."""
    last, end = token.end
    rest = lines[last - 1][end:].strip()
    return not rest or rest.startswith("#")


def _blank(lines: list[str], token: tokenize.TokenInfo, instead: str) -> None:
    """Put `instead` where a token begins, and leave the lines it went over empty."""
    (first, start), (last, end) = token.start, token.end
    head, tail = lines[first - 1][:start] + instead, lines[last - 1][end:]
    if first == last:
        lines[first - 1] = head.rstrip(" ") + tail
        return
    lines[first - 1] = head + "\n"
    lines[first : last - 1] = ["\n"] * (last - first - 1)
    lines[last - 1] = tail.lstrip(" ")
