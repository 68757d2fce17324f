"""OpenSSH's client configuration as text: which files, with their Includes, and -o words.

Paramiko reads the format but knows no Include: they are put in where they stand. The first value
of a key wins, as in OpenSSH: words of the inventory, then the user's file, then the system's.
"""

import os
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path

from headway.control.errors import ConfigError
from headway.control.inventory.model import Host

USER = Path("~/.ssh/config")
SYSTEM = Path("/etc/ssh/ssh_config")
_ARGUMENTS = ("ansible_ssh_extra_args", "ansible_ssh_common_args")
_DEEPEST = 16  # OpenSSH's own limit
_EVERY_HOST = "Host *"


def text(chosen: Path | None = None) -> str:
    """Read the chosen file, which has to exist; else the user's and the system's as there are."""
    if chosen is not None:
        if not chosen.is_file():
            raise ConfigError(str(chosen), "there is no such SSH configuration")
        return _text(_expanded(chosen.expanduser(), _EVERY_HOST))
    files = [path.expanduser() for path in (USER, SYSTEM)]
    return _text(
        line for path in files if path.is_file() for line in (_EVERY_HOST, *_expanded(path, ""))
    )


def for_host(address: str, words: Mapping[str, str]) -> str:
    """Write -o words as a block that only this host reads, before everything else."""
    return _text([f"Host {address}", *(f"  {key} {value}" for key, value in words.items())])


def of_host(host: Host) -> dict[str, str]:
    """Read the ssh words of a host's inventory; the extra ones win."""
    found: dict[str, str] = {}
    for name in _ARGUMENTS:
        value = host.vars.get(name)
        if value is not None:
            found = {**options(str(value.value), value.where), **found}
    return found


def options(arguments: str, where: str) -> dict[str, str]:
    """Read ansible_ssh_common_args: -o KEY=VALUE, -J JUMP, -p PORT, -l USER, -i FILE."""
    short = {"-J": "proxyjump", "-p": "port", "-l": "user", "-i": "identityfile"}
    found: dict[str, str] = {}
    try:
        words = iter(shlex.split(arguments))
    except ValueError as error:
        raise ConfigError(where, f"{arguments!r} is not a command line: {error}") from None
    for word in words:
        flag, value = word[:2], word[2:] or next(words, "")
        if flag == "-o" and "=" in value:
            key, _, value = value.partition("=")
        elif flag == "-o" and " " in value:
            key, _, value = value.partition(" ")
        elif flag in short and value:
            key = short[flag]
        else:
            raise ConfigError(
                where,
                f"{word!r} is no ssh option that headway knows",
                hint="it knows -o KEY=VALUE, -J, -p, -l and -i; the rest belongs to ~/.ssh/config",
            )
        found.setdefault(key.strip().lower(), value.strip())
    return found


def _text(lines: Iterator[str] | list[str]) -> str:
    return "".join(line + "\n" for line in lines)


def _expanded(path: Path, block: str, depth: int = 0) -> Iterator[str]:
    """Yield the lines of a file with Includes in place; after one, its block goes on."""
    try:
        lines = path.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(str(path), f"cannot be read: {error}") from None
    for line in lines:
        key, _, value = line.strip().replace("=", " ", 1).partition(" ")
        if key.lower() in ("host", "match"):
            block = line
        if key.lower() != "include":
            yield line
            continue
        if depth == _DEEPEST:
            raise ConfigError(str(path), f"Includes are nested over {_DEEPEST} deep")
        for included in _matching(value, path.absolute().parent):
            yield from _expanded(included, block, depth + 1)
            yield block or _EVERY_HOST


def _matching(value: str, folder: Path) -> Iterator[Path]:
    for pattern in shlex.split(value):
        absolute = folder / Path(os.path.expandvars(pattern)).expanduser()
        found = Path("/").glob(str(absolute).lstrip("/"))
        yield from (path for path in sorted(found) if path.is_file())
