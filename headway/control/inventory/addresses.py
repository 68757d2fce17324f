"""Host patterns of an inventory file: `web[01:03].lan:2222` names three hosts and a port."""

import re
import string

from headway.control.errors import ConfigError

_BRACKETED_PORT = re.compile(r"\[(.+)\]:([0-9]+)")
_PORT = re.compile(r"((?:[^:\[\]]|\[[^\]]*\])*):([0-9]+)")
_RANGE = re.compile(r"\[([^\]]*)\]")
_PORTS = range(1, 65536)


def expand(pattern: str, where: str) -> tuple[list[str], int | None]:
    """Give the hosts that a pattern names, in order, and their port where it ends with one."""
    found = _BRACKETED_PORT.fullmatch(pattern) or _PORT.fullmatch(pattern)
    name, port = (found[1], int(found[2])) if found else (pattern, None)
    if not name or re.search(r"\s", name):
        raise ConfigError(where, f"{pattern!r} names no host")
    if port is not None and port not in _PORTS:
        raise ConfigError(where, f"{port} is no port", hint="ports go from 1 to 65535")
    if name.endswith(":") and not found and name.count(":") == 1:
        raise ConfigError(where, f"{pattern!r} ends in ':'", hint="write a port, or leave it out")
    return _ranges(name, where), port


def _ranges(name: str, where: str) -> list[str]:
    found = _RANGE.search(name)
    if not found:
        if "[" in name:
            raise ConfigError(where, f"{name!r} has a '[' that nothing closes")
        return [name]
    before, after = name[: found.start()], name[found.end() :]
    return [
        before + step + rest for step in _steps(found[1], where) for rest in _ranges(after, where)
    ]


def _steps(text: str, where: str) -> list[str]:
    """Expand begin:end or begin:end:step, of numbers (padded as begin is) or single letters."""
    begin, *rest = text.split(":")
    begin = begin or "0"
    step = int(rest[1]) if len(rest) == 2 and rest[1].isdigit() else len(rest)  # noqa: PLR2004
    if not rest or not rest[0] or step < 1 or len(rest) > 2:  # noqa: PLR2004 # begin:end:step
        hint = "write [begin:end] or [begin:end:step]"
        raise ConfigError(where, f"[{text}] is no range of hosts", hint=hint)
    end = rest[0]
    letters = string.ascii_letters
    if len(begin) == len(end) == 1 and begin in letters and end in letters:
        steps = list(letters[letters.index(begin) : letters.index(end) + 1 : step])
    elif begin.isdigit() and end.isdigit():
        width = len(begin) if begin.startswith("0") and len(begin) > 1 else 0
        if width and width != len(end):
            hint = f"write both ends with {max(width, len(end))} digits"
            raise ConfigError(where, f"[{text}]: both ends want equally many digits", hint=hint)
        steps = [str(number).zfill(width) for number in range(int(begin), int(end) + 1, step)]
    else:
        raise ConfigError(where, f"[{text}] is no range of numbers or letters")
    if not steps:
        raise ConfigError(where, f"[{text}] begins after its end")
    return steps
