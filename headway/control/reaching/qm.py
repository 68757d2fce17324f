"""Into a VM through its node and its guest agent: `qm guest exec`, which carries no stream.

A program there hears all of its input at once, 1 MiB at most, and what it says comes when it has
ended. So what is said piles up here, and whenever an answer is waited for, the program is run anew
with all of it: what it said the time before is skipped. That is enough for what only looks.
"""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol

from headway.control.errors import ConfigError, LostError, UnreachableError
from headway.control.inventory.model import Host, Via
from headway.control.reaching.qm_exec import INPUT_BYTES, Ended, Running
from headway.control.reaching.transport import Received, Stream, Transport
from headway.wire.loader import kind_of
from headway.wire.marks import HELLO_MARK
from headway.wire.talk import Order

CARRIED = frozenset({"look", "recall", "logs", "evict", "diagnose"})
"""The orders that are one question and one answer: nothing has to be said while they last."""


def refuse(host: Host, order: Order) -> None:
    """Raise ConfigError where an order wants a connection that streams and this host's does not."""
    kind = kind_of(type(order))
    if host.via is None or host.via.how != "qm" or kind in CARRIED:
        return
    raise ConfigError(
        host.via.where,
        f"{host.name}: ansible_connection qm carries no {kind}: the guest agent has no stream",
        hint="set ansible_connection: ssh; qm is for facts, evict and diagnose",
    )


class Run(Protocol):
    """A program that hears its input at once, and is waited for (qm_exec.Running)."""

    def ended(self, timeout_s: float) -> Ended | None:
        """Wait for it that long; None while it runs."""
        ...

    def close(self) -> None:
        """Leave it."""
        ...


class Qm:
    """A Transport around its node's: programs are run in the VM by its guest agent, as root."""

    def __init__(self, node: Transport, name: str, via: Via) -> None:
        self._node = node
        self._name = name
        self._via = via

    def converse(self, argv: Sequence[str]) -> Stream:
        """Start a program in the VM: it hears that nothing was said yet."""
        words = list(argv)
        return Repeated(
            lambda said: Running(self._node, self._name, self._via, words, said), self._name
        )

    def close(self) -> None:
        """Leave the node."""
        self._node.close()


class Repeated:
    """A Stream of one run after the other. What comes out is given line by line.

    Lines that nobody has read when something is said again do not count: the program said them
    because its input had ended, and now it has not.
    """

    def __init__(self, run: Callable[[bytes], Run], name: str) -> None:
        self._run = run
        self._name = name
        self._said = bytearray()
        self._given: list[bytes] = []
        self._left: deque[bytes] = deque()
        self._status: int | None = None
        self._met = False
        self._news = False
        self._running: Run | None = run(b"")

    def receive(self, timeout_s: float) -> Received:
        """Give the next line; where there is none, run the program if there is more to tell it."""
        if self._left:
            self._given.append(self._left.popleft())
            return Received(self._given[-1])
        if self._running is None and not self._news:
            return Received(ended=True, status=self._status)
        if self._running is None:
            self._running, self._news = self._run(bytes(self._said)), False
        ended = self._running.ended(timeout_s)
        if ended is None:
            return Received()
        self._running = None
        if not self._news:  # else more was said while it ran
            self._take(ended)
        return Received(stderr=ended.err)

    def send(self, data: bytes) -> None:
        """Say more; UnreachableError where it is more than the guest agent takes."""
        if len(self._said) + len(data) > INPUT_BYTES:
            raise UnreachableError(
                f"{self._name}: over 1 MiB would have to go through qm guest exec, its limit",
                hint="set ansible_connection: ssh",
            )
        self._said += data
        self._news = True
        self._left.clear()

    def finish(self) -> None:
        """Each run hears the end of its input as it is."""

    def close(self) -> None:
        """Leave a run that is under way; it ends by itself, for its input has ended."""
        if self._running is not None:
            self._running.close()

    def _take(self, ended: Ended) -> None:
        """Skip what was given before. A runner's hello begins anew: what brought it is spent."""
        lines = ended.out.splitlines(keepends=True)
        if lines[: len(self._given)] != self._given:
            raise LostError(f"{self._name}: it answered otherwise than a moment ago; try again")
        lines = lines[len(self._given) :]
        hello = next((n for n, line in enumerate(lines) if HELLO_MARK.encode() in line), None)
        if not self._met and hello is not None:
            self._met = True
            self._said.clear()
            self._given.clear()
            lines = lines[hello:]
        self._left = deque(lines)
        self._status = ended.status
