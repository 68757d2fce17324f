"""What `diagnose` says of a host: what is wrong with it, the likeliest cause first."""

from dataclasses import dataclass
from typing import Tuple


@dataclass(frozen=True)
class Cause:
    """A finding as it is shown: worded, and with what it follows from on this host.

    `about` is the unit, card, path or container, "" the machine. `evidence` are lines as they were
    read, and numbers. `because` names other findings here that explain this one. `command` is typed
    at the fleet where it begins with invoke, else on the host.
    """

    finding: str
    about: str
    sentence: str
    evidence: Tuple[str, ...]
    help: str
    command: str
    because: Tuple[str, ...] = ()


@dataclass(frozen=True)
class Diagnosed:
    """What a host found wrong with itself, likeliest cause first.

    `looked` says what was looked at, a few words each; `unseen` what did not answer in time, and
    why. `took_ms` is what the host spent on it.
    """

    causes: Tuple[Cause, ...]
    looked: Tuple[str, ...]
    unseen: Tuple[str, ...] = ()
    took_ms: int = 0
