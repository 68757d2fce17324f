"""Stages a release and starts its transition: the one way from an order to a transition."""

import os
import time
from dataclasses import replace
from typing import Iterable, Iterator, Optional, Tuple

from headway.runner import ballast, install, launch, observe, stage, systemd
from headway.runner import follow as following
from headway.runner.blobs import BlobError
from headway.runner.changes import owned
from headway.runner.lock import HostLock, LockedError
from headway.runner.orders.session import Session
from headway.runner.records import RecordError
from headway.runner.teller import Teller
from headway.wire.event import Body, Event, Noted
from headway.wire.gate import Criteria
from headway.wire.phase import Exit
from headway.wire.record import SCHEMA, Acceptance, Orders, State, Transition
from headway.wire.release import EMPTY, Origin, Release
from headway.wire.resources import Package, Weights
from headway.wire.talk import FromHost, Rollout, Said, Sweep


def rollout(session: Session, order: Rollout) -> Optional[FromHost]:
    """Adopt what runs unmanaged under the same names, stage, and begin."""
    try:
        session.records.prepare()
        state = session.records.state()
        start = _start(session, state, order)
        session.records.keep_criteria(order.criteria)
    except (RecordError, observe.ObserveError, systemd.SystemdError) as error:
        return session.rest(Exit.REFUSED, "refused", str(error))
    except OSError as error:
        return session.unwritable(error)
    lost = [line for line in start.unheld if line.split(":")[0] in owned(order.release)]
    if lost and not order.orders.no_way_back:
        sentence = f"there would be no whole way back: {'; '.join(lost)}; or --no-way-back"
        return session.rest(Exit.REFUSED, "refused", sentence)
    try:
        if start.parts and not state.accepted:
            with HostLock(session.machine.disk, session.clock, order.orders.wait_s):
                adopt(session, start, order.orders.by)
    except LockedError as error:
        return session.rest(Exit.LOCKED, "locked", str(error))
    except OSError as error:
        return session.unwritable(error)
    kind = "repair" if start.id == order.release.id else "rollout"
    notes = tuple(f"cannot be held for the way back: {line}" for line in start.unheld)
    return begin(session, kind, (start, order.release), order.criteria, order.orders, notes)


def sweep(session: Session, order: Sweep) -> Optional[FromHost]:
    """Begin with the first rung; the part that is swept is launched for every one."""
    try:
        session.records.prepare()
        running = session.records.state().running()
        start = session.records.whole_release(running, session.machine.blobs)
        session.records.keep_criteria(order.criteria)
    except RecordError as error:
        return session.rest(Exit.REFUSED, "refused", str(error))
    except OSError as error:
        return session.unwritable(error)
    orders = replace(order.orders, relaunch=(order.part,))
    way = (start, order.rungs[0])
    return begin(session, "sweep", way, order.criteria, orders, rungs=order.rungs)


def _start(session: Session, state: State, order: Rollout) -> Release:
    """Name the release this host would go back to; at first contact, what it runs by itself."""
    if state.accepted:
        return session.records.whole_release(state.running(), session.machine.blobs)
    units = observe.unmanaged(session.machine, order.release, EMPTY)
    if not units:
        return EMPTY
    return observe.observe(session.machine, tuple(units), units)


def adopt(session: Session, release: Release, by: str) -> None:
    """Record what runs as accepted: by observation, judged by nothing. Under the lock."""
    state = session.records.state()
    session.records.keep_release(release)
    acceptance = Acceptance(release.id, "none", session.clock.now_ms(), f"adopted by {by}", "")
    kept = tuple(old for old in state.accepted if old.release != release.id)
    session.records.save(replace(state, accepted=(acceptance, *kept)))


def begin(  # noqa: PLR0913, PLR0917 # a transition is all of this
    session: Session,
    kind: str,
    way: Tuple[Release, Release],
    criteria: Optional[Criteria],
    orders: Orders,
    notes: Iterable[str] = (),
    rungs: Tuple[Release, ...] = (),
) -> Optional[FromHost]:
    """Stage the target, write the transition down, start it and follow it to its rest.

    `notes` are told first: a person should know them before it matters. `rungs` are what a sweep
    launches, the target among them.
    """
    start, target = way
    name = _name(session)
    transition = Transition(
        schema=SCHEMA,
        id=name,
        kind=kind,
        start=start.id,
        target=target.id,
        criteria=criteria.id if criteria else "none",
        orders=orders,
        runner_sha256=os.path.basename(launch.runner_folder()),
        boot_id=session.clock.boot_id(),
        opened_at_ms=session.clock.now_ms(),
        rungs=tuple(rung.id for rung in rungs),
    )
    tell = _Said(session, name)
    going_back = kind == "rollback"
    try:
        if going_back:
            ballast.drop_if_full(session.machine.disk)
        session.records.keep_transition(transition)
        for release in (target, *rungs):
            session.records.keep_release(release)
        for note in (*notes, *_drifted(session, start)):
            tell(Noted(note))
        gates = criteria.gates if criteria else ()
        fetches = any(_has_weights(release) for release in (start, target, *rungs))
        more = () if going_back else ("diagnosis",)  # for a person there, when nobody else is
        if not (session.equip(gates, weights=fetches) and session.fetch(*more)):
            return None
        again = orders.relaunch
        for release in rungs or (target,):
            again += _stage(session, tell, (start, release), orders, going_back=going_back)
        orders = replace(orders, relaunch=tuple(dict.fromkeys(again)))
        session.records.keep_transition(replace(transition, orders=orders))
        if not session.channel.open:
            return None  # nobody is there to hear what would begin now
        install.install(session.machine, session.records, going_back=going_back)
        launch.launch(session.machine, session.records, name)
    except LockedError as error:
        return session.rest(Exit.LOCKED, "locked", str(error))
    except (stage.StageError, systemd.SystemdError, BlobError) as error:
        return session.rest(Exit.REFUSED, "refused", str(error))
    except OSError as error:
        return session.unwritable(error)
    return following.follow(session.channel, session.machine, session.records, name, tell.seq)


def _drifted(session: Session, start: Release) -> Iterator[str]:
    """Say what of the running release is not as it was accepted, before any of it is stopped."""
    machine, enabled = session.machine, session.records.state().parked is None
    if start.origin is Origin.ADOPTED:
        return  # what of that is not held was said already
    differences = observe.differences(start, machine, enabled=enabled)
    for found in (*differences, *observe.beside(start, machine)):
        yield f"{found.part} is not as it was accepted: {found.sentence}"


def _stage(
    session: Session,
    tell: "_Said",
    way: Tuple[Release, Release],
    orders: Orders,
    *,
    going_back: bool,
) -> Tuple[str, ...]:
    """Bring about what needs no transition; packages, which others share, under the lock.

    Names the parts that restart although nothing of them changed.
    """
    start, target = way
    needs_lock = any(
        isinstance(resource, Package) for part in target.parts for resource in part.resources
    )

    def work() -> Tuple[str, ...]:
        return stage.stage(
            session.machine,
            target,
            start,
            tell,
            orders,
            going_back=going_back,
            listening=lambda: session.channel.open,
        )

    if not needs_lock:
        return work()
    with HostLock(session.machine.disk, session.clock, orders.wait_s):
        return work()


def _has_weights(release: Release) -> bool:
    return any(isinstance(each, Weights) for part in release.parts for each in part.resources)


class _Said(Teller):
    """Tells to the event file, and at once to the controller, too."""

    def __init__(self, session: Session, name: str) -> None:
        super().__init__(session.records, name, session.clock)
        self._session = session

    def __call__(self, body: Body) -> None:
        """Append one event and say it."""
        super().__call__(body)
        event = Event(self.seq, self.clock.now_ms(), self.transition, body)
        self._session.channel.say(Said(event))


def _name(session: Session) -> str:
    """Name a transition after the time it is opened, so that names sort."""
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime(session.clock.now_ms() / 1000))
    return f"{stamp}-{os.urandom(2).hex()}"
