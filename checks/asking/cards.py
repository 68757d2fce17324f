"""The fullest that the cards were while an engine was asked."""

import threading
from typing import TYPE_CHECKING, Dict, Tuple

from headway.wire.tools import Cards

if TYPE_CHECKING:
    from headway.wire.cards import Card

_EVERY_S = 1.0


class Peak:
    """Looks at the cards every second in a thread; where there is none, it looks once.

    `cards` are they by their index, each as it was when most of its memory was used.
    """

    def __init__(self, cards: Cards) -> None:
        self.cards: Dict[int, Card] = {}
        self.trouble: Tuple[str, ...] = ()
        self._looking = cards
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> "Peak":  # noqa: PYI034 # Self is newer than the hosts' Python
        self._take()
        if self.cards:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self.cards:
            self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(_EVERY_S):
            self._take()

    def _take(self) -> None:
        seen = self._looking.look()
        self.trouble = seen.trouble
        for card in seen.cards:
            known = self.cards.get(card.index)
            if known is None or (card.used or 0) > (known.used or 0):
                self.cards[card.index] = card
