"""What an engine counts of itself right now, as status shows it: no gate, it judges nothing."""

import time
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Optional

from headway.wire.gate import Subject
from headway.wire.talk import Serving
from headway.wire.tools import Tools, Unreached
from headway_checks.asking.answers import Settled
from headway_checks.asking.counters import total
from headway_checks.asking.service import OK, Service, meet

ANSWER_S = 2
"""Status waits so long for an engine; one that takes longer is told as silent."""


@dataclass(frozen=True)
class Numbers:
    """What was read once, and what is needed to read again how far the engine went since."""

    serving: Serving
    service: Optional[Service] = None
    generated: Optional[Decimal] = None
    at_s: float = 0.0


def read(tools: Tools, subject: Optional[Subject], engine: str) -> Numbers:
    """Read an engine's counters once; where that cannot be done, the sentence says why."""
    try:
        service = meet(tools, subject, engine)
        page = _page(service)
    except Settled as settled:
        evidence = getattr(settled.answer, "evidence", ())
        return Numbers(Serving(engine, sentence="".join(evidence[:1])))
    except Unreached as error:
        return Numbers(Serving(engine, sentence=str(error)))
    if not page:
        return Numbers(Serving(engine))  # it answers, and was not told to show what it counts
    running, waiting, full = (_count(service, page, it) for it in ("running", "waiting", "kv_use"))
    found = Serving(engine, _whole(running), _whole(waiting), _whole(full, 1000), 0)
    return Numbers(found, service, _count(service, page, "generated"), time.monotonic())


def rated(before: Numbers) -> Serving:
    """Read once more, and add the tokens/s between the two; None where that is not counted."""
    if before.service is None:
        return before.serving
    try:
        now = _count(before.service, _page(before.service), "generated")
    except Unreached:
        now = None
    rate = None
    if now is not None and before.generated is not None:
        rate = int((now - before.generated) / Decimal(str(time.monotonic() - before.at_s)))
    return replace(before.serving, tokens_s=rate)


def _page(service: Service) -> bytes:
    answer = service.ask("metrics", timeout_s=ANSWER_S)
    return answer.body if answer.status == OK else b""


def _count(service: Service, page: bytes, meaning: str) -> Optional[Decimal]:
    return total(page, service.table.counters.get(meaning, ()))


def _whole(number: Optional[Decimal], times: int = 1) -> Optional[int]:
    return None if number is None else int(number * times)
