"""Say what no kept release needs any more, and delete it where that was ordered."""

from typing import Callable, Iterator, Tuple

from headway.runner import satchels
from headway.runner.lock import HostLock, LockedError
from headway.runner.orders.session import Session
from headway.runner.records import RecordError
from headway.runner.resources import ResourceError, weights
from headway.runner.supervisor_error import SupervisorError
from headway.wire.phase import Exit
from headway.wire.release import Release
from headway.wire.talk import Done, FromHost, Prune, Pruned, Unneeded

Delete = Callable[[], None]


def obey(session: Session, order: Prune) -> FromHost:
    """List it in one line; with `delete`, say of each what became of it."""
    try:
        with HostLock(session.machine.disk, session.clock, order.orders.wait_s):
            return _prune(session, order)
    except LockedError as error:
        return session.rest(Exit.LOCKED, "locked", str(error))
    except RecordError as error:
        return session.rest(Exit.REFUSED, "refused", str(error))
    except FileNotFoundError:
        session.channel.say(Pruned(()))
        return Done(Exit.ACCEPTED)


def _prune(session: Session, order: Prune) -> FromHost:
    occupied = session.occupied(session.records.state())
    if occupied is not None:
        return occupied
    rows, failed = [], 0
    for row, delete in _unneeded(session, tuple(session.records.kept())):
        trouble = ""
        if order.delete:
            try:
                delete()
            except (SupervisorError, ResourceError, OSError) as error:
                trouble, failed = str(error), failed + 1
        rows.append(Unneeded(row.kind, row.name, row.size, trouble))
    session.channel.say(Pruned(tuple(rows)))
    return Done(Exit.UNKNOWN if failed else Exit.ACCEPTED)


def _unneeded(session: Session, releases: Tuple[Release, ...]) -> Iterator[Tuple[Unneeded, Delete]]:
    machine = session.machine
    for folder in weights.unnamed(machine, releases):
        row = Unneeded("weights", folder.path, folder.size)
        yield row, lambda folder=folder: weights.let_go(machine, folder)  # type: ignore[misc]
    if satchels.lacking("stacks") is None:
        from headway.runner.containers import keeping  # where there are containers

        for one in keeping.unnamed(machine, releases):
            name = next((other for other in one.names if other != one.tag), one.tag)
            row = Unneeded("image", name, one.size if one.is_last() else 0)
            yield row, lambda one=one: keeping.delete(machine, one)  # type: ignore[misc]
