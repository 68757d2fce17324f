"""What a part that was stopped left behind: cards it held, processes that run on.

What gets cards back travels apart (headway/runner/cards/evict) and is loaded on a host with cards
alone.
"""

from typing import AbstractSet, Dict, Protocol, Set, Tuple

from headway.runner import satchels, systemd
from headway.runner.clock import Clock
from headway.runner.desk import Desk
from headway.runner.machine import Machine
from headway.runner.teller import Teller
from headway.runner.tools.proc import RealProc
from headway.runner.watch import Watch
from headway.wire.resources import is_container

GONE_S = 15
"""How long a process may take to be gone after SIGKILL; one that takes longer hangs."""
_POLL_S = 0.1

Units = Tuple[str, ...]


class NotFreedError(Exception):
    """Cards could not be got back, and nothing on this host helps: one sentence."""


class Freeing(Protocol):
    """Frees the cards of parts. `others` are all units that are not the part's to stop.

    `killed` are the parts of which it had to kill a process.
    """

    @property
    def killed(self) -> AbstractSet[str]:
        """Name them."""
        ...

    def note(self, part: str, units: Units, others: Units) -> None:
        """Write down what `units` hold, before they are stopped."""
        ...

    def owes(self, part: str) -> bool:
        """Say whether a part that is stopped now has cards to give back."""
        ...

    def free(self, part: str) -> str:
        """Get them back, or raise NotFreedError; says what was done."""
        ...

    def remember(self, part: str, units: Units, others: Units) -> None:
        """Write down who runs, now that the part was proved."""
        ...


class NoCards:
    """A host without cards: nothing to free, but nobody of a part that is stopped runs on.

    vLLM's EngineCore and workers outlive a server that was killed; where a unit lets them
    (KillMode=process) its next start would find them, and say no more than "left-over process".
    """

    def __init__(self, machine: Machine, clock: Clock) -> None:
        self.killed: Set[str] = set()
        self._machine = machine
        self._clock = clock
        self._units: Dict[str, Units] = {}

    def note(self, part: str, units: Units, others: Units) -> None:
        """Write down whom to look for."""
        del others
        self._units[part] = units

    def owes(self, part: str) -> bool:
        """Say whether a process is left in a unit that is down."""
        return any(self._left(unit) for unit in self._units[part])

    def free(self, part: str) -> str:
        """End them by SIGKILL, or raise NotFreedError."""
        said = []
        for unit in self._units[part]:
            left = self._left(unit)
            if left:
                systemd.kill(self._machine.run, unit)
                self.killed.add(part)
                said.append(f"{len(left)} processes outlived {unit} and were killed")
                self._wait_gone(unit)
        return ", ".join(said)

    def remember(self, part: str, units: Units, others: Units) -> None:
        """Nobody is to be remembered."""

    def _wait_gone(self, unit: str) -> None:
        until = self._clock.boot_ms() + 1000 * GONE_S
        while left := self._left(unit):
            if self._clock.boot_ms() > until:
                named = ", ".join(str(pid) for pid in left)
                raise NotFreedError(f"SIGKILL does not end pid {named} of {unit}: reboot")
            self._clock.sleep(_POLL_S)

    def _left(self, unit: str) -> Tuple[int, ...]:
        """Name the processes of a unit that is down; a container's go with it."""
        if is_container(unit):
            return ()
        try:
            seen = systemd.show(self._machine.run, unit, ["ActiveState", "ControlGroup"])
        except systemd.SystemdError:
            return ()  # the start will say it
        cgroup = seen["ControlGroup"]
        if seen["ActiveState"] not in systemd.DOWN or not cgroup.endswith("/" + unit):
            return ()
        return RealProc(self._machine.disk.root).pids(cgroup)


def freeing_of(machine: Machine, tell: Teller, desk: Desk, clock: Clock, watch: Watch) -> Freeing:
    """Give what frees the cards of this machine; NoCards where there are none."""
    if not satchels.has_cards(machine.disk) or satchels.lacking("cards") is not None:
        return NoCards(machine, clock)
    from headway.runner.cards.evict.eviction import Eviction

    return Eviction(machine, tell, desk, clock, watch)
