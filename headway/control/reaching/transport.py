"""The seam between a conversation and whatever carries it: SSH, sudo around it, a guest's node.

A Transport starts a program on a host and hands back its Stream. Wrap, do not inherit: sudo is a
Transport around a Transport.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Received:
    """What came since the last look. `ended`: the program is over, and `status` is its exit code.

    `ended` with status None: the connection is gone, and nobody knows about the program.
    """

    stdout: bytes = b""
    stderr: bytes = b""
    ended: bool = False
    status: int | None = None


class Stream(Protocol):
    """A program that runs on a host: what it says, and what it is told."""

    def receive(self, timeout_s: float) -> Received:
        """Wait for the next bytes, the end, or the timeout; nothing received is no error."""
        ...

    def send(self, data: bytes) -> None:
        """Write all of it to the program's standard input, or raise LostError."""
        ...

    def finish(self) -> None:
        """Say that nothing more comes: the program reads the end of its standard input."""
        ...

    def close(self) -> None:
        """Leave the program; closing twice is fine."""
        ...


class Transport(Protocol):
    """A way to one host."""

    def converse(self, argv: Sequence[str]) -> Stream:
        """Start a program there; its words arrive as they are, whatever the login shell is."""
        ...

    def close(self) -> None:
        """Leave the host; closing twice is fine."""
        ...
