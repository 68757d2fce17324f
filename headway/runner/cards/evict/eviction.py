"""Eviction inside a transition: between stop and write, forward and back.

Before a stop it is written down what ours hold, in the transition's folder: a runner that dies
between stop and eviction leaves its successor the same debt. It is void after a reboot.
"""

from dataclasses import replace
from typing import Dict, Optional, Tuple

from headway.runner.cards.evict.claim import Claim
from headway.runner.cards.evict.claiming import cgroups_of, claim_of
from headway.runner.cards.evict.hands import Hands
from headway.runner.cards.evict.ladder import EVICT_S, Ladder
from headway.runner.cards.evict.launches import Launches
from headway.runner.cards.evict.measure import Owed, owed
from headway.runner.clock import Clock
from headway.runner.desk import Desk
from headway.runner.disk import Disk
from headway.runner.machine import Machine
from headway.runner.teller import Teller
from headway.runner.watch import Watch
from headway.wire.loader import WireError, dumps, loads
from headway.wire.record import Transition

_CONTAINER = "/run/systemd/container"  # systemd's own word for what it runs in


def is_guest(disk: Disk) -> bool:
    """Say whether this is an LXC container: processes of its node hold its cards unseen."""
    return (disk.read(_CONTAINER) or b"").strip() == b"lxc"


class Eviction:
    """Frees the cards of the parts of one transition."""

    def __init__(  # noqa: PLR0913, PLR0917 # the seams of a transition
        self,
        machine: Machine,
        tell: Teller,
        desk: Desk,
        clock: Clock,
        watch: Watch,
        transition: Transition,
        hands: Optional[Hands] = None,
    ) -> None:
        self._machine = machine
        self._tell = tell
        self._desk = desk
        self._clock = clock
        self._watch = watch
        self._orders = transition.orders
        self._folder = f"/var/lib/headway/transitions/{transition.id}"
        self._launches = Launches(machine.disk, clock.boot_id())
        self._hands = hands or Hands(machine.run)
        self._debts: Dict[str, Owed] = {}

    def note(self, part: str, units: Tuple[str, ...], others: Tuple[str, ...]) -> None:
        """Before `units` are stopped: write down who they are and what they hold of which card.

        A debt that lies there already is of a runner that died: it is kept.
        """
        claim = self._claim(part, units, others)
        ours = self._hands.processes(claim)
        raise NotImplementedError
