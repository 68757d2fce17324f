"""Weights somebody else put there: checked by fingerprint, and not restorable."""

import hashlib
import os
from typing import List, Optional

from headway.runner.machine import Machine
from headway.runner.resources.error import ResourceError
from headway.runner.resources.weights import names
from headway.wire.resources import FoundWeights

SHORT = 12  # hexadecimal digits of a fingerprint that people read and write


def diff(found: FoundWeights, machine: Machine) -> Optional[str]:
    """Say that they are missing or other ones than the release was made for."""
    rows = listed(machine, found.path)
    if not rows:
        return f"{found.path} is missing or holds no file"
    now = fingerprint(rows)
    if now == found.fingerprint[:SHORT]:
        return None
    size = sum(int(row.split(" ", 1)[0]) for row in rows)
    return (
        f"{found.path} holds {len(rows)} files of {size} bytes with fingerprint {now}, "
        f"not {found.fingerprint[:SHORT]}"
    )


def text_now(found: FoundWeights, machine: Machine) -> Optional[str]:
    """List them, a line a file: size, time of change (Unix seconds), name; None without any."""
    rows = listed(machine, found.path)
    return "".join(row + "\n" for row in rows) if rows else None


def refusal(found: FoundWeights, machine: Machine) -> Optional[str]:
    """Say that headway cannot bring them about; None when they are as wanted."""
    wrong = diff(found, machine)
    return f"{wrong}: headway did not fetch it and cannot; put it right by hand" if wrong else None


def apply(found: FoundWeights, machine: Machine) -> None:
    """Raise ResourceError: nothing here knows where these weights came from."""
    raise ResourceError(refusal(found, machine) or f"{found.path} changed while it was looked at")


def listed(machine: Machine, path: str) -> List[str]:
    """List the files of a folder, or the one file, through links, as `text_now` shows them."""
    if os.path.isdir(machine.disk.real(path)):
        return [_row(machine, f"{path}/{name}", name) for name in names(machine, path)]
    return [] if machine.disk.seen(path) is None else [_row(machine, path, os.path.basename(path))]


def fingerprint(rows: List[str]) -> str:
    """Hash the list: the same names, sizes and times always give the same 12 digits."""
    return hashlib.sha256("\n".join(rows).encode()).hexdigest()[:SHORT]


def _row(machine: Machine, path: str, name: str) -> str:
    machine.disk.seen(path)  # a seal depends on it, and on what a link leads to
    try:
        found = os.stat(machine.disk.real(path))
    except FileNotFoundError:
        return f"0 0 {name} leads nowhere"
    return f"{found.st_size} {int(found.st_mtime)} {name}"
