"""What eviction looks and acts with: /proc, NVML, systemd, and one signal. Tests bring a double."""

from typing import Callable, Tuple

from headway.runner import cards
from headway.runner.cards.evict.claim import Claim, Side
from headway.runner.cards.evict.killing import kill
from headway.runner.cards.evict.process import Process, Processes
from headway.runner.cards.evict.sight import Sight
from headway.wire.cards import CardsSeen
from headway.wire.tools import Run

LOOK_S = 20
_UNIT_S = 10


def _cards() -> CardsSeen:
    return cards.look(pairs=False, deadline_s=LOOK_S)


class Hands:
    """The hands of an eviction on this machine."""

    def __init__(
        self,
        run: Run,
        processes: Processes,
        look: Callable[[], CardsSeen] = _cards,
    ) -> None:
        self._run = run
        self._processes = processes
        self._look = look

    def processes(self, claim: Claim) -> Tuple[Process, ...]:
        """Name the processes that have a card open or are ours; asks no driver."""
        return tuple(
            one
            for one in self._processes.all()
            if one.devices or claim.side(one) is Side.OURS
        )

    def sight(self, claim: Claim) -> Sight:
        """Look at cards and processes; processes last, so that nobody listed is missing here."""
        seen = self._look()
        return Sight(seen.cards, self.processes(claim), seen.trouble)

    def kill(self, process: Process, allowed: Callable[[Process], bool]) -> str:
        """End one process, and no other that came in its place; "" or why not."""
        return kill(process, self._processes.of, allowed)

    def kill_unit(self, unit: str) -> None:
        """Have systemd send SIGKILL to the whole cgroup of a unit; it may not know it any more."""
        self._run(["systemctl", "kill", "--signal=SIGKILL", unit], deadline_s=_UNIT_S)

    def hangs(self, process: Process) -> str:
        """Say where a process hangs."""
        return f"{process}: {self._processes.hangs(process.pid)}"
