"""Environment files, written for EnvironmentFile=; wire/env_text.py reads them, and says how."""

import re
from collections.abc import Mapping

from headway.control.rendering.unit_file import TextError

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NEEDS_ESCAPE = re.compile(r'(["\\`$])')
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


def _name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise TextError(f"{name!r} is no name of an environment variable: letters, digits and _")
    return name


def _value(name: str, value: str) -> str:
    wrong = _NOT_CARRIED.search(value)
    if wrong:
        raise TextError(f"{name} holds {wrong[0]!r}, which systemd takes in no environment")
    return _NEEDS_ESCAPE.sub(r"\\\1", value)
