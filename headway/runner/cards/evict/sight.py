"""One look at the cards and at who holds them, pure: NVML's lists matched with open handles.

NVML's numbers are believed only where /proc shows the same process with a card open: drivers
before 535.113 tell a container the pids of its node, which mean somebody else there.
"""

from dataclasses import dataclass
from typing import Dict, FrozenSet, Iterator, Tuple

from headway.runner.cards.evict.claim import Claim, Side
from headway.runner.cards.evict.process import Key, Process
from headway.wire.cards import Card, Holder
from headway.wire.evidence import shown

_CONTEXT = "/dev/nvidia-uvm"


@dataclass(frozen=True)
class Sight:
    """The cards, the processes that matter, and in `trouble` why something could not be read."""

    cards: Tuple[Card, ...] = ()
    processes: Tuple[Process, ...] = ()
    trouble: Tuple[str, ...] = ()

    def ours(self, claim: Claim) -> Tuple[Process, ...]:
        """Name the processes that must go: whatever lies in a claimed cgroup, card or not."""
        return tuple(one for one in self.processes if claim.is_ours(one))

    def holders_of(self, claim: Claim) -> Tuple[Process, ...]:
        """Name the processes of ours that hold a card, or may: NVML may not know their numbers."""
        return tuple(one for one in self.ours(claim) if self.holds(one) or _CONTEXT in one.devices)

    def strangers(self, claim: Claim) -> Tuple[Process, ...]:
        """Name the processes that hold a card and are neither ours nor a neighbour's."""
        return tuple(
            one for one in self.processes if self.holds(one) and claim.side(one) is Side.FOREIGN
        )

    def holds(self, process: Process) -> bool:
        """Say whether a process holds a card: NVML lists it, and it has one open.

        To have one open says little: whoever asks NVML has, /dev/nvidia-uvm too (driver 580).
        """
        return bool(process.devices) and process.key in self._listed()

    def bytes_of(self, process: Process) -> int:
        """Add up what NVML says a process holds; 0 where it does not say."""
        rows = (h for card in self.cards for h in card.holders)
        return sum(h.used or 0 for h in rows if (h.pid, h.started) == process.key)

    def split(self, claim: Claim) -> Iterator[Tuple[Card, Tuple[Holder, ...], Tuple[Holder, ...]]]:
        """Give each card with the holders that are ours, and all others."""
        ours = {one.key for one in self.ours(claim)}
        for card in self.cards:
            mine = tuple(h for h in card.holders if (h.pid, h.started) in ours)
            yield card, mine, tuple(h for h in card.holders if h not in mine)

    def unexplained(self) -> Dict[str, int]:
        """Give the bytes of each card that no process here holds; no card whose holders hide it."""
        here = {one.key for one in self.processes if one.devices}
        return {
            card.uuid: (card.used or 0)
            - sum(h.used or 0 for h in card.holders if (h.pid, h.started) in here)
            for card in self.cards
            if not any(h.used is None and (h.pid, h.started) in here for h in card.holders)
        }

    def line(self, process: Process) -> str:
        """Word one process with what it holds."""
        held = [
            f"{size(h.used)} of card {card.index}" if h.used is not None else f"card {card.index}"
            for card in self.cards
            for h in card.holders
            if (h.pid, h.started) == process.key
        ]
        what = " and ".join(held) or ", ".join(process.devices) or "no card"
        return shown(f"{process} holds {what}")

    def _listed(self) -> FrozenSet[Key]:
        return frozenset((h.pid, h.started) for card in self.cards for h in card.holders)


def size(count: int) -> str:
    """Write bytes as memory of a card is written."""
    return f"{count / 2**30:.1f} GiB"
