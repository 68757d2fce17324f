"""The NVIDIA cards of this machine; all that asks the driver is below here and travels apart."""

from __future__ import annotations

TYPE_CHECKING = False  # plain.py says why not typing's
if TYPE_CHECKING:
    from headway.wire.cards import CardsSeen


def ask_ahead(*, pairs: bool) -> None:
    """Let NVML be asked while something else is done; the next look of this kind is shorter."""
    from headway.runner.cards.asker import ASKER

    ASKER.ask_ahead(pairs=pairs)


def look(*, pairs: bool, deadline_s: int) -> CardsSeen:
    """Read every card now, or say in `trouble` why not; never later than the deadline.

    `pairs` adds what lies between the cards, and what only their own firmware knows of them.
    """
    from headway.runner.cards.asker import ASKER  # the child, which is of this package, lacks it

    return ASKER.look(pairs=pairs, deadline_s=deadline_s)
