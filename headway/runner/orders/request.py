"""A person's wish to the transition in hand, answered with the phase it is in."""

from typing import Dict, Optional, Tuple

from headway.runner import follow, launch
from headway.runner.desk import CONFIRM
from headway.runner.orders.session import Session
from headway.runner.systemd import SystemdError
from headway.wire.event import Answer
from headway.wire.phase import Exit, Phase
from headway.wire.record import State
from headway.wire.talk import Done, FromHost, Request, Trouble

_LIVE = (Phase.OPEN, Phase.TRYING, Phase.PROVEN)
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
    ("accept", Phase.STUCK): "what is stuck cannot be accepted; use rollback",
}


def obey(session: Session, order: Request) -> Optional[FromHost]:
    """Hand the wish to whoever holds the transition, or say why it comes too late."""
    return wish(session, session.records.state(), order)


def wish(session: Session, state: State, request: Request) -> Optional[FromHost]:
    """Heed a wish in this phase, and follow what comes of it."""
    late = _TOO_LATE.get((request.what, state.phase))
    if late is not None or state.transition is None:
        sentence = late or "nothing is in hand"
        harmless = request.what in ("confirm", "hold", "resume")
        return Done(Exit.ACCEPTED if harmless else Exit.REFUSED, sentence)
    if request.what == "confirm":
        return _confirm(session, state.transition, request)
    if request.what == "abort" and state.phase in _AT_REST:
        return wish(session, state, Request("back", request.by, request.reason))
    told = session.records.events(state.transition)
    seen = told[-1].seq if told else 0
    if request.what != "resume" or state.phase in _AT_REST:
        session.records.put_request(state.transition, request)
    try:
        if not launch.is_running(session.machine, state.transition):
            launch.launch(session.machine, session.records, state.transition)
    except SystemdError as error:
        return Trouble(Exit.UNKNOWN, str(error))
    if request.what == "accept" and state.phase in _LIVE:
        return Done(Exit.REFUSED, f"it is still {state.phase.value}; hold it first")
    return follow.follow(session.channel, session.machine, session.records, state.transition, seen)


def _confirm(session: Session, transition: str, request: Request) -> FromHost:
    if follow.land(session.records, transition, Answer(CONFIRM, "yes", request.by)):
        return Done(Exit.ACCEPTED, "confirmed")
    return Done(Exit.REFUSED, "nothing waits for a confirmation yet")
