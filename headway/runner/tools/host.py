"""The machine, and what of a part is not as its release wants it."""

import os
import sys
from typing import Callable, Dict, Optional, Tuple

from headway.runner import systemd
from headway.runner.machine import Machine
from headway.wire.release import Part
from headway.wire.resources import Blob
from headway.wire.tools import Space

SHOWN = (
    "LoadState",
    "ActiveState",
    "SubState",
    "Result",
    "InvocationID",
    "NRestarts",
    "Restart",
    "FragmentPath",
    "StandardOutput",
    "StandardError",
    "LogNamespace",
)


class RealHost:
    """Looks through the machine; `differences` is what compares a part with what is so."""

    def __init__(self, machine: Machine, differences: Callable[[Part], Tuple[str, ...]]) -> None:
        self.machine = machine
        self._differences = differences

    def differences(self, part: Part) -> Tuple[str, ...]:
        """Say in a sentence each what of this part is not as the release wants it."""
        return self._differences(part)

    def space(self, path: str) -> Space:
        """Measure the free room under a path, or under its nearest folder that exists.

        A file system without a table of inodes (btrfs) has as many as fit.
        """
        while path != "/" and self.machine.disk.seen(path) is None:
            path = os.path.dirname(path)
        found = os.statvfs(self.machine.disk.real(path) or "/")
        inodes = found.f_favail if found.f_files else sys.maxsize
        return Space(path, found.f_bavail * found.f_frsize, inodes)

    def memory_available_bytes(self) -> int:
        """Read MemAvailable; 0 where the kernel does not say."""
        rows = (self.machine.disk.read("/proc/meminfo") or b"").splitlines()
        words = next((row.split() for row in rows if row.startswith(b"MemAvailable:")), [])
        return int(words[1]) * 1024 if words else 0

    def content(self, blob: Blob) -> Optional[bytes]:
        """Read what a file of the release holds; None where this host does not have it whole."""
        return self.machine.blobs.read_if_whole(blob.sha256)

    def unit(self, name: str) -> Dict[str, str]:
        """Read the properties systemd shows of a unit."""
        return systemd.show(self.machine.run, name, SHOWN)
