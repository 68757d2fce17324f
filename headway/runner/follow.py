"""Says a transition's events as they come, and lands what the controller answers meanwhile."""

import time
from typing import Optional

from headway.runner import launch
from headway.runner.channel import Channel
from headway.runner.desk import CONFIRM
from headway.runner.machine import Machine
from headway.runner.records import Records
from headway.wire.event import Answer, Event, Rested
from headway.wire.phase import Exit, Phase
from headway.wire.talk import Done, FromHost, Request, Said, Trouble

_LOOK_S = 0.05
_ALIVE_EVERY_S = 3.0


def follow(
    channel: Channel, machine: Machine, records: Records, transition: str, since: int = 0
) -> Optional[FromHost]:
    """Follow until the transition rests or its runner is gone for good; the last line to say.

    A last word that was known before (`since`) may have been answered by a person: it counts only
    when no runner is at work on it any more. None when the controller is gone: the transition goes
    on all the same.
    """
    offset = 0
    looked = time.monotonic()
    last: Optional[Event] = None
    while channel.open:
        events, offset = records.tail(transition, offset)
        for event in events:
            if event.seq > since:
                channel.say(Said(event))
        last = events[-1] if events else last
        word = last.body if last and _rests(records, transition) else None
        if last and isinstance(word, Rested) and last.seq > since:
            return Done(word.exit_code, word.sentence)
        heard = channel.hear(_LOOK_S)
        if isinstance(heard, Answer):
            land(records, transition, heard)
        elif isinstance(heard, Request):
            records.put_request(transition, heard)
        if not events and time.monotonic() - looked > _ALIVE_EVERY_S:
            looked = time.monotonic()
            if launch.is_running(machine, transition):
                continue
            if isinstance(word, Rested):
                return Done(word.exit_code, word.sentence)
            return Trouble(Exit.UNKNOWN, _silent(records, transition))
    return None


def land(records: Records, transition: str, answer: Answer) -> bool:
    """Land an answer; a confirmation counts only while it is waited for."""
    state = records.state()
    waited_for = state.transition == transition and state.phase is Phase.PROVEN
    if answer.n == CONFIRM and not waited_for:
        return False
    records.put_answer(transition, answer)
    return True


def _rests(records: Records, transition: str) -> bool:
    """Tell a last word from one that a person has since answered: its runner is at work again."""
    state = records.state()
    resting = (Phase.IDLE, Phase.HELD, Phase.STUCK)
    return state.transition != transition or state.phase in resting


def _silent(records: Records, transition: str) -> str:
    state = records.state()
    return (
        f"the runner of {transition} ended without a last word, in phase {state.phase.value}; "
        f"see {records.folder(transition)}/runner.log; `invoke resume` picks it up"
    )
