"""On a node: free the cards that one instance of one guest holds, and say what was done."""

from typing import Optional

from headway.runner import satchels
from headway.runner.orders.session import Session
from headway.wire.phase import Exit
from headway.wire.talk import Done, Free, Freed, FromHost


def obey(session: Session, order: Free) -> Optional[FromHost]:
    """Do it, and answer Freed."""
    if not satchels.has_cards(session.machine.disk):
        session.channel.say(Freed(sentence="this node shows no NVIDIA driver"))
        return Done(Exit.ACCEPTED)
    if not session.equip():
        return None
    from headway.runner.cards.evict.hands import RealHands
    from headway.runner.cards.evict.node import free

    session.channel.say(free(order, RealHands(session.machine.run), session.clock))
    return Done(Exit.ACCEPTED)
