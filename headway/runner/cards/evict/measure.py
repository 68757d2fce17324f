"""Whether the memory is back, pure: bytes of each card before the stop against bytes now.

Gone processes prove nothing: a driver may unwind for minutes (FIELD 3.1). The bytes that NVML
counted for ours must be free again, 95 % of them on each card, and what others took or gave
meanwhile is accounted for.
"""

from dataclasses import dataclass, field
from typing import Dict, Tuple

from headway.runner.cards.evict.claim import Claim
from headway.runner.cards.evict.sight import Sight, size

BACK_PERCENT = 95
SLACK = 1 << 30
"""Bytes of a card that nobody needs to explain: contexts round up, drivers keep some."""


@dataclass(frozen=True)
class Owed:
    """What ours held of each card, by UUID, before they were stopped; bytes.

    `others` is what NVML counted for everybody else. `lines` say who it was. `boot_id` voids it.
    `blind`: NVML named numbers that are nobody here, so it may not know ours either.
    """

    boot_id: str
    ours: Dict[str, int] = field(default_factory=dict)
    used: Dict[str, int] = field(default_factory=dict)
    others: Dict[str, int] = field(default_factory=dict)
    lines: Tuple[str, ...] = ()
    blind: bool = False


def owed(sight: Sight, claim: Claim, boot_id: str) -> Owed:
    """Note what ours hold now."""
    ours: Dict[str, int] = {}
    used: Dict[str, int] = {}
    others: Dict[str, int] = {}
    for card, mine, rest in sight.split(claim):
        ours[card.uuid] = sum(h.used or 0 for h in mine)
        others[card.uuid] = sum(h.used or 0 for h in rest)
        used[card.uuid] = card.used or 0
    lines = tuple(sight.line(one) for one in sight.holders_of(claim))
    blind = any(not h.started for card in sight.cards for h in card.holders)
    return Owed(boot_id, ours, used, others, lines, blind)


def missing(before: Owed, now: Sight, claim: Claim) -> Tuple[str, ...]:
    """Say what is not back yet, a sentence a card; () is all of it."""
    found = []
    seen = {card.uuid: (card, rest) for card, _, rest in now.split(claim)}
    for uuid, held in before.ours.items():
        if not held:
            continue
        if uuid not in seen or seen[uuid][0].used is None:
            found.append(f"card {uuid} is not seen any more: {'; '.join(now.trouble)}")
            continue
        card, rest = seen[uuid]
        grown = sum(h.used or 0 for h in rest) - before.others[uuid]
        back = before.used[uuid] - (card.used or 0) + grown
        if 100 * back < BACK_PERCENT * held:
            found.append(f"card {card.index}: {size(max(back, 0))} of {size(held)} are back")
    return tuple(found)


def excess(now: Sight, idle: Dict[str, int]) -> Tuple[str, ...]:
    """Say on which cards more is held by nobody than when the release was accepted (`idle`)."""
    unexplained = now.unexplained()
    return tuple(
        f"card {card.index}: {size(unexplained[card.uuid])} are used, and no process is to be seen"
        for card in now.cards
        if unexplained.get(card.uuid, 0) > idle.get(card.uuid, 0) + SLACK
    )
