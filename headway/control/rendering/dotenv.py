r"""Compose's env files: NAME=VALUE lines, read and written as Compose 2.26 reads them.

A value without quotes ends before ` #`; in single quotes it is literal; in double quotes \n, \" and
\$ are escapes. Variables given above are filled in where no single quotes stand.
"""

import re
from collections.abc import Iterator, Mapping

from headway.control.errors import ConfigError
from headway.control.rendering.interpolation import TemplateError, fill

_LINE = re.compile(r"\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_.-]*)\s*[=:]\s*(.*)", re.DOTALL)
_SINGLE = re.compile(r"'([^']*)'")
_DOUBLE = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "$": "$$"}
_PLAIN = re.compile(r"[^'\n\\]*")


def read(shown: str, text: str) -> dict[str, str]:
    """Read a file's variables; a line that is none is a ConfigError at it, called `shown`."""
    found: dict[str, str] = {}
    for number, row in _rows(text):
        match = _LINE.fullmatch(row)
        if match is None:
            problem = f"{row.split('=')[0]!r} is no NAME=VALUE"
            raise ConfigError(f"{shown}:{number}", problem)
        try:
            found[match[1]] = _value(match[2], found)
        except TemplateError as error:
            raise ConfigError(f"{shown}:{number}", str(error)) from None
    return found


def written(values: Mapping[str, str]) -> str:
    """Write variables so that each is read back as given, a line each."""
    return "".join(f"{name}={_quoted(value)}\n" for name, value in values.items())


def _rows(text: str) -> Iterator[tuple[int, str]]:
    """Give each assignment with the line it begins on; a quoted value may go over several."""
    lines, number = iter(text.splitlines()), 0
    for line in lines:
        number += 1
        begins, row = number, line
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        while _is_open(row):
            more = next(lines, None)
            if more is None:
                break
            number += 1
            row += "\n" + more
        yield begins, row


def _is_open(row: str) -> bool:
    match = _LINE.fullmatch(row)
    value = match[2] if match else ""
    quoted = {"'": _SINGLE, '"': _DOUBLE}.get(value[:1])
    return quoted is not None and quoted.match(value) is None


def _value(text: str, known: Mapping[str, str]) -> str:
    single, double = _SINGLE.match(text), _DOUBLE.match(text)
    if single is not None:
        return single[1]
    if double is not None:
        plain = _ESCAPE.sub(lambda match: _ESCAPES.get(match[1], match[1]), double[1])
        return fill(plain, known).text
    return fill(re.split(r"\s+#", text, maxsplit=1)[0].strip(), known).text


def _quoted(value: str) -> str:
    if _PLAIN.fullmatch(value):
        return f"'{value}'"
    escaped = re.sub(r'([\\"$])', r"\\\1", value).replace("\n", "\\n")
    return f'"{escaped}"'
