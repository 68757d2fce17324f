"""`history`: the fleet's past rollouts, or with --host what the hosts themselves recorded."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from headway.control.desk import Desk
from headway.control.errors import HeadwayError
from headway.control.telling import history
from headway.control.telling.amounts import ago
from headway.control.telling.table import table
from headway.wire.event import Event, Rested
from headway.wire.phase import Exit
from headway.wire.talk import Look, Looked


@dataclass(frozen=True)
class HostHistory:
    """How one transition of a host came to rest, as the host recorded it."""

    host: str
    transition: str
    at_ms: int
    outcome: str
    release: str
    exit_code: int
    sentence: str


def show(desk: Desk, last: int) -> Exit:
    """Show the newest entries, newest first; the host's own record is asked for by --host."""
    return _of_hosts(desk, last) if desk.patterns else _of_fleet(desk, last)


def _of_fleet(desk: Desk, last: int) -> Exit:
    try:
        rollouts = history.past(history.path_of(desk.fleet), last)
    except OSError as error:
        raise HeadwayError(
            str(error), hint="the hosts have their own record: invoke history --host NAME"
        ) from None
    if desk.json:
        desk.rows(rollouts)
    else:
        desk.print(fleet_text(rollouts, int(time.time() * 1000), desk.width))
    return Exit.ACCEPTED


def fleet_text(rollouts: Sequence[history.PastRollout], now_ms: int, width: int = 0) -> str:
    """Draw past rollouts, a line a host."""
    rows = [
        (
            ago(now_ms - rollout.at_ms),
            rollout.id,
            rollout.verb,
            host.host,
            host.outcome or ("not heard" if rollout.exit_code is None else "not touched"),
            host.release,
            rollout.by,
            host.sentence,
        )
        for rollout in rollouts
        for host in rollout.hosts
    ]
    header = ("AGO", "ID", "VERB", "HOST", "ENDED", "RELEASE", "BY", "SAYS")
    return table(header, rows, width) if rows else "nothing is recorded yet"


def _of_hosts(desk: Desk, last: int) -> Exit:
    answers = desk.looked(Look(history=True))
    found = [
        entry
        for host, answer in answers.items()
        if isinstance(answer, Looked)
        for entry in list(entries(host, answer.history))[:last]
    ]
    if desk.json:
        desk.rows(found)
    elif any(isinstance(answer, Looked) for answer in answers.values()):
        desk.print(host_text(found, int(time.time() * 1000), desk.width))
    return desk.missed(answers)


def entries(host: str, events: Sequence[Event]) -> Iterator[HostHistory]:
    """Read the last words of transitions, in the order they are given."""
    for event in events:
        if isinstance(event.body, Rested):
            rested = event.body
            yield HostHistory(
                host,
                event.transition,
                event.at_ms,
                rested.outcome,
                rested.accepted,
                rested.exit_code,
                rested.sentence,
            )


def host_text(found: Sequence[HostHistory], now_ms: int, width: int = 0) -> str:
    """Draw what hosts recorded, a line a transition."""
    rows = [
        (one.host, ago(now_ms - one.at_ms), one.transition, one.outcome, one.release, one.sentence)
        for one in found
    ]
    header = ("HOST", "AGO", "TRANSITION", "ENDED", "RELEASE", "SAYS")
    return table(header, rows, width) if rows else "nothing is recorded yet"
