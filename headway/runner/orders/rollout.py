"""Bring the host to a release: find out what has to be done, wait for the turn, begin."""

from dataclasses import replace
from typing import Optional

from headway.runner.changes import changes
from headway.runner.orders import standing
from headway.runner.orders.session import Session
from headway.wire.phase import Exit, Phase
from headway.wire.record import State
from headway.wire.release import Release
from headway.wire.resources import Stack
from headway.wire.talk import Bytes, Done, FromHost, Go, Missing, Rollout, Trouble
from headway.wire.verdict import Verdict


def obey(session: Session, order: Rollout) -> Optional[FromHost]:
    """Answer at once when nothing is to be done; else say what is missing and wait for Go."""
    state = session.records.state()
    refusal = _refusal(session, state, order)
    if refusal is not None:
        return refusal
    if state.accepted and state.running() == order.release.id:
        _ask_compose(session, order.release)
    running = session.records.release(state.running())
    fallen = {}
    if state.accepted and running.id == order.release.id:
        criteria = session.records.criteria(order.criteria.id) or order.criteria
        fallen = standing.fallen(session.machine, state, running, criteria)
        if not fallen:
            sentence = f"{running.id} runs here, in place and healthy"
            return session.rest(Exit.ACCEPTED, "unchanged", sentence, Verdict.PASS)
    missing = session.machine.blobs.missing(order.release.blobs())
    relaunch = tuple(fallen)
    changed = tuple(change.name for change in changes(running, order.release, relaunch))
    session.channel.say(Missing(missing, changed, running.id))
    try:
        if not heard_go(session):
            return None
    except OSError as error:
        return session.unwritable(error)
    orders = replace(order.orders, relaunch=(*order.orders.relaunch, *relaunch))
    from headway.runner.orders import begin

    return begin.rollout(session, replace(order, orders=orders))


def _ask_compose(session: Session, release: Release) -> None:
    """Let Compose read its files while the rest is looked at: it takes as long as all of that."""
    for part in release.parts:
        for stack in (each for each in part.resources if isinstance(each, Stack)):
            from headway.runner.containers import compose  # where there is one

            compose.ask_ahead(session.machine, stack)


def _refusal(session: Session, state: State, order: Rollout) -> Optional[Done]:
    if state.phase is not Phase.IDLE and not order.orders.wait_s:
        return session.occupied(state)
    if state.parked is not None:
        sentence = f"parked by {state.parked.by}: {state.parked.reason}; unpark it first"
        return session.rest(Exit.REFUSED, "refused", sentence)
    return rejected(session, state, order.release, again=order.orders.again)


def rejected(session: Session, state: State, release: Release, *, again: bool) -> Optional[Done]:
    """Refuse (8) a release that failed here, until its content changes or --again."""
    for old in state.rejected:
        if old.release == release.id and not again:
            sentence = (
                f"{release.id} failed here in {old.transition}: {old.why}; "
                "change it, or try it with --again"
            )
            return session.rest(Exit.REFUSED, "refused", sentence)
    return None


def heard_go(session: Session) -> bool:
    """Take the blobs the controller sends, until it is this host's turn.

    Where they cannot be kept, all are heard first: nobody listens while he speaks. Then OSError.
    """
    failed: Optional[OSError] = None
    while True:
        heard = session.channel.hear()
        if failed is not None and isinstance(heard, Go):
            raise failed
        if isinstance(heard, Go):
            return True
        if not isinstance(heard, Bytes):
            return False
        data = session.channel.raw(heard.size)
        if len(data) != heard.size:
            return False
        try:
            session.records.prepare()
            kept = session.machine.blobs.put(data)
        except OSError as error:
            failed = error
            continue
        if kept != heard.sha256:
            session.channel.say(Trouble(Exit.UNREACHABLE, f"{heard.sha256[:12]} came damaged"))
            return False
