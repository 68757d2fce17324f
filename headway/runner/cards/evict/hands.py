"""What eviction looks and acts with: /proc, NVML, systemd, and one signal. Tests bring a double."""

from typing import Callable, Optional, Protocol, Tuple

from headway.runner import cards
from headway.runner.cards.evict.claim import Claim
from headway.runner.cards.evict.killing import Allowed, kill
from headway.runner.cards.evict.process import Process, Processes
from headway.runner.cards.evict.sight import Sight
from headway.wire.cards import CardsSeen
from headway.wire.tools import Run

LOOK_S = 20
_UNIT_S = 10


def _cards() -> CardsSeen:
    return cards.look(pairs=False, deadline_s=LOOK_S)


class Hands(Protocol):
    """What an eviction looks and acts with."""

    def ours(self, claim: Claim) -> Tuple[Process, ...]:
        """Name the processes that are ours; asks no driver."""
        ...

    def sight(self, claim: Claim) -> Sight:
        """Look at the cards, and at who has one open or is ours."""
        ...

    def kill(self, process: Process, allowed: Allowed) -> str:
        """End one process, and no other that came in its place; "" or why not."""
        ...

    def kill_unit(self, unit: str) -> None:
        """Send SIGKILL to the whole cgroup of a unit."""
        ...

    def hangs(self, process: Process) -> str:
        """Say where a process hangs."""
        ...


class RealHands:
    """The hands of an eviction on this machine."""

    def __init__(
        self,
        run: Run,
        processes: Optional[Processes] = None,
        look: Callable[[], CardsSeen] = _cards,
    ) -> None:
        self._run = run
        self._processes = processes or Processes()
        self._look = look

    def ours(self, claim: Claim) -> Tuple[Process, ...]:
        """Name the processes that are ours; asks no driver."""
        return tuple(one for one in self._processes.all() if claim.is_ours(one))

    def sight(self, claim: Claim) -> Sight:
        """Look at the cards, and at who has one open or is ours.

        Processes last: whoever NVML listed and is not among them has ended.
        """
        seen = self._look()
        matter = tuple(one for one in self._processes.all() if one.devices or claim.is_ours(one))
        return Sight(seen.cards, matter, seen.trouble)

    def kill(self, process: Process, allowed: Allowed) -> str:
        """End one process, and no other that came in its place; "" or why not."""
        return kill(process, self._processes.of, allowed)

    def kill_unit(self, unit: str) -> None:
        """Have systemd send SIGKILL to the whole cgroup of a unit; it may not know it any more."""
        self._run(["systemctl", "kill", "--signal=SIGKILL", unit], deadline_s=_UNIT_S)

    def hangs(self, process: Process) -> str:
        """Say where a process hangs."""
        return f"{process}: {self._processes.hangs(process.pid)}"
