"""Processes as /proc shows them, with what tells one from a later one of the same number.

A pid names nobody: the kernel gives it out again. A pid with its start time (field 22 of
/proc/PID/stat, clock ticks since boot) names one process for as long as the machine is up.
"""

import os
from dataclasses import dataclass
from typing import Iterator, List, Optional, Tuple

COMM = 15
"""Characters of a name that the kernel keeps: "VLLM::EngineCor"."""

Key = Tuple[int, int]
_STATE, _FLAGS, _STARTED = 0, 6, 19  # fields 3, 9 and 22 of stat, counted behind the name
_KTHREAD = 0x00200000
_UNIFIED, _NAMED = "", "name=systemd"


@dataclass(frozen=True)
class Process:
    """One process. `devices` are the /dev/nvidia* it has open; `cgroup` is its whole path.

    `state` is the kernel's letter: D waits where no signal reaches, Z has ended. `kernel` is one
    of the kernel's own threads.
    """

    pid: int
    started: int
    name: str
    cgroup: str
    state: str = "S"
    command: str = ""
    devices: Tuple[str, ...] = ()
    kernel: bool = False

    @property
    def key(self) -> Key:
        """Tell it from any other process of this boot."""
        return self.pid, self.started

    @property
    def id(self) -> str:
        """Name it as `--kill` takes it."""
        return f"{self.pid}:{self.started}"

    def __str__(self) -> str:
        return f"pid {self.id} ({self.command or self.name}) in {self.cgroup}"


def lies_in(cgroup: str, above: str) -> bool:
    """Tell whether a cgroup is another one or lies below it: whole names of the path count."""
    return bool(above.strip("/")) and (cgroup + "/").startswith(above.rstrip("/") + "/")


class Processes:
    """Reads /proc; `root` is put before it, "" on a real host."""

    def __init__(self, root: str = "") -> None:
        self._proc = root + "/proc"

    def all(self) -> Iterator[Process]:
        """Give every process that lives."""
        for name in os.listdir(self._proc):
            found = self.of(int(name)) if name.isdigit() else None
            if found is not None:
                yield found

    def of(self, pid: int) -> Optional[Process]:
        """Look at one process; None when it is gone, memory and all.

        A zombie is gone, but not while a thread of it still runs: it may hang in the driver.
        """
        stat = self._read(pid, "stat")
        if not stat:
            return None
        head, _, tail = stat.rpartition(")")
        fields = tail.split()
        state = fields[_STATE]
        if state in "ZX" and len(self._names(pid, "task")) <= 1:
            return None
        return Process(
            pid=pid,
            started=int(fields[_STARTED]),
            name=head.partition("(")[2],
            cgroup=_cgroup(self._read(pid, "cgroup")),
            state=state,
            command=self._read(pid, "cmdline").partition("\0")[0],  # further words may be secrets
            devices=self._devices(pid),
            kernel=bool(int(fields[_FLAGS]) & _KTHREAD),
        )

    def own_cgroup(self) -> str:
        """Say where this very process lies."""
        return _cgroup(self._read("self", "cgroup"))

    def hangs(self, pid: int) -> str:
        """Say where in the kernel a process waits: its state, wchan and stack, as far as seen."""
        rows = self._read(pid, "stack").splitlines()
        calls = [row.split()[-1].partition("+")[0] for row in rows if row.split()]
        wchan = self._read(pid, "wchan").strip("\0\n")
        found = self.of(pid)
        words = [f"state {found.state}"] if found else ["gone by now"]
        words += [f"waits in {wchan}"] if wchan not in ("", "0") else []
        words += [f"stack: {' < '.join(calls)}"] if calls else []
        return ", ".join(words)

    def _devices(self, pid: int) -> Tuple[str, ...]:
        targets = set()
        for name in self._names(pid, "fd"):
            try:
                targets.add(os.readlink(f"{self._proc}/{pid}/fd/{name}"))
            except OSError:
                continue  # closed just now
        return tuple(sorted(path for path in targets if path.startswith("/dev/nvidia")))

    def _names(self, pid: int, folder: str) -> List[str]:
        try:
            return os.listdir(f"{self._proc}/{pid}/{folder}")
        except OSError:
            return []

    def _read(self, pid: object, name: str) -> str:
        try:
            with open(f"{self._proc}/{pid}/{name}", errors="replace") as file:
                return file.read()
        except OSError:
            return ""


def _cgroup(text: str) -> str:
    """Read the path systemd knows: the unified one, or its own of version 1."""
    rows = (row.split(":", 2) for row in text.splitlines() if row.count(":") > 1)
    paths = {controller: path for _, controller, path in rows}
    unified = paths.get(_UNIFIED, "/")
    return unified if unified != "/" else paths.get(_NAMED, unified)
