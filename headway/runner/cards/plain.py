"""What the child that asks NVML says over its pipe: words as plain values, a line of JSON each.

Whoever asked loads them as words.Word. The child itself loads neither dataclasses nor typing, nor
does anything that it imports: with them its start took longer than eight cards take to be read.
So TYPE_CHECKING is spelled out in these modules, which type checkers know by its name.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict

    from headway.runner.cards.nvml import Said

    Fields = Dict[str, Said]
    """Fields of Card, Holder, Pair or CardsSeen (wire.cards) by name; absent is not said."""


def begun(what: str) -> Fields:
    """Say that NVML is being asked for this; said before, so that a hang can be named."""
    return {"begun": {"what": what}}


def card(fields: Fields) -> Fields:
    """Say one card."""
    return {"card": fields}


def rest(**fields: Said) -> Fields:
    """End a look with all that is no card: fields of CardsSeen."""
    return {"cards_seen": fields}
