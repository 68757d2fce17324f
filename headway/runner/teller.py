"""Tells what happens: every event gets the next number and goes to the event file at once."""

from headway.runner.clock import Clock
from headway.runner.records import Records
from headway.wire.event import Body, Event


class Teller:
    """Numbers events on from what the file of this transition already holds."""

    def __init__(self, records: Records, transition: str, clock: Clock) -> None:
        self.records = records
        self.transition = transition
        self.clock = clock
        told = records.events(transition)
        self.seq = told[-1].seq if told else 0

    def __call__(self, body: Body) -> None:
        """Append one event; best effort, the transition goes on whatever the disk says."""
        self.seq += 1
        self.records.append_event(Event(self.seq, self.clock.now_ms(), self.transition, body))
