"""What the child that asks NVML says over its pipe: what it begins, each card, and the rest."""

from dataclasses import dataclass
from typing import Union

from headway.wire.cards import Card, CardsSeen


@dataclass(frozen=True)
class Begun:
    """NVML is being asked for this; said before, so that a hang can be named."""

    what: str


Word = Union[Begun, Card, CardsSeen]
"""A look ends with CardsSeen, which leaves the cards out: they were said before."""
