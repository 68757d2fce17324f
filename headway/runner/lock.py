"""The host's lock: one writer at a time, by flock, so that a dead holder holds nothing."""

import fcntl
import os
from typing import Optional, Type

from headway.runner.clock import Clock
from headway.runner.disk import Disk
from headway.wire.marks import ROOT

PATH = ROOT + "/lock"
_POLL_S = 0.2


class LockedError(Exception):
    """Somebody else holds this host."""


class HostLock:
    """Holds the lock as a context manager; waits `wait_s` for it, by default not at all."""

    def __init__(self, disk: Disk, clock: Clock, wait_s: int = 0) -> None:
        self._path = disk.real(PATH)
        self._clock = clock
        self._wait_s = wait_s
        self._fd = -1

    def __enter__(self) -> None:
        self._fd = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        until = self._clock.boot_ms() + self._wait_s * 1000
        while not self._try():
            if self._clock.boot_ms() >= until:
                os.close(self._fd)
                raise LockedError("another transition holds this host")
            self._clock.sleep(_POLL_S)

    def __exit__(self, kind: Optional[Type[BaseException]], *_: object) -> None:
        os.close(self._fd)

    def _try(self) -> bool:
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
