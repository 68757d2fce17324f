"""Say what this host records and what is so; nothing is changed, nothing is locked."""

from dataclasses import replace
from typing import List

from headway.runner import facts, observe, satchels
from headway.runner.orders import standing
from headway.runner.orders.session import Session
from headway.runner.records import RecordError
from headway.runner.tools.cards import RealCards
from headway.wire.cards import CardsSeen
from headway.wire.event import Event, Rested
from headway.wire.phase import Exit
from headway.wire.release import EMPTY, Release
from headway.wire.talk import Done, FromHost, Look, Looked, Trouble

HISTORY = 50
CARDS_S = 30  # cards that nothing keeps awake take seconds each to start


def obey(session: Session, order: Look) -> FromHost:
    """Look, and say it in one line."""
    records, machine = session.records, session.machine
    state = records.state()
    try:
        accepted = records.release(state.running())
    except RecordError as error:
        return Trouble(Exit.REFUSED, str(error))
    parked = state.parked is not None
    looked = Looked(
        state=state,
        accepted=accepted,
        drift=observe.differences(accepted, machine, enabled=not parked, accepted=accepted),
        alive=observe.alive(accepted, machine),
        unheld=accepted.unheld,
    )
    criteria = records.criteria(state.accepted[0].criteria) if state.accepted else None
    if order.health and criteria is not None:
        sick, _ = standing.unhealthy(machine, accepted, criteria)
        looked.alive.update({part: f"unhealthy: {why}" for part, why in sick.items()})
    if order.release is not None:
        differences = observe.differences(order.release, machine, accepted=accepted)
        looked = replace(looked, differences=differences)
    if order.units:
        found = observe.observe(machine, order.units)
        looked = replace(looked, unheld=found.unheld, releases=(found,))
    if order.history:
        kept = [_release(session, old.release) for old in state.accepted]
        looked = replace(looked, history=tuple(_history(session)), releases=tuple(kept))
    if order.facts:
        looked = replace(looked, facts=facts.facts(machine))
        if session.equip() and satchels.has_cards(machine.disk):
            looked = replace(looked, cards=_cards(session))
    session.channel.say(looked)
    return Done(Exit.ACCEPTED)


def _cards(session: Session) -> CardsSeen:
    """Ask the driver, then the kernel; a driver that hangs does not keep us from the kernel."""
    from headway.runner.cards.host import cards_host

    seen = RealCards(lambda: CARDS_S).look(pairs=True)
    return replace(seen, host=cards_host(session.machine.disk, session.machine.run))


def _release(session: Session, name: str) -> Release:
    try:
        return session.records.release(name)
    except RecordError:
        return replace(EMPTY, id=name, unheld=("its record is missing or was changed",))


def _history(session: Session) -> List[Event]:
    """Give the last word of each transition, newest first."""
    rows = []
    for name in session.records.transitions()[:HISTORY]:
        words = [e for e in session.records.events(name) if isinstance(e.body, Rested)]
        rows.extend(words[-1:])
    return rows
