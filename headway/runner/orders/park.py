"""Stop what is accepted on purpose and keep it down over a reboot, until it is unparked."""

from dataclasses import replace

from headway.runner import systemd
from headway.runner.changes import units_of
from headway.runner.lock import HostLock, LockedError
from headway.runner.machine import Machine
from headway.runner.orders.session import Session
from headway.runner.steps import STOP_S
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
    except systemd.SystemdError as error:
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
    """Stop and disable every unit of a release; done again it does no harm."""
    for unit in (unit.name for part in reversed(release.parts) for unit in units_of(part)):
        if systemd.is_enabled(machine.run, unit):
            systemd.disable(machine.run, [unit])
        systemd.stop(machine.run, unit, STOP_S)
