"""The phases of a transition and the exit codes a host rests with."""

from enum import Enum, IntEnum
from typing import Iterable


class Phase(str, Enum):
    """Where a host stands; the table of DESIGN 3 says what is durable before each is entered."""

    IDLE = "IDLE"
    OPEN = "OPEN"
    TRYING = "TRYING"
    PROVEN = "PROVEN"
    HELD = "HELD"
    KEEPING = "KEEPING"
    RETURNING = "RETURNING"
    STUCK = "STUCK"


class Exit(IntEnum):
    """Exit codes of verbs; the number is the contract, the name is for people (DESIGN 4)."""

    ACCEPTED = 0
    WENT_BACK = 1
    USAGE = 2
    HELD = 3
    LOCKED = 4
    UNREACHABLE = 5
    UNKNOWN = 6
    STUCK = 7
    REFUSED = 8
    FOUND = 9
    CHANGES = 10


_WORST_FIRST = (
    Exit.STUCK,
    Exit.UNKNOWN,
    Exit.WENT_BACK,
    Exit.UNREACHABLE,
    Exit.USAGE,
    Exit.REFUSED,
    Exit.HELD,
    Exit.LOCKED,
    Exit.FOUND,
    Exit.CHANGES,
    Exit.ACCEPTED,
)


def worst(codes: Iterable[Exit]) -> Exit:
    """Name the code that speaks for several hosts: 7 > 6 > 1 > 5 > 2 > 8 > 3 > 4 > 9 > 10 > 0."""
    return min(codes, key=_WORST_FIRST.index, default=Exit.ACCEPTED)
