"""Which of a machine's cards a part takes, and who else holds what it needs of them."""

from typing import List, Optional, Sequence, Tuple

from headway.wire.cards import Card, CardsSeen, Holder
from headway.wire.evidence import shown
from headway.wire.gate import Subject
from headway.wire.tools import Tools

_MIB = 1024 * 1024


def chosen(seen: CardsSeen, named: Sequence[str], count: int) -> Tuple[Card, ...]:
    """Give the cards that are named, by index or UUID, else the first `count`, else all.

    An index counts as in nvidia-smi: roles set CUDA_DEVICE_ORDER=PCI_BUS_ID, so that CUDA counts
    the same way.
    """
    if named:
        return tuple(card for card in seen.cards if {str(card.index), card.uuid} & set(named))
    return seen.cards[:count] if count else seen.cards


def lacking(seen: CardsSeen, named: Sequence[str], count: int) -> List[str]:
    """Say which cards are wanted and not there."""
    there = {name for card in seen.cards for name in (str(card.index), card.uuid)}
    gone = [f"card {name} is not on this machine" for name in named if name not in there]
    short = not named and len(seen.cards) < count
    return [*gone, *([f"{len(seen.cards)} cards, {count} are needed"] if short else [])]


def short_of_room(
    card: Card, need_mib: int, need_percent: int, subject: Optional[Subject], tools: Tools
) -> List[str]:
    """Say what a card lacks once all that leaves has left, and who holds it; [] where it will do.

    What the part itself, and what leaves with this transition, holds comes free: it is stopped,
    and evicted if need be. Who says not how much it holds is taken to give enough.
    """
    need = max(need_mib * _MIB, (card.total or 0) * need_percent // 100)
    leaving = [one for one in card.holders if _leaves(one, subject, tools)]
    if card.free is None or any(one.used is None for one in leaving):
        return []
    free = card.free + sum(one.used or 0 for one in leaving)
    if free >= need:
        return []
    said = f"card {card.index} will have {free // _MIB} MiB free, {need // _MIB} MiB are needed"
    others = [one for one in card.holders if one not in leaving]
    if not others:
        hidden = "what holds the rest is not seen from here: look at it from the node"
        return [said, hidden if (card.used or 0) > free else "nothing else holds it"]
    return [said, *(f"  held by {foreign(one)}" for one in others)]


def foreign(holder: Holder) -> str:
    """Name a holder that is not ours, and what a person would type to have it ended."""
    size = "an unknown amount" if holder.used is None else f"{holder.used // _MIB} MiB"
    who = f"pid {holder.pid} ({shown(holder.command)}) in {holder.cgroup or '/'}: {size}"
    if not holder.started:
        return f"{who}; it is no process of this namespace, so it cannot be ended from here"
    return f"{who}; to have it ended: --kill {holder.name()}"


def _leaves(holder: Holder, subject: Optional[Subject], tools: Tools) -> bool:
    """Say whether a holder lies in the part's own unit, or in one that is stopped first."""
    spec = tools.part.subject
    own = [subject.cgroup] if subject else []
    own += [f"/system.slice/{spec.unit}"] if spec else []
    path = holder.cgroup + "/"
    return any(path.startswith(one.rstrip("/") + "/") for one in (*own, *tools.leaving) if one)
