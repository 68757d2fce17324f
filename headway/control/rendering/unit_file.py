"""Unit files: written from sections, and read as systemd reads them, joined lines and all.

The rules are config_parse's: a line that ends in a backslash goes on in the next one, comment
lines in between are skipped, and a blank line ends it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

WHITESPACE = " \t\n\r"
COMMENTS = ("#", ";")


class TextError(ValueError):
    """Something systemd cannot be told in writing; the message says what, and why."""


@dataclass(frozen=True)
class Setting:
    """One `Key=value` of a unit file, continued lines joined; `line` is where it begins."""

    section: str
    key: str
    value: str
    line: int


def unit_text(sections: Mapping[str, Mapping[str, object]]) -> str:
    """Write a unit file of these sections; a list repeats its key, true and false are yes and no.

    Values are systemd's own text and are not quoted here. One that would break out of its line is
    a TextError.
    """
    return "\n".join(
        f"[{section}]\n" + "".join(_setting(key, value) for key, value in body.items())
        for section, body in sections.items()
    )


def settings(text: str) -> tuple[Setting, ...]:
    """Read a unit file as systemd does: what it would take, and nothing it would ignore."""
    section, found = "", []
    for line, logical in logical_lines(text):
        stripped = logical.strip(WHITESPACE)
        if stripped.startswith("[") and stripped.endswith("]"):
            section = stripped[1:-1]
        elif "=" in stripped:
            key, _, value = stripped.partition("=")
            found.append(Setting(section, key.rstrip(), value.lstrip(), line))
    return tuple(found)


def last(found: tuple[Setting, ...], key: str, section: str = "Service") -> str:
    """Say the value of a setting that takes one: the last that was given, "" when none was."""
    given = [one.value for one in found if (one.section, one.key) == (section, key)]
    return given[-1] if given else ""


def logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Join continued lines as systemd does, each with the number of its first line."""
    pending, begun = "", 0
    for number, line in enumerate(text.split("\n"), start=1):
        if line.lstrip(WHITESPACE).startswith(COMMENTS):
            continue
        pending, begun = pending + line, begun or number
        if continues(pending):
            pending = pending[:-1] + " "
            continue
        yield begun, pending
        pending, begun = "", 0
    if pending:
        yield begun, pending


def continues(line: str) -> bool:
    """Say whether a line goes on in the next one: its last backslash is not itself escaped."""
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _setting(key: str, value: object) -> str:
    if isinstance(value, (list, tuple)):
        return "".join(_setting(key, one) for one in value)
    text = {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
    if len(list(logical_lines(f"{key}={text}"))) != 1:
        raise TextError(f"{key}= holds a line break; a list repeats the key")
    return f"{key}={text}\n"
