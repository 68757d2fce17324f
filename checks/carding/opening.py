"""Whether a fresh process in the new environment can open the cards (DESIGN 5, ready)."""

import re
from typing import Any, Dict, List, Sequence, Tuple

from headway.wire.cards import Card, CardsSeen
from headway.wire.evidence import tail
from headway.wire.tools import Ran, Tools
from headway_checks.carding import inside, trying

_OPEN_S = 30  # eight cards without persistence take some seconds to wake
_VERSION = re.compile(r"libcuda\.so\.(\d+\.\d+(?:\.\d+)?)$")


def opened(tools: Tools, seen: CardsSeen, wanted: Sequence[Card]) -> Tuple[List[str], str]:
    """Say what keeps a fresh process from the cards, and what it found where nothing does.

    Without CUDA's library there only NVML was asked, and the second sentence says so.
    """
    allowed_s = max(1, min(_OPEN_S, tools.left_s() - 5))
    ran = trying.inside_unit(tools, ["open"], allowed_s)
    said, _ = inside.results(ran.stdout)
    if not said:
        return [_silent(ran, allowed_s)], ""
    facts = said[0]
    if not facts["library"]:
        return [], f"only NVML was asked: in the new environment there is {facts['trouble']}"
    wrong = _wrong(facts, seen, wanted)
    found = f"a fresh process opens {len(facts.get('cards', ()))} cards by {facts['library']}"
    return ([wrong], "") if wrong else ([], found)


def _silent(ran: Ran, allowed_s: int) -> str:
    if ran.code is None or ran.took_ms >= allowed_s * 1000:
        return f"a fresh process hangs while it opens the cards: no end after {allowed_s} s"
    why = tail("it said", ran.stderr) or ("it said nothing",)
    return f"no fresh process could be started in the new environment: {why[-1]}"


def _wrong(facts: Dict[str, Any], seen: CardsSeen, wanted: Sequence[Card]) -> str:
    if "trouble" in facts:
        return f"a fresh process cannot open the cards: {facts['trouble']}"
    version = _VERSION.search(facts["library"])
    if version and seen.driver and version[1] != seen.driver:
        both = f"{facts['library']} under the kernel module {seen.driver}"
        return f"user space is not the module's: {both}; reboot, or reload the module"
    hidden = [card for card in wanted if card.uuid not in facts["cards"]]
    names = ", ".join(f"{card.index} ({card.uuid})" for card in hidden)
    sees = f"a fresh process sees {len(facts['cards'])} cards"
    return f"{sees}, and not card {names}" if hidden else ""
