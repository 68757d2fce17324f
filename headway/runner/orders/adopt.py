"""Record what runs here without headway as this host's accepted release."""

from headway.runner import install, observe
from headway.runner.changes import owned
from headway.runner.lock import HostLock, LockedError
from headway.runner.orders import begin
from headway.runner.orders.session import Session
from headway.runner.records import RecordError
from headway.runner.systemd import SystemdError
from headway.wire.phase import Exit
from headway.wire.record import State
from headway.wire.release import EMPTY, Origin, Release, release_of
from headway.wire.resources import unit_path
from headway.wire.talk import Adopt, Done, FromHost, Looked


def obey(session: Session, order: Adopt) -> FromHost:
    """Observe these units and accept them as they are, beside what is accepted already."""
    try:
        install.install(session.machine, session.records)
        with HostLock(session.machine.disk, session.clock, order.orders.wait_s):
            return _adopt(session, order)
    except LockedError as error:
        return session.rest(Exit.LOCKED, "locked", str(error))
    except (RecordError, observe.ObserveError, SystemdError) as error:
        return session.rest(Exit.REFUSED, "refused", str(error))
    except OSError as error:
        return session.unwritable(error)


def _adopt(session: Session, order: Adopt) -> FromHost:
    state = session.records.state()
    occupied = session.occupied(state)
    if occupied is not None:
        return occupied
    running = _running(session, state)
    mine = owned(running)
    units = [name for name in order.units if not {name, unit_path(name)} & mine]
    if not units:
        named = ", ".join(order.units) or "no unit"
        return Done(Exit.ACCEPTED, f"nothing to adopt: {named} is managed already")
    found = observe.observe(session.machine, units)
    if not found.parts:
        return Done(Exit.REFUSED, f"no such unit or service here: {', '.join(units)}")
    names = {part.name for part in found.parts}
    parts = tuple(part for part in running.parts if part.name not in names) + found.parts
    unheld = running.unheld + found.unheld
    release = release_of(parts, Origin.ADOPTED, running.secret_names, unheld)
    begin.adopt(session, release, order.orders.by)
    session.channel.say(Looked(session.records.state(), release, unheld=release.unheld))
    return Done(Exit.ACCEPTED, f"adopted as {release.id}")


def _running(session: Session, state: State) -> Release:
    """Give the running release; one whose record is damaged holds nothing any more."""
    try:
        return session.records.whole_release(state.running(), session.machine.blobs)
    except RecordError:
        return EMPTY
