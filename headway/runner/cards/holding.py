"""Who a process is that holds a card: read from this /proc, so that nobody trusts a bare number."""

from __future__ import annotations

import os
import re

TYPE_CHECKING = False  # plain.py says why not typing's
if TYPE_CHECKING:
    from typing import Optional

    from headway.runner.cards.plain import Fields

_INITIAL_PIDS = "pid:[4026531836]"  # PROC_PID_INIT_INO: the machine's own processes
_TRANSLATES = (535, 113)  # the first driver that gives pids as the caller counts them (FIELD 3.2)
_COMMAND_BYTES = 4096


def counts_as_node(driver: str, namespace: Optional[str] = None) -> bool:
    """Say whether this driver names processes by the node's numbers, which are others' here.

    `namespace` is the link /proc/self/ns/pid. In a container under a driver of before 535.113 a
    pid that NVML gives may be anybody here: killed by its number, it would be the wrong one.
    """
    if namespace is None:
        namespace = os.readlink("/proc/self/ns/pid")
    version = tuple(int(part) for part in re.findall(r"\d+", driver)[:2])
    return bool(version) and version < _TRANSLATES and namespace != _INITIAL_PIDS


def holder(pid: int, used: Optional[int], kind: str, *, known: bool, proc: str = "/proc") -> Fields:
    """Name a process that NVML lists; where it is not `known` here, by its number alone."""
    started = started_at(pid, proc) if known else 0
    fields: Fields = {"pid": pid, "started": started, "used": used, "kind": kind}
    if started:
        fields.update(command=_command(pid, proc), cgroup=_cgroup(pid, proc))
    return fields


def started_at(pid: int, proc: str = "/proc") -> int:
    """Read field 22 of /proc/PID/stat: ticks from boot to start. 0: there is no such process."""
    stat = _read(f"{proc}/{pid}/stat")
    fields = stat[stat.rfind(b")") + 1 :].split()  # the name may hold blanks and brackets
    return int(fields[19]) if len(fields) > 19 else 0  # noqa: PLR2004 # field 22, three are cut


def _command(pid: int, proc: str) -> str:
    """Read its first word, up to NUL: further words may be secrets."""
    line = _read(f"{proc}/{pid}/cmdline")[:_COMMAND_BYTES]
    return line.split(b"\0")[0].decode(errors="replace")


def _cgroup(pid: int, proc: str) -> str:
    """Read its unified cgroup; on a host of the old hierarchy, systemd's."""
    lines = _read(f"{proc}/{pid}/cgroup").decode(errors="replace").splitlines()
    paths = {name: path for _, name, path in (line.split(":", 2) for line in lines)}
    return paths.get("", paths.get("name=systemd", ""))


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""
