"""Shell scripts: where a command line that goes on over several lines ends before its end.

FIELD 1.5 has each of them measured: the engine starts with the first part of its options, and with
`exec` there is no message at all.
"""

import re
from collections.abc import Sequence

from headway.control.lint.finding import Hit, Hits
from headway.control.rendering.unit_file import continues

_COMMENT = re.compile(r"\s*#")
_TRAILING_BLANK = re.compile(r"\\[ \t]+$")
_ESCAPED_COMMENT = re.compile(r"\\[ \t]+#")
_COMMENT_TAKES_BACKSLASH = re.compile(r"\s#[^'\"]*\\$")
_KILL_BY_NAME = re.compile(
    r"\b(?:pkill|killall)\b|\bfuser\b.*\s-\w*k|nvidia-smi\b.*\|.*\bkill\b|\bkill\b.*\$\(.*(?:nvidia-smi|pgrep)"
)


def script_hits(text: str) -> Hits:
    """Find what cuts a command short in a shell script, and what kills by name."""
    lines = text.split("\n")
    carriage = next((n for n, line in enumerate(lines, 1) if line.endswith("\r")), 0)
    if carriage:
        yield Hit(carriage, "cut-by-crlf")
        lines = [line.removesuffix("\r") for line in lines]
    yield from continuation_hits(lines)
    for number, line in enumerate(lines, 1):
        if not _COMMENT.match(line):
            if _comment_takes_backslash(lines, number):
                yield Hit(number, "cut-by-comment")
            if _KILL_BY_NAME.search(line):
                yield Hit(number, "kill-by-name", line.strip())


def continuation_hits(lines: Sequence[str], *, comments_end: bool = True) -> Hits:
    """Find blank lines, comments and blanks that end a continued command line.

    `comments_end` is False for systemd, which skips comment lines between continued ones.
    """
    for number, line in enumerate(lines, 1):
        if _COMMENT.match(line):
            continue
        if _ESCAPED_COMMENT.search(line):
            yield Hit(number, "cut-behind-backslash")
        elif _TRAILING_BLANK.search(line):
            yield Hit(number, "cut-by-trailing-blank")
        elif continues(line):
            rule = _what_ends(lines[number : number + 1], comments_end=comments_end)
            if rule and _options_follow(lines, number + 1):
                yield Hit(number + 1, rule)


def kills_by_name(command: str) -> bool:
    """Say whether a command ends processes by their name or by what they hold."""
    return _KILL_BY_NAME.search(command) is not None


def _what_ends(following: Sequence[str], *, comments_end: bool) -> str:
    if not following:
        return ""
    if not following[0].strip():
        return "cut-by-blank-line"
    return "cut-by-comment" if comments_end and _COMMENT.match(following[0]) else ""


def _options_follow(lines: Sequence[str], start: int) -> bool:
    """Tell a cut from an end: the next line that says something is an option."""
    for line in lines[start:]:
        if line.strip() and not _COMMENT.match(line):
            return line.lstrip().startswith("-")
    return False


def _comment_takes_backslash(lines: Sequence[str], number: int) -> bool:
    line = lines[number - 1]
    return bool(_COMMENT_TAKES_BACKSLASH.search(line)) and _options_follow(lines, number)
