"""Free the cards of what is left of this host's parts: by hand, outside any transition."""

from typing import Optional

from headway.runner import satchels
from headway.runner.lock import HostLock, LockedError
from headway.runner.orders.session import Session
from headway.runner.systemd import SystemdError
from headway.wire.phase import Exit
from headway.wire.talk import Done, Evict, FromHost


def obey(session: Session, order: Evict) -> Optional[FromHost]:
    """Free them, where there are any; lists whoever else holds them."""
    if not satchels.has_cards(session.machine.disk):
        return Done(Exit.ACCEPTED, "there is no NVIDIA driver here, and so nothing to free")
    if not session.equip():
        return None
    if satchels.lacking("cards") is not None:
        sentence = "what reads cards never came to this host: `invoke evict` brings it along"
        return session.rest(Exit.REFUSED, "refused", sentence)
    return _locked(session, order)


def _locked(session: Session, order: Evict) -> FromHost:
    """Hold the host's lock meanwhile; a transition that rests (held, stuck) is no hindrance."""
    try:
        session.records.prepare()
        with HostLock(session.machine.disk, session.clock, order.orders.wait_s):
            return _evict(session, order)
    except LockedError as error:
        return session.rest(Exit.LOCKED, "locked", str(error))
    except SystemdError as error:
        return session.rest(Exit.UNKNOWN, "stuck", str(error))
    except OSError as error:
        return session.unwritable(error)


def _evict(session: Session, order: Evict) -> FromHost:
    state = session.records.state()
    names = [state.running()]
    if state.transition is not None:
        in_hand = session.records.transition(state.transition)
        names += [in_hand.start, in_hand.target]
    releases = [session.records.release(name) for name in dict.fromkeys(names)]
    parts = tuple(part for release in releases for part in release.parts)
    known = sorted({part.name for part in parts})
    for name in order.parts:
        if name not in known:
            sentence = f"no part {name!r} on this host; there are {', '.join(known) or 'none'}"
            return session.rest(Exit.USAGE, "refused", sentence)
    from headway.runner.cards.evict.by_hand import evict

    return evict(session, order, parts)
