"""Follow a transition that was begun over another connection."""

from typing import Optional

from headway.runner import follow
from headway.runner.orders.session import Session
from headway.wire.phase import Exit
from headway.wire.talk import Done, Follow, FromHost


def obey(session: Session, order: Follow) -> Optional[FromHost]:
    """Say the events after `since`; "" is the transition in hand, or the newest."""
    state = session.records.state()
    newest = session.records.transitions()
    name = order.transition or state.transition or (newest[0] if newest else "")
    if not name:
        return Done(Exit.ACCEPTED, "this host has seen no transition yet")
    if name not in newest:
        return Done(Exit.UNKNOWN, f"there is no transition {name} on this host")
    return follow.follow(session.channel, session.machine, session.records, name, order.since)
