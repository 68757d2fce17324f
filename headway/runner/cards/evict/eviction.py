"""Eviction inside a transition: between stop and write, forward and back.

Before a stop it is written down what ours hold, in the transition's folder: a runner that dies
between stop and eviction leaves its successor the same debt. It is void after a reboot.
"""

from dataclasses import dataclass
from functools import partial
from typing import Dict, Optional, Set, Tuple

from headway.runner.cards.evict.claim import Claim
from headway.runner.cards.evict.claiming import claim_of
from headway.runner.cards.evict.hands import LOOK_S, Hands, RealHands
from headway.runner.cards.evict.ladder import EVICT_S, Ladder
from headway.runner.cards.evict.launches import Launches
from headway.runner.cards.evict.measure import Owed, owed
from headway.runner.cards.evict.sight import Sight
from headway.runner.clock import Clock
from headway.runner.desk import Desk
from headway.runner.disk import Disk
from headway.runner.machine import Machine
from headway.runner.supervisor_error import SupervisorError
from headway.runner.teller import Teller
from headway.runner.watch import Watch
from headway.wire.loader import WireError, dumps, loads

NOBODY = "nobody answered for the node"
CONTAINER = "/run/systemd/container"  # systemd's own word for what it runs in


def is_guest(disk: Disk) -> bool:
    """Say whether this is an LXC container: processes of its node hold its cards unseen."""
    return (disk.read(CONTAINER) or b"").strip() == b"lxc"


class Eviction:
    """Frees the cards of the parts of one transition; `killed` are those that took a kill."""

    def __init__(  # noqa: PLR0913, PLR0917 # the seams of a transition
        self,
        machine: Machine,
        tell: Teller,
        desk: Desk,
        clock: Clock,
        watch: Watch,
        hands: Optional[Hands] = None,
    ) -> None:
        self._machine = machine
        self._tell = tell
        self._desk = desk
        self._clock = clock
        self._watch = watch
        self._launches = Launches(machine.disk, clock.boot_id())
        self._hands = hands or RealHands(machine.run)
        self._debts: Dict[str, _Debt] = {}
        self.killed: Set[str] = set()

    def note(self, part: str, units: Tuple[str, ...], others: Tuple[str, ...]) -> None:
        """Write down who `units` are and what they hold of which card, before they are stopped.

        A debt that lies there already is of a runner that died: it is kept.
        """
        claim = self._claim(part, units, others)
        ours = self._hands.ours(claim)
        if not any(one.devices for one in ours) and self._launches.of(part) is None:
            return  # nothing of this part ever held a card
        self._launches.keep(part, claim.cgroups, ours)
        debt = self._left_behind(part)
        if debt is None:
            debt = owed(self._hands.sight(claim), claim, self._clock.boot_id())
            self._keep(part, debt)
        self._debts[part] = _Debt(claim, debt, self._clock.boot_ms())

    def owes(self, part: str) -> bool:
        """Say whether a part that is stopped now has cards to give back."""
        return part in self._debts

    def free(self, part: str) -> str:
        """Get the cards back, or raise NotFreedError; says what was done, and who else is there."""
        debt = self._debts.pop(part)
        orders = self._tell.records.transition(self._tell.transition).orders
        limit_s = orders.deadlines_s.get("evict", EVICT_S)
        self._watch.expect(limit_s + 2 * LOOK_S)
        recorded = self._launches.of(part)
        guest = is_guest(self._machine.disk)
        held = any(debt.owed.ours.values()) or debt.owed.blind
        ladder = Ladder(
            hands=self._hands,
            claim=debt.claim,
            part=part,
            tell=self._tell,
            clock=self._clock,
            until_ms=self._clock.boot_ms() + 1000 * limit_s,
            may_kill=orders.may_kill,
            node=partial(self._ask, part) if guest else None,
            idle=(recorded.idle if recorded else {}) or ({} if guest and held else None),
        )
        done = ladder.climb(debt.owed, debt.at_ms)
        self.killed.update({part} if ladder.killed else ())
        self._machine.disk.remove(self._path(part))
        return done

    def remember(self, part: str, units: Tuple[str, ...], others: Tuple[str, ...]) -> None:
        """Write down who runs now that a part was proved, and what of the cards nobody explains."""
        claim = self._claim(part, units, others)
        held = any(one.devices for one in self._hands.ours(claim))
        sight = self._hands.sight(claim) if held else Sight()
        if sight.ours(claim):
            told = any(sight.bytes_of(one) for one in sight.ours(claim))
            idle = sight.unexplained() if told else {}
            self._launches.keep(part, claim.cgroups, sight.ours(claim), idle)

    def _claim(self, part: str, units: Tuple[str, ...], others: Tuple[str, ...]) -> Claim:
        """Claim a part's processes; nothing where systemd does not answer: the stop will say so."""
        self._watch.expect(3 * LOOK_S)
        try:
            return claim_of(self._machine, units, others, self._launches.of(part))
        except SupervisorError:
            return Claim()

    def _ask(self, part: str, detail: str, limit_s: int) -> str:
        return self._desk.ask("evict", part, detail, limit_s, NOBODY)

    def _left_behind(self, part: str) -> Optional[Owed]:
        data = self._machine.disk.read(self._path(part))
        try:
            found = loads(Owed, data) if data else None
        except WireError:
            return None
        return found if found is not None and found.boot_id == self._clock.boot_id() else None

    def _keep(self, part: str, debt: Owed) -> None:
        """Write a debt down; best effort, for a full disk must not stop the way back."""
        data = dumps(debt).encode() + b"\n"
        try:
            self._machine.disk.write(self._path(part), data, 0o600, *self._machine.disk.me())
        except OSError:
            return

    def _path(self, part: str) -> str:
        return f"{self._tell.records.folder(self._tell.transition)}/owed-{part}.json"


@dataclass(frozen=True)
class _Debt:
    claim: Claim
    owed: Owed
    at_ms: int
