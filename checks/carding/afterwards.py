"""What this launch's log says of how the cards talk, beside what the driver grants."""

import re
from dataclasses import dataclass
from typing import List, Tuple

from headway.wire import engines
from headway.wire.by_hand import log_argv
from headway.wire.evidence import by_hand, shown, some
from headway.wire.gate import Answered, Judgement, Subject
from headway.wire.tools import Tools
from headway.wire.unit_text import set_values
from headway.wire.verdict import Verdict
from headway_checks.carding.claims import refusal
from headway_checks.carding.transports import Start, start_of

OWN_OFF = "custom_ar_off"
"""The fact in an engine's table that says its own all-reduce is off, and why."""


@dataclass(frozen=True)
class Asked:
    """What is expected of a start: the transport of every pair, and the engine's own all-reduce."""

    via: str
    engine: str
    own: bool


def judged(asked: Asked, subject: Subject, tools: Tools) -> Answered:
    """Give the three answers apart, and FAIL where the second or third is not the expected one."""
    journal = tools.journal.of(subject)
    again = by_hand(log_argv(subject)) + " | grep 'NCCL INFO'"
    if not journal.complete:
        return Judgement(Verdict.INVALID, (f"the log is not whole: {journal.why}", again))
    lines = [line.text for line in journal.lines if line.own]
    start = start_of(lines)
    values = set_values(tools.part, tools.host.content)
    own, off = _own(asked, lines)
    answers = (*granted(tools), *([start.word()] if start.pairs else []), *own, again)
    if not start.pairs and not start.begun:
        return Judgement(Verdict.INVALID, (_silent(values), *answers))
    wrong, findings = _wrong(asked, start, values, off=off)
    if start.hanging() and values.get("PYTHONUNBUFFERED") is None:
        hint = "its last lines may stand in a buffer: set PYTHONUNBUFFERED to 1"
        return Judgement(Verdict.INVALID, (*start.hanging(), hint, *answers))
    verdict = Verdict.FAIL if wrong else Verdict.PASS
    return Judgement(verdict, (*wrong, *answers), (), findings)


def granted(tools: Tools) -> List[str]:
    """Say what the driver grants between each two cards, or why that is not known."""
    seen = tools.cards.look(pairs=True)
    if seen.trouble or not seen.pairs:
        return [f"driver: {one}" for one in seen.trouble] or ["driver: says nothing of pairs"]
    refused = [pair for pair in seen.pairs if refusal(pair)]
    if not refused:
        links = "by NVLink" if all(pair.nvlink == "ok" for pair in seen.pairs) else "by PCIe"
        return [f"driver: grants P2P for all {len(seen.pairs)} ordered pairs, {links}"]
    return [f"driver: {pair.a} -> {pair.b} {refusal(pair)}" for pair in refused]


def _wrong(
    asked: Asked, start: Start, values: "dict[str, str]", *, off: bool
) -> Tuple[List[str], Tuple[str, ...]]:
    """Name what is not as expected, with the findings it belongs to."""
    groups = {
        "nccl-hang": start.hanging(),
        "nccl-not-applied": start.not_taken(values),
        "nccl-not-p2p": start.other_than(asked.via) if asked.via else [],
        "own-all-reduce-off": ["the engine's own all-reduce is off"] if off and asked.own else [],
    }
    found = {name: said for name, said in groups.items() if said}
    wrong = [line for said in found.values() for line in some(said)]
    return wrong, tuple(found)


def _own(asked: Asked, lines: List[str]) -> Tuple[List[str], bool]:
    """Say what the engine's log tells of its own all-reduce, and whether it is off."""
    pattern = engines.engine(asked.engine).pattern(OWN_OFF) if asked.engine else None
    if pattern is None:
        return [], False
    said = [line for line in lines if re.search(pattern.regex, line)]
    if said:
        return [f"{asked.engine}: {shown(said[0])}"], True
    return [f"{asked.engine}: says nothing of its own all-reduce being off"], False


def _silent(values: "dict[str, str]") -> str:
    level = values.get("NCCL_DEBUG", "unset").upper()
    if level not in ("INFO", "TRACE"):
        return f"NCCL_DEBUG is {level.lower()}: set INFO, else NCCL does not say what it uses"
    elsewhere = values.get("NCCL_DEBUG_FILE")
    if elsewhere:
        return f"NCCL logs to {elsewhere}: drop NCCL_DEBUG_FILE"
    return "NCCL said nothing in this launch: no communicator of several cards was made"
