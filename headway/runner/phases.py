"""The phase table of a transition, pure: what leads where, and what a loss leaves behind.

Everything that moves a transition asks `after`; everything that finds one lying there, after a
crash of the runner or a power cut, asks `recovered`. A walk over both proves the invariants
(tests/runner/test_phases.py), so no other module decides about phases.
"""

from enum import Enum
from typing import Dict, Optional, Tuple

from headway.wire.phase import Phase
from headway.wire.record import Transition


class Trigger(str, Enum):
    """What can happen to a transition."""

    BEGIN = "begin"
    READY = "ready passed and the floor holds"
    NOT_READY = "ready failed, was invalid, or the floor does not hold"
    PROVED = "every gate on the host passed"
    FAILED = "a gate failed, a step failed, or a person aborted"
    FAILED_AGAIN = "the accepted release itself failed"
    SWEPT = "every release of a sweep had its launch"
    UNJUDGED = "a gate was invalid twice, or a person holds it"
    UNJUDGED_RETURN = "a gate was invalid twice, and the orders say return"
    CONFIRMED = "nothing to confirm, or confirmed"
    SILENT = "nobody confirmed"
    SILENT_REACH = "nobody confirmed, and the way in was touched"
    JUDGE_AGAIN = "a person resumes"
    ACCEPTED = "a person accepts"
    BACK = "a person rolls back"
    KEPT = "the accepted release is set up to stay"
    RETURNED = "the accepted release is whole, running and healthy"
    CANNOT_RETURN = "the accepted release could not be brought back"


_TABLE: Dict[Tuple[Phase, Trigger], Phase] = {
    (Phase.IDLE, Trigger.BEGIN): Phase.OPEN,
    (Phase.OPEN, Trigger.READY): Phase.TRYING,
    (Phase.OPEN, Trigger.NOT_READY): Phase.IDLE,
    (Phase.TRYING, Trigger.PROVED): Phase.PROVEN,
    (Phase.TRYING, Trigger.FAILED): Phase.RETURNING,
    (Phase.TRYING, Trigger.FAILED_AGAIN): Phase.HELD,
    (Phase.TRYING, Trigger.CANNOT_RETURN): Phase.STUCK,
    (Phase.TRYING, Trigger.SWEPT): Phase.RETURNING,
    (Phase.TRYING, Trigger.UNJUDGED): Phase.HELD,
    (Phase.TRYING, Trigger.UNJUDGED_RETURN): Phase.RETURNING,
    (Phase.PROVEN, Trigger.CONFIRMED): Phase.KEEPING,
    (Phase.PROVEN, Trigger.SILENT): Phase.HELD,
    (Phase.PROVEN, Trigger.SILENT_REACH): Phase.RETURNING,
    (Phase.PROVEN, Trigger.FAILED): Phase.RETURNING,
    (Phase.HELD, Trigger.JUDGE_AGAIN): Phase.TRYING,
    (Phase.HELD, Trigger.ACCEPTED): Phase.KEEPING,
    (Phase.HELD, Trigger.BACK): Phase.RETURNING,
    (Phase.KEEPING, Trigger.KEPT): Phase.IDLE,
    (Phase.RETURNING, Trigger.RETURNED): Phase.IDLE,
    (Phase.RETURNING, Trigger.CANNOT_RETURN): Phase.STUCK,
    (Phase.STUCK, Trigger.BACK): Phase.RETURNING,
}


class PhaseError(Exception):
    """Something tried to move a transition where the table has no way."""


def after(phase: Phase, trigger: Trigger) -> Phase:
    """Say which phase follows, or raise PhaseError: no other way leads on."""
    try:
        return _TABLE[phase, trigger]
    except KeyError:
        raise PhaseError(f"{phase.value}: there is no way on when {trigger.value}") from None


def can(phase: Phase, trigger: Trigger) -> bool:
    """Say whether the table has this way."""
    return (phase, trigger) in _TABLE


class Loss(str, Enum):
    """How a transition came to lie there without a runner."""

    CRASH = "the runner died"
    CUT = "the power was cut"


class Recovery(str, Enum):
    """What recovery does with a phase it finds."""

    NOTHING = "nothing to do"
    CLOSE = "take guards off, let the accepted release start, rest IDLE"
    RETURN = "go back"
    KEEP = "go forward and keep"
    ASK = "ask for confirmation again"
    REST = "leave it for a person"


_RECOVERY: Dict[Phase, Tuple[Recovery, Recovery]] = {
    Phase.IDLE: (Recovery.NOTHING, Recovery.NOTHING),
    Phase.OPEN: (Recovery.CLOSE, Recovery.CLOSE),
    Phase.TRYING: (Recovery.RETURN, Recovery.RETURN),
    Phase.PROVEN: (Recovery.ASK, Recovery.ASK),
    Phase.HELD: (Recovery.REST, Recovery.RETURN),
    Phase.KEEPING: (Recovery.KEEP, Recovery.KEEP),
    Phase.RETURNING: (Recovery.RETURN, Recovery.RETURN),
    Phase.STUCK: (Recovery.REST, Recovery.RETURN),
}


def recovered(phase: Phase, loss: Loss, *, confirmed: Optional[bool] = None) -> Recovery:
    """Say what recovery does; `confirmed` is the answer on disk to PROVEN's question.

    After a power cut in PROVEN a confirmation on disk means KEEP; without one the release is not
    running any more (the guards kept it down), so what was proved is gone: RETURN.
    """
    action = _RECOVERY[phase][0 if loss is Loss.CRASH else 1]
    if action is Recovery.ASK:
        if confirmed is not None:
            return Recovery.KEEP if confirmed else Recovery.RETURN
        return Recovery.ASK if loss is Loss.CRASH else Recovery.RETURN
    return action


def loss_of(transition: Transition, boot_id: str) -> Loss:
    """Tell a power cut from a crash: under another boot id every deadline is void."""
    return Loss.CRASH if transition.boot_id == boot_id else Loss.CUT
