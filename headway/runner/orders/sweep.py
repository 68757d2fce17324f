"""Launch several releases in turn, have each judged, and come back to the accepted one."""

from typing import Optional, Tuple

from headway.runner.changes import changes, paths, switching
from headway.runner.orders.rollout import heard_go
from headway.runner.orders.session import Session
from headway.wire.phase import Exit
from headway.wire.record import State
from headway.wire.release import Release
from headway.wire.resources import Blob
from headway.wire.talk import Done, FromHost, Missing, Sweep


def obey(session: Session, order: Sweep) -> Optional[FromHost]:
    """Say what is missing of all of them, wait for the turn, and begin."""
    state = session.records.state()
    refusal = session.occupied(state) or _refusal(session, state, order)
    if refusal is not None:
        return refusal
    session.channel.say(Missing(_missing(session, order.rungs), (order.part,), state.running()))
    try:
        if not heard_go(session):
            return None
    except OSError as error:
        return session.unwritable(error)
    from headway.runner.orders import begin

    return begin.sweep(session, order)


def _refusal(session: Session, state: State, order: Sweep) -> Optional[Done]:
    misfit: Optional[str] = "it ends on an accepted release that runs, and there is none here"
    if state.accepted and state.parked is None:
        misfit = unfit(session.records.release(state.running()), order.rungs, order.part)
    return session.rest(Exit.REFUSED, "refused", f"no sweep: {misfit}") if misfit else None


def unfit(start: Release, rungs: Tuple[Release, ...], part: str) -> Optional[str]:
    """Say why these releases cannot be swept; None where they can.

    One part alone may differ, and it must own the same paths in all: then the images taken before
    the first rung lead back from every one.
    """
    owned = None
    for rung in rungs:
        more = [change.name for change in changes(start, rung) if change.name != part]
        if more:
            return f"more than {part} would change ({', '.join(more)}): roll that out first"
        swept = rung.part(part)
        if swept is None or swept.subject is None:
            return f"{part} is no part with a service: nothing would be measured"
        mine = sorted(path for resource in switching(swept) for path in paths(resource))
        if owned not in (None, mine):
            return f"the values of {part} write different paths; sweep something else"
        owned = mine
    return None if rungs else "no value to sweep"


def _missing(session: Session, rungs: Tuple[Release, ...]) -> Tuple[Blob, ...]:
    wanted = (blob for rung in rungs for blob in rung.blobs())
    return tuple(dict.fromkeys(session.machine.blobs.missing(wanted)))
