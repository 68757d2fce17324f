"""The cards as NVML shows them; the module that asks it travels apart and is loaded late."""

from typing import Callable

from headway.runner import satchels
from headway.wire.cards import CardsSeen


class RealCards:
    """Looks through a child that is ended where the driver hangs."""

    def __init__(self, left_s: Callable[[], int]) -> None:
        self.left_s = left_s

    def look(self, *, pairs: bool = False) -> CardsSeen:
        """Read every card now; `pairs` adds what the driver grants between them."""
        if satchels.lacking("cards") is not None:
            return CardsSeen(trouble=("this runner came without what reads cards",))
        from headway.runner.cards import look

        return look(pairs=pairs, deadline_s=self.left_s())
