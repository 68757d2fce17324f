"""The kernel's log since boot, seconds after boot by line; from its ring, else from the journal."""

import errno
import os
import re
import stat
from typing import Iterator, List, Optional, Tuple

from headway.runner.disk import Disk
from headway.wire.tools import Run

RING = "/dev/kmsg"
CONTAINER = "/run/systemd/container"
_RING_DEVICE = os.makedev(1, 11)  # in a container the name may stand for its console
_READ_BYTES = 1 << 16
_RECORD = re.compile(r"^\d+,(\d+),(\d+),[^;]*;(.*)$", re.MULTILINE)
_FIRST = "Linux version"  # begins every boot: where it stands, the log is whole
_JOURNAL = [
    *("journalctl", "--dmesg", "--boot", "--no-pager", "--quiet"),
    *("--output", "short-monotonic", "--grep"),
]
DRIVER = "NVRM"
_JOURNALED = re.compile(r"^\[ *(\d+)\.\d+\] \S+ kernel: (.*)$", re.MULTILINE)
_JOURNAL_S = 10
Lines = List[Tuple[int, str]]


def kernel_log(
    disk: Disk, run: Run, pattern: str = DRIVER, deadline_s: int = _JOURNAL_S
) -> Tuple[Lines, str]:
    """Give the lines of a pattern and all others that are at hand, and "" or why some are missing.

    The pattern is asked of the journal where the ring is not at hand: the driver's lines.
    """
    ring = _ring(disk)
    if ring is not None and ring[1]:
        return ring[0], ""
    argv = [*_JOURNAL, f"{pattern}|{_FIRST}"]
    said = run(argv, deadline_s=deadline_s).stdout.decode(errors="replace")
    kept = [(int(at_s), text) for at_s, text in _JOURNALED.findall(said)]
    if any(text.startswith(_FIRST) for _, text in kept):
        return kept, ""
    if ring is not None:
        return ring[0], "only the newest lines are left: the kernel's ring has wrapped"
    if disk.seen(CONTAINER) is not None:
        return kept, "not visible from here: it is the node's"
    return kept, f"not visible from here: {RING} cannot be read, and the journal lacks it"


def _ring(disk: Disk) -> Optional[Tuple[Lines, bool]]:
    """Read the ring of records, and say whether it still begins with the boot's first."""
    try:
        fd = os.open(disk.real(RING), os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        seen = os.fstat(fd)
        if stat.S_ISCHR(seen.st_mode) and seen.st_rdev != _RING_DEVICE:
            return None
        text = b"".join(_reads(fd)).decode(errors="replace")
    except OSError:
        return None
    finally:
        os.close(fd)
    records = _RECORD.findall(text)
    lines = [(int(at_us) // 1_000_000, words) for _, at_us, words in records]
    return lines, bool(records) and records[0][0] == "0"


def _reads(fd: int) -> Iterator[bytes]:
    """Read record by record until there is none for now."""
    while True:
        try:
            data = os.read(fd, _READ_BYTES)
        except OSError as error:
            if error.errno == errno.EPIPE:  # overwritten while we read: go on with the next
                continue
            if error.errno == errno.EAGAIN:
                return
            raise
        if not data:
            return
        yield data
