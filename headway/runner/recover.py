"""Picks up a transition that lies there, by the phase table.

After a crash of the runner, after a power cut, or because a person said what becomes of a held
one: the same code for all.
"""

from typing import Callable, Dict, Optional

from headway.runner.phases import Loss, Recovery, Trigger, loss_of, recovered
from headway.runner.transition import Running, Trial
from headway.wire.event import Rested
from headway.wire.phase import Phase
from headway.wire.record import State
from headway.wire.talk import Request

_WHY = {
    Loss.CRASH: "the runner died in the middle",
    Loss.CUT: "the host went down in the middle",
}
_TO_RETURNING = {
    Phase.TRYING: Trigger.FAILED,
    Phase.PROVEN: Trigger.FAILED,
    Phase.HELD: Trigger.BACK,
    Phase.STUCK: Trigger.BACK,
}
PERSON = ("resume", "accept", "back")


def pick_up(running: Running, state: State, boot_id: str) -> Optional[Rested]:
    """Bring the transition in hand to rest; None when there is nothing to do."""
    running.work.steps.tidy(running.changes)
    loss = loss_of(running.transition, boot_id)
    if loss is Loss.CRASH and state.phase in (Phase.HELD, Phase.STUCK):
        request = _wish(running)
        if request is not None:
            return _heed(running, state, request)
    confirmed = running.work.desk.confirmed()
    if confirmed is None and not running.must_be_confirmed():
        confirmed = True
    action = recovered(state.phase, loss, confirmed=confirmed)
    if action is Recovery.RETURN and state.phase is not Phase.RETURNING:
        return running.returning(Trial(_TO_RETURNING[state.phase], None, _because(state, loss)))
    if action is Recovery.KEEP and state.phase is not Phase.KEEPING:
        return running.keeping(running.transition.orders.by)
    return _ACTIONS[action](running)


def _because(state: State, loss: Loss) -> str:
    return f"{state.why}; {_WHY[loss]}" if state.why else _WHY[loss]


def _wish(running: Running) -> Optional[Request]:
    records, name = running.work.records, running.transition.id
    found = (records.request(name, what) for what in PERSON)
    return next((request for request in found if request is not None), None)


def _heed(running: Running, state: State, request: Request) -> Rested:
    """Do what a person wishes of a held or stuck transition; STUCK can only be sent back."""
    running.work.records.drop_request(running.transition.id, request.what)
    if request.what == "back":
        return running.back(request.by)
    if state.phase is Phase.STUCK:
        return running.rest_again()
    if request.what == "accept":
        return running.keeping(f"{request.by}: {request.reason}" if request.reason else request.by)
    return running.again()


_ACTIONS: Dict[Recovery, Callable[[Running], Optional[Rested]]] = {
    Recovery.NOTHING: lambda _: None,
    Recovery.CLOSE: Running.close,
    Recovery.RETURN: Running.go_back,
    Recovery.KEEP: Running.keep,
    Recovery.ASK: Running.proven,
    Recovery.REST: Running.rest_again,
}
