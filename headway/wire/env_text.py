r"""Environment files, read as systemd reads them for EnvironmentFile=.

Their quoting is not ExecStart's: there are no specifiers, no variables and no `\n`; inside double
quotes a backslash takes the meaning of `"`, `\`, a backtick and `$` away, and line breaks are
themselves (parse_env_file in systemd's env-file.c).
"""

import re
from typing import Dict, Tuple

_BLANK = " \t\n\r"
_LINE = re.compile(r"[#;](?:\\.|[^\\\n\r])*|(?P<name>[^=\n\r]*)=|[^\n\r]+", re.DOTALL)
_QUOTED = re.compile(r"""[ \t]*(?:'(?P<single>[^']*)'|"(?P<double>(?:\\.|[^"\\])*)")""", re.DOTALL)
_BARE = re.compile(r"[ \t]*(?P<bare>(?:\\.|[^\\\n\r])*)", re.DOTALL)
_BLANKS_AT_END = re.compile(r"(?<!\\)[ \t]+\Z")


def environment(text: str) -> Dict[str, str]:
    """Read an environment file as systemd does; the last of two equal names wins."""
    found: Dict[str, str] = {}
    place = 0
    while place < len(text):
        if text[place] in _BLANK:
            place += 1
            continue
        line = _LINE.match(text, place)
        if line is None:
            break
        place = line.end()
        if line["name"] is not None:
            found[line["name"].rstrip(_BLANK)], place = _read(text, place)
    return found


def _read(text: str, place: int) -> Tuple[str, int]:
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
