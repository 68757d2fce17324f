r"""Environment files: written for EnvironmentFile=, and read as systemd reads them.

Their quoting is not ExecStart's: there are no specifiers, no variables and no `\n`; inside double
quotes a backslash takes the meaning of `"`, `\`, a backtick and `$` away, and line breaks are
themselves (parse_env_file in systemd's env-file.c).
"""

import re
from collections.abc import Mapping

from headway.control.rendering.unit_file import WHITESPACE, TextError

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NEEDS_ESCAPE = re.compile(r'(["\\`$])')
_LINE = re.compile(r"[#;](?:\\.|[^\\\n\r])*|(?P<name>[^=\n\r]*)=|[^\n\r]+", re.DOTALL)
_QUOTED = re.compile(r"""[ \t]*(?:'(?P<single>[^']*)'|"(?P<double>(?:\\.|[^"\\])*)")""", re.DOTALL)
_BARE = re.compile(r"[ \t]*(?P<bare>(?:\\.|[^\\\n\r])*)", re.DOTALL)
_BLANKS_AT_END = re.compile(r"(?<!\\)[ \t]+\Z")
# What systemd's utf8_is_valid refuses: NUL, surrogates and noncharacters.
_NOT_CARRIED = re.compile(
    "[\0\ud800-\udfff\ufdd0-\ufdef"
    + "".join(chr(plane << 16 | 0xFFFE) + chr(plane << 16 | 0xFFFF) for plane in range(17))
    + "]"
)


def env_text(values: Mapping[str, str]) -> str:
    """Write one `NAME="value"` an entry, which systemd reads back as given.

    A name must be a shell's; a value may hold line breaks and control characters, but no NUL and
    nothing that is no Unicode text: TextError.
    """
    return "".join(f'{_name(name)}="{_value(name, text)}"\n' for name, text in values.items())


def environment(text: str) -> dict[str, str]:
    """Read an environment file as systemd does; the last of two equal names wins."""
    found: dict[str, str] = {}
    place = 0
    while place < len(text):
        if text[place] in WHITESPACE:
            place += 1
            continue
        line = _LINE.match(text, place)
        if line is None:
            break
        place = line.end()
        if line["name"] is not None:
            found[line["name"].rstrip(WHITESPACE)], place = _read(text, place)
    return found


def _name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise TextError(f"{name!r} is no name of an environment variable: letters, digits and _")
    return name


def _value(name: str, value: str) -> str:
    wrong = _NOT_CARRIED.search(value)
    if wrong:
        raise TextError(f"{name} holds {wrong[0]!r}, which systemd takes in no environment")
    return _NEEDS_ESCAPE.sub(r"\\\1", value)


def _read(text: str, place: int) -> tuple[str, int]:
    value = ""
    while quoted := _QUOTED.match(text, place):
        value += quoted["single"] if quoted["double"] is None else _unquoted(quoted["double"])
        place = quoted.end()
    bare = _BARE.match(text, place)
    if bare is None:
        return value, place
    return value + _unescaped(_BLANKS_AT_END.sub("", bare["bare"])), bare.end()


def _unquoted(text: str) -> str:
    return re.sub(r'\\(?:\n|(["\\`$]))', lambda found: found[1] or "", text)


def _unescaped(text: str) -> str:
    return re.sub(r"\\([\n\r])|\\(.)", lambda found: found[2] or "", text, flags=re.DOTALL)
