"""Into a container through its node: `pct exec`, which keeps words and streams as they are.

The node's environment stays out (--keep-env 0): its own default lets it in, and with it whatever
the login there was given.
"""

import time
from collections.abc import Sequence

from headway.control.inventory.model import Via
from headway.control.reaching.guest import explained
from headway.control.reaching.transport import Received, Stream, Transport

SILENT_S = 30.0
"""So long a container may say nothing at first until its node is asked: a backup freezes it."""


class Pct:
    """A Transport around its node's: programs start in the container, as root."""

    def __init__(self, node: Transport, name: str, via: Via) -> None:
        self._node = node
        self._name = name
        self._via = via

    def converse(self, argv: Sequence[str]) -> Stream:
        """Start a program in the container."""
        stream = self._node.converse(exec_argv(self._via.vmid, argv))
        return _Entering(stream, self._node, self._name, self._via)

    def close(self) -> None:
        """Leave the node."""
        self._node.close()


def exec_argv(vmid: int, argv: Sequence[str]) -> list[str]:
    """Wrap a program's words for the node; they pass no shell there."""
    return ["pct", "exec", str(vmid), "--keep-env", "0", "--", *argv]


class _Entering:
    """A stream that finds out from the node why nothing came of it."""

    def __init__(self, inner: Stream, node: Transport, name: str, via: Via) -> None:
        self._inner = inner
        self._node = node
        self._name = name
        self._via = via
        self._spoke = False
        self._ask_at: float | None = None

    def receive(self, timeout_s: float) -> Received:
        """Read on; UnreachableError says why the container cannot be entered."""
        if self._ask_at is None:
            self._ask_at = time.monotonic() + SILENT_S
        got = self._inner.receive(timeout_s)
        self._spoke = self._spoke or bool(got.stdout)
        over = got.ended and got.status not in {None, 0}
        if not self._spoke and (over or time.monotonic() > self._ask_at):
            self._spoke = True  # it is asked once
            why = explained(self._name, self._via, self._node)
            if why is not None:
                raise why
        return got

    def send(self, data: bytes) -> None:
        """Write on."""
        self._inner.send(data)

    def finish(self) -> None:
        """Write no more."""
        self._inner.finish()

    def close(self) -> None:
        """Leave."""
        self._inner.close()
