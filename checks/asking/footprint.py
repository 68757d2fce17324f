"""What memory one launch takes: its processes' of the machine, and of the cards."""

from dataclasses import dataclass
from typing import Iterator, List, Optional

from headway.wire.gate import Subject
from headway.wire.tools import Tools

_KIB = 1024


@dataclass(frozen=True)
class Footprint:
    """Bytes at one time, of all processes of a launch; None where nobody says."""

    at_us: int
    resident: Optional[int]
    on_cards: Optional[int]


def footprint(tools: Tools, subject: Subject, at_us: int) -> Footprint:
    """Add up VmRSS of its whole cgroup, and what of the cards its processes hold."""
    held = [
        holder.used
        for card in tools.cards.look().cards
        for holder in card.holders
        if holder.used is not None and _within(holder.cgroup, subject.cgroup)
    ]
    resident = list(_resident(tools, subject))
    return Footprint(at_us, sum(resident) if resident else None, sum(held) if held else None)


def _resident(tools: Tools, subject: Subject) -> Iterator[int]:
    for pid in tools.proc.pids(subject.cgroup):
        words: List[str] = tools.proc.status(pid).get("VmRSS", "").split()
        if words and words[0].isdigit():
            yield int(words[0]) * _KIB


def _within(cgroup: str, outer: str) -> bool:
    return bool(outer.strip("/")) and (cgroup + "/").startswith(outer.rstrip("/") + "/")
