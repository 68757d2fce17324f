"""The conversation's two ends: lines of JSON, and raw bytes after a Bytes line."""

import os
import select
from typing import List, Optional

from headway.wire.loader import line, load, parse
from headway.wire.talk import Bytes, FromController, FromHost

_CHUNK = 1 << 16


class Channel:
    """Reads the controller and writes to it over two file descriptors.

    `supplies` says whether its other end has what this runner may want beside itself.
    """

    supplies = True

    def __init__(self, heard: bytes = b"", source: int = 0, sink: int = 1) -> None:
        self.source = source
        self.sink = sink
        self._read = bytearray(heard)
        self._later: List[FromController] = []
        self.open = True

    def say(self, value: FromHost) -> None:
        """Write one line; a controller that is gone hears nothing, and that is all."""
        left = memoryview(line(value))
        try:
            while left:
                left = left[os.write(self.sink, left) :]
        except OSError:
            self.open = False

    def hear(self, wait_s: Optional[float] = None) -> Optional[FromController]:
        """Read one line: None when the controller is gone, or silent for `wait_s` seconds."""
        if self._later:
            return self._later.pop(0)
        return self._next(wait_s)

    def parcel(self) -> Optional[bytes]:
        """Read what a Bytes line announces; what is said before it is heard afterwards.

        None when the controller is gone; fewer bytes where it goes in the middle of them.
        """
        while True:
            heard = self._next(None)
            if heard is None:
                return None
            if isinstance(heard, Bytes):
                return self.raw(heard.size)
            self._later.append(heard)

    def _next(self, wait_s: Optional[float]) -> Optional[FromController]:
        while b"\n" not in self._read:
            if not self._fill(wait_s):
                return None
        row, _, rest = bytes(self._read).partition(b"\n")
        self._read = bytearray(rest)
        heard: FromController = load(FromController, parse(row))  # type: ignore[arg-type]
        return heard

    def raw(self, size: int) -> bytes:
        """Read the bytes that follow a Bytes line; fewer when the controller is gone."""
        while len(self._read) < size and self._fill(None):
            pass
        data = bytes(self._read[:size])
        del self._read[:size]
        return data

    def _fill(self, wait_s: Optional[float]) -> bool:
        if not self.open:
            return False
        if wait_s is not None and not select.select([self.source], [], [], wait_s)[0]:
            return False
        chunk = os.read(self.source, _CHUNK)
        if not chunk:
            self.open = False
            return False
        self._read += chunk
        return True
