"""Carries a transition through in its own unit, and picks one up at boot.

The same command begins, goes on after a crash and heeds a person's word: what the record says
decides. Whoever does not get the lock changes nothing.
"""

from typing import Optional

from headway.runner import judging
from headway.runner.clock import Clock
from headway.runner.disk import Disk
from headway.runner.lock import HostLock, LockedError
from headway.runner.machine import Machine, machine_of
from headway.runner.process import Processes
from headway.runner.records import Records
from headway.runner.recover import pick_up
from headway.runner.transition import Running
from headway.runner.watch import Watch
from headway.runner.work import Work, work_of
from headway.wire.event import Rested
from headway.wire.phase import Exit, Phase
from headway.wire.record import State, Transition

BOOT_WAIT_S = 60


def carry(name: str) -> int:
    """Begin transition `name`, or bring it to rest where it lies; 0 once it rests."""
    watch = Watch()
    watch.start()
    machine = machine_of(Disk(tag=name), Processes())
    work = _work(machine, watch, name)
    transition = work.records.transition(name)
    try:
        with HostLock(machine.disk, work.clock, transition.orders.wait_s):
            _carry(work, transition)
    except LockedError as error:
        _turn_away(work, Exit.LOCKED, "locked", str(error))
    watch.end()
    return 0


def recover() -> int:
    """At boot: bring the transition in hand to rest, and keep down what is parked."""
    machine = machine_of(Disk(tag="recover"), Processes())
    records = Records(machine.disk)
    state = records.state()
    if state.transition is not None:
        return carry(state.transition)
    if state.parked is not None:
        from headway.runner.orders.park import put_down

        with HostLock(machine.disk, Clock(), BOOT_WAIT_S):
            put_down(machine, records.release(state.running()))
    return 0


def _work(machine: Machine, watch: Watch, name: str) -> Work:
    clock = Clock()
    return work_of(machine, clock, watch, judging.judge_for(machine, clock, watch), name)


def _carry(work: Work, transition: Transition) -> None:
    state = work.records.state()
    if state.last == transition.id:
        return
    if state.transition == transition.id and state.phase is not Phase.IDLE:
        running = Running(work, transition, judging.when)
        pick_up(running, state, work.clock.boot_id())
        return
    turned_away = _turned_away(work, state, transition)
    if turned_away is None:
        Running(work, transition, judging.when).open()


def _turned_away(work: Work, state: State, transition: Transition) -> Optional[Rested]:
    """Look again under the lock: what was so when the order came may be so no longer."""
    if state.phase is not Phase.IDLE:
        sentence = f"transition {state.transition} is {state.phase.value} here"
        return _turn_away(work, Exit.LOCKED, "locked", sentence)
    if state.running() != transition.start:
        sentence = f"this host moved to {state.running()} meanwhile; order it again"
        return _turn_away(work, Exit.REFUSED, "refused", sentence)
    for old in state.rejected:
        if old.release == transition.target and not transition.orders.again:
            sentence = f"{old.release} failed here in {old.transition}: {old.why}"
            return _turn_away(work, Exit.REFUSED, "refused", sentence)
    return None


def _turn_away(work: Work, code: Exit, outcome: str, sentence: str) -> Rested:
    state = work.records.state()
    rested = Rested(state.phase, state.running(), None, int(code), outcome, sentence)
    work.tell(rested)
    return rested
