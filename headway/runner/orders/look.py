"""Say what this host records and what is so; nothing is changed, nothing is locked."""

from dataclasses import replace
from typing import List, Optional

from headway.runner import facts, satchels
from headway.runner.orders.session import Session
from headway.runner.records import RecordError
from headway.runner.tools.cards import RealCards
from headway.wire.cards import CardsSeen, KernelLog
from headway.wire.event import Event, Rested
from headway.wire.phase import Exit
from headway.wire.release import EMPTY, Release
from headway.wire.talk import Done, FromHost, Look, Looked, Trouble

HISTORY = 50
_ASIDE = (Look(facts=True), Look(kernel=True))  # with these the record is not compared
CARDS_S = 30  # cards that nothing keeps awake take seconds each to start


def obey(session: Session, order: Look) -> FromHost:
    """Look, and say it in one line."""
    records, machine = session.records, session.machine
    state = records.state()
    try:
        accepted = records.release(state.running())
    except RecordError as error:
        return Trouble(Exit.REFUSED, str(error))
    has_cards = order.facts and _ask_cards(session)
    looked = Looked(state, accepted, unheld=accepted.unheld)
    if order not in _ASIDE:
        looked = _compared(session, order, looked)
    if order.history:
        kept = [_release(session, old.release) for old in state.accepted]
        looked = replace(looked, history=tuple(_history(session)), releases=tuple(kept))
    if order.facts:
        looked = replace(looked, facts=facts.facts(machine))
        looked = replace(looked, cards=_cards(session) if has_cards else None)
    if order.kernel:
        looked = replace(looked, kernel=_kernel(session))
    session.channel.say(looked)
    return Done(Exit.ACCEPTED)


def _compared(session: Session, order: Look, looked: Looked) -> Looked:
    """Add what is so: what differs, what is alive, what was asked about besides."""
    from headway.runner import observe  # with all kinds of resources: facts need none of them

    machine, state, accepted = session.machine, looked.state, looked.accepted
    looked = replace(
        looked,
        drift=(
            *observe.differences(
                accepted, machine, enabled=state.parked is None, accepted=accepted
            ),
            *observe.beside(accepted, machine),
        ),
        alive=observe.alive(accepted, machine),
    )
    criteria = session.records.criteria(state.accepted[0].criteria) if state.accepted else None
    if order.health and criteria is not None:
        from headway.runner.orders import standing

        sick, _ = standing.unhealthy(machine, accepted, criteria)
        looked.alive.update({part: f"unhealthy: {why}" for part, why in sick.items()})
    if order.engines and criteria is not None and session.fetch("reading", "acceptance"):
        from headway.runner.reading import numbers

        looked = replace(looked, serving=numbers.serving(machine, accepted, criteria))
    if order.release is not None:
        differences = observe.differences(order.release, machine, accepted=accepted)
        looked = replace(looked, differences=differences)
    if order.units:
        found = observe.observe(machine, order.units)
        looked = replace(looked, unheld=found.unheld, releases=(found,))
    return looked


def _ask_cards(session: Session) -> bool:
    """Let the driver be asked while we look at all else; False: there are no cards to ask for."""
    if not session.equip() or not satchels.has_cards(session.machine.disk):
        return False
    from headway.runner.cards import ask_ahead

    ask_ahead(pairs=True)
    return True


def _cards(session: Session) -> CardsSeen:
    """Read what the host is to its cards, then hear what the driver said meanwhile."""
    from headway.runner.cards.host import cards_host

    host = cards_host(session.machine.disk, session.machine.run)
    return replace(RealCards(lambda: CARDS_S).look(pairs=True), host=host)


def _release(session: Session, name: str) -> Release:
    try:
        return session.records.release(name)
    except RecordError:
        return replace(EMPTY, id=name, unheld=("its record is missing or was changed",))


def _kernel(session: Session) -> Optional[KernelLog]:
    """Read the driver's complaints; None where there is no driver to complain."""
    if not session.equip() or not satchels.has_cards(session.machine.disk):
        return None
    from headway.runner.cards.host import complaints

    return complaints(session.machine.disk, session.machine.run)


def _history(session: Session) -> List[Event]:
    """Give the last word of each transition, newest first."""
    rows = []
    for name in session.records.transitions()[:HISTORY]:
        words = [e for e in session.records.events(name) if isinstance(e.body, Rested)]
        rows.extend(words[-1:])
    return rows
