"""32 MiB that are given up only to end a transition, or to go back, on a full disk."""

import os

from headway.runner.disk import Disk
from headway.wire.marks import ROOT

PATH = ROOT + "/ballast"
SIZE = 32 * 1024 * 1024


def put(disk: Disk) -> None:
    """Have the ballast lie there, its blocks really taken, or raise OSError on a full disk."""
    seen = disk.seen(PATH)
    if seen is not None and seen.size == SIZE:
        return
    fd = os.open(disk.real(PATH), os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        os.posix_fallocate(fd, 0, SIZE)
    finally:
        os.close(fd)


def is_full(disk: Disk) -> bool:
    """Say whether less room is left than the ballast takes."""
    return disk.room(PATH).free_bytes < SIZE


def drop_if_full(disk: Disk) -> bool:
    """Give the ballast up when less room than it takes is left; say whether there was any."""
    there = is_full(disk) and disk.seen(PATH) is not None
    if there:
        disk.remove(PATH)
    return there
