"""What an inventory declares of a class of machines; the gate `ready` holds a machine against it.

Rendering never looks at a host: what depends on its cards and on how they are wired is declared
once for all machines of a class, and a machine that contradicts it is not ready.
"""

from dataclasses import dataclass, field
from typing import Dict, Optional

from headway.wire.loader import Json


@dataclass(frozen=True)
class MachineClass:
    """A class by its name. What is 0, "" or None is not declared, and nothing is held against it.

    `cards` is how many there are, each called `card` and of at least `memory_mib`. `driver` is the
    oldest driver that will do, "580.65". `p2p` is whether the driver grants each card to read and
    write every other one. `nccl` are the variables that NCCL needs on such a machine.
    """

    name: str = ""
    cards: int = 0
    card: str = ""
    memory_mib: int = 0
    driver: str = ""
    p2p: Optional[bool] = None
    nccl: Dict[str, Json] = field(default_factory=dict)
