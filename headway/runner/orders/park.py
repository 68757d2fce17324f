"""Stop what is accepted on purpose and keep it down over a reboot, until it is unparked."""

from dataclasses import replace

from headway.runner import guard, supervisor, systemd
from headway.runner.changes import launched
from headway.runner.lock import HostLock, LockedError
from headway.runner.machine import Machine
from headway.runner.orders.session import Session
from headway.runner.steps import STOP_S
from headway.runner.supervisor_error import SupervisorError
from headway.wire.phase import Exit
from headway.wire.record import Parked
from headway.wire.release import Release
from headway.wire.talk import Done, FromHost, Park


def obey(session: Session, order: Park) -> FromHost:
    """Write down that it is parked, then stop and disable every unit of the release."""
    try:
        with HostLock(session.machine.disk, session.clock, order.orders.wait_s):
            return _park(session, order)
    except FileNotFoundError:
        return session.rest(Exit.REFUSED, "refused", "nothing was ever accepted on this host")
    except LockedError as error:
        return session.rest(Exit.LOCKED, "locked", str(error))
    except SupervisorError as error:
        return session.rest(Exit.UNKNOWN, "stuck", f"parked, but {error}")


def _park(session: Session, order: Park) -> FromHost:
    state = session.records.state()
    occupied = session.occupied(state)
    if occupied is not None:
        return occupied
    release = session.records.release(state.running())
    if not release.parts:
        return session.rest(Exit.REFUSED, "refused", "nothing was ever accepted on this host")
    parked = Parked(order.orders.by, session.clock.now_ms(), order.orders.reason)
    session.records.save(replace(state, parked=parked))
    put_down(session.machine, release)
    return Done(Exit.ACCEPTED, f"parked: {release.id} is stopped and stays down until unparked")


def put_down(machine: Machine, release: Release) -> None:
    """Stop and disable every unit and container of a release; done again it does no harm."""
    for name in (name for part in reversed(release.parts) for name in launched(part)):
        if supervisor.containers((name,)):
            guard.put(machine, "", (name,))
        elif systemd.is_enabled(machine.run, name):
            systemd.disable(machine.run, [name])
        supervisor.stop(machine, name, STOP_S)
