"""The cards a part takes: there, as the inventory says, free of others, and to be opened."""

from dataclasses import dataclass
from typing import List, Optional, Tuple

from headway.wire.cards import CardsSeen
from headway.wire.gate import Subject
from headway.wire.machine_class import MachineClass
from headway.wire.tools import Tools
from headway.wire.unit_text import set_values
from headway_checks.carding import claims, opening, wanted


@dataclass(frozen=True)
class Need:
    """Which cards (by index or UUID, else the first `count`) and how much of each must be free."""

    gpus: Tuple[str, ...]
    count: int
    free_mib: int
    free_percent: int
    machine: MachineClass


def judged(need: Need, subject: Optional[Subject], tools: Tools) -> Tuple[List[str], List[str]]:
    """Say what is lacking, and what was found."""
    seen = tools.cards.look(pairs=True)
    if seen.trouble:
        return list(seen.trouble), []
    values = set_values(tools.part, tools.host.content)
    lacking = [*wanted.lacking(seen, need.gpus, need.count)]
    lacking += claims.contradictions(need.machine, seen, values)
    cards = wanted.chosen(seen, need.gpus, need.count)
    for card in cards:
        lacking += wanted.short_of_room(card, need.free_mib, need.free_percent, subject, tools)
        if card.recovery not in (None, "none"):
            lacking.append(f"card {card.index} asks to be recovered: {card.recovery}")
    shut, found = opening.opened(tools, seen, cards) if tools.part.subject else ([], "")
    return [*lacking, *shut], [_there(seen), *([found] if found else [])]


def _there(seen: CardsSeen) -> str:
    names = ", ".join(dict.fromkeys(card.name for card in seen.cards))
    granted = sum(not claims.refusal(pair) for pair in seen.pairs)
    p2p = f"; the driver grants P2P for {granted} of {len(seen.pairs)} pairs" if seen.pairs else ""
    return f"{len(seen.cards)} cards ({names}), driver {seen.driver}{p2p}"
