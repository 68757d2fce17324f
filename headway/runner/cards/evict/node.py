"""On a node: frees cards of one instance of one guest, whose processes the node alone sees.

Only what lies in that cgroup and holds a card is ended: another engine of the same guest lies in
another one. Done is measured here, where all processes are seen.
"""

from typing import Tuple

from headway.runner.cards.evict.claim import Claim, guest_cgroups
from headway.runner.cards.evict.hands import Hands
from headway.runner.cards.evict.measure import missing, owed
from headway.runner.cards.evict.process import Process
from headway.runner.cards.evict.sight import Sight
from headway.runner.clock import Clock
from headway.wire.cards import Holder
from headway.wire.talk import Free, Freed

FREE_S = 120
_POLL_S = 0.3


def free(order: Free, hands: Hands, clock: Clock) -> Freed:
    """End what holds cards in the guest's cgroup, and say who was ended and who is left."""
    cgroups = guest_cgroups(order.guest, order.cgroup)
    if not cgroups:
        return Freed(sentence=f"{order.cgroup!r} is no cgroup of one unit of guest {order.guest}")
    claim = Claim(cgroups)
    until = clock.boot_ms() + 1000 * order.orders.deadlines_s.get("evict", FREE_S)
    now = hands.sight(claim)
    if not now.cards:
        return Freed(sentence="; ".join(now.trouble) or "the node sees no NVIDIA card")
    before, targets = owed(now, claim, clock.boot_id()), now.holders_of(claim)
    refused = tuple(filter(None, (hands.kill(one, claim.is_ours) for one in targets)))
    left, owing = targets, missing(before, now, claim)
    while (left or owing) and clock.boot_ms() < until:
        clock.sleep(_POLL_S)
        later = hands.sight(claim)
        left, owing = later.holders_of(claim), missing(before, later, claim)
    if not (left or owing):
        return Freed(ended=_holders(targets, now))
    ended = tuple(one for one in targets if one.key not in {other.key for other in left})
    hung = tuple(hands.hangs(one) for one in left)
    why = "; ".join((*refused, *hung, *owing))
    return Freed(_holders(ended, now), _holders(left, now), f"the node needs a reboot: {why}")


def _holders(processes: Tuple[Process, ...], sight: Sight) -> Tuple[Holder, ...]:
    return tuple(
        Holder(one.pid, one.started, sight.bytes_of(one), "compute", one.command, one.cgroup)
        for one in processes
    )
