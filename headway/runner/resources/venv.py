"""What is in a virtual environment, by the names and versions its own metadata lists."""

import hashlib
import re
from typing import List, Optional, Sequence, Tuple

from headway.runner.machine import Machine

_INFO = ".dist-info"
SHORT = 12  # hexadecimal digits of a fingerprint that people read and write


def site_packages(machine: Machine, path: str) -> Optional[str]:
    """Say where a virtual environment keeps its packages; None where there is no such folder."""
    for name in machine.disk.names(path + "/lib"):
        if name.startswith("python") and machine.disk.seen(f"{path}/lib/{name}/site-packages"):
            return f"{path}/lib/{name}/site-packages"
    return None


def listed(machine: Machine, path: str) -> Tuple[str, ...]:
    """List `name==version` of all that is installed, sorted; one folder is read, no file."""
    folder = site_packages(machine, path)
    names = machine.disk.names(folder) if folder else []
    return tuple(sorted(_line(name) for name in names if name.endswith(_INFO) and "-" in name))


def fingerprint(lines: Sequence[str]) -> str:
    """Hash what is installed: the same names and versions always give the same 12 digits."""
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:SHORT]


def compare(built: Sequence[str], now: Sequence[str]) -> str:
    """Say what became of what was built, "" when nothing did; at most three packages are named."""
    old, new = dict(_pair(line) for line in built), dict(_pair(line) for line in now)
    words: List[str] = []
    for name in sorted({*old, *new}):
        if name not in new:
            words.append(f"{name} is gone")
        elif name not in old:
            words.append(f"{name} {new[name]} was added")
        elif old[name] != new[name]:
            words.append(f"{name} is {new[name]}, not {old[name]}")
    more = f", and {len(words) - 3} more" if len(words) > 3 else ""  # noqa: PLR2004 # three are named
    return ", ".join(words[:3]) + more


def _line(info: str) -> str:
    name, _, version = info[: -len(_INFO)].rpartition("-")
    return re.sub(r"[-_.]+", "-", name).lower() + "==" + version


def _pair(line: str) -> Tuple[str, str]:
    name, _, version = line.partition("==")
    return name, version
