"""A person's wish to the transition in hand, answered with the phase it is in."""

from typing import Dict, Optional, Sequence, Tuple

from headway.runner import follow, launch
from headway.runner.desk import CONFIRM
from headway.runner.orders.session import Session
from headway.runner.systemd import SystemdError
from headway.wire.event import Answer, Asked, Event, Replied, Rested
from headway.wire.phase import Exit, Phase
from headway.wire.record import State
from headway.wire.talk import Done, FromHost, Request, Said, Trouble

_AT_REST = (Phase.HELD, Phase.STUCK)
_TOO_LATE: Dict[Tuple[str, Phase], str] = {
    ("confirm", Phase.IDLE): "nothing waits for a confirmation",
    ("confirm", Phase.KEEPING): "kept",
    ("confirm", Phase.RETURNING): "too late, it goes back",
    ("confirm", Phase.HELD): "too late, it is held; use accept",
    ("confirm", Phase.STUCK): "too late, it is stuck",
    ("abort", Phase.IDLE): "nothing is in hand; use rollback to leave what was accepted",
    ("abort", Phase.KEEPING): "kept; use rollback",
    ("abort", Phase.RETURNING): "it goes back already",
    ("hold", Phase.IDLE): "nothing is in hand",
    ("hold", Phase.KEEPING): "kept",
    ("hold", Phase.RETURNING): "too late, it goes back",
    ("hold", Phase.HELD): "held already",
    ("hold", Phase.STUCK): "stuck already",
    ("resume", Phase.IDLE): "nothing is in hand",
    ("accept", Phase.IDLE): "nothing is held here",
    ("accept", Phase.OPEN): "it has only begun; hold it first",
    ("accept", Phase.TRYING): "it is still tried; hold it first",
    ("accept", Phase.PROVEN): "it is proved and waits for a confirmation; hold it first",
    ("accept", Phase.KEEPING): "kept",
    ("accept", Phase.RETURNING): "too late, it goes back",
    ("accept", Phase.STUCK): "what is stuck cannot be accepted; use rollback",
}


def obey(session: Session, order: Request) -> Optional[FromHost]:
    """Hand the wish to whoever holds the transition, or say why it comes too late."""
    return wish(session, session.records.state(), order)


def wish(session: Session, state: State, request: Request) -> Optional[FromHost]:
    """Heed a wish in this phase, and follow what comes of it."""
    late = _TOO_LATE.get((request.what, state.phase))
    if late is not None or state.transition is None:
        return _too_late(session, state, request, late or "nothing is in hand")
    if request.what == "confirm":
        return _confirm(session, state.transition, request)
    if request.what == "abort" and state.phase in _AT_REST:
        return wish(session, state, Request("back", request.by, request.reason))
    seen = heard(session.records.events(state.transition))
    if request.what != "resume" or state.phase in _AT_REST:
        session.records.put_request(state.transition, request)
    try:
        if not launch.is_running(session.machine, state.transition):
            launch.launch(session.machine, session.records, state.transition)
    except SystemdError as error:
        return Trouble(Exit.UNKNOWN, str(error))
    return follow.follow(session.channel, session.machine, session.records, state.transition, seen)


def heard(told: Sequence[Event]) -> int:
    """Say which event a newcomer need not hear: what is asked and open yet is for them, too."""
    asked: Dict[int, int] = {}
    for event in told:
        if isinstance(event.body, Asked):
            asked[event.body.ask.n] = event.seq
        elif isinstance(event.body, Replied):
            asked.pop(event.body.answer.n, None)
    return min(asked.values()) - 1 if asked else (told[-1].seq if told else 0)


def _too_late(session: Session, state: State, request: Request, sentence: str) -> FromHost:
    """Say why it comes too late; whoever comes back after the end hears how it ended."""
    told = session.records.events(state.last) if request.what == "resume" and state.last else []
    for event in reversed(told):
        if isinstance(event.body, Rested):
            session.channel.say(Said(event))
            return Done(event.body.exit_code, event.body.sentence)
    harmless = request.what in ("confirm", "hold", "resume")
    return Done(Exit.ACCEPTED if harmless else Exit.REFUSED, sentence)


def _confirm(session: Session, transition: str, request: Request) -> FromHost:
    if follow.land(session.records, transition, Answer(CONFIRM, "yes", request.by)):
        return Done(Exit.ACCEPTED, "confirmed")
    return Done(Exit.REFUSED, "nothing waits for a confirmation yet")
