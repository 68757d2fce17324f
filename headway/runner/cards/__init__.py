"""The NVIDIA cards of this machine; all that asks the driver is below here and travels apart."""

from headway.runner.cards.asker import Asker
from headway.wire.cards import CardsSeen

_ASKER = Asker()


def look(*, pairs: bool, deadline_s: int) -> CardsSeen:
    """Read every card now, or say in `trouble` why not; never later than the deadline.

    `pairs` adds what lies between the cards, and what only their own firmware knows of them.
    """
    return _ASKER.look(pairs=pairs, deadline_s=deadline_s)
