"""The cards of a part that was stopped: how a transition gets them back, where there are any.

What does it travels apart (headway/runner/cards/evict) and is loaded on a host with cards alone.
"""

from typing import AbstractSet, Protocol, Tuple

from headway.runner import satchels
from headway.runner.clock import Clock
from headway.runner.desk import Desk
from headway.runner.machine import Machine
from headway.runner.teller import Teller
from headway.runner.watch import Watch

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
    """A host without cards: nothing to free, and nothing to pay for it."""

    killed: AbstractSet[str] = frozenset()

    def note(self, part: str, units: Units, others: Units) -> None:
        """Nothing is held."""

    def owes(self, part: str) -> bool:
        """Nothing is owed."""
        del part
        return False

    def free(self, part: str) -> str:
        """Nothing is to be done."""
        del part
        return ""

    def remember(self, part: str, units: Units, others: Units) -> None:
        """Nobody is to be remembered."""


def freeing_of(machine: Machine, tell: Teller, desk: Desk, clock: Clock, watch: Watch) -> Freeing:
    """Give what frees the cards of this machine; NoCards where there are none."""
    if not satchels.has_cards(machine.disk) or satchels.lacking("cards") is not None:
        return NoCards()
    from headway.runner.cards.evict.eviction import Eviction

    return Eviction(machine, tell, desk, clock, watch)
