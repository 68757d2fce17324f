"""What the child that asks NVML says, as whoever asked reads it (plain.py is how it is said)."""

from dataclasses import dataclass
from typing import Union

from headway.wire.cards import Card, CardsSeen


@dataclass(frozen=True)
class Begun:
    """NVML is being asked for this."""

    what: str


Word = Union[Begun, Card, CardsSeen]
"""A look ends with CardsSeen, which leaves the cards out: they were said before."""
