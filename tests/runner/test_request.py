"""A person's wish, and what a person hears who comes when it is asked for, or over already."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from headway.runner.blobs import Blobs
from headway.runner.disk import Disk
from headway.runner.machine import Machine
from headway.runner.orders.request import heard, obey
from headway.runner.orders.session import Session
from headway.runner.records import Records
from headway.wire.event import Answer, Ask, Asked, Body, Event, Moved, Replied, Rested
from headway.wire.phase import Phase
from headway.wire.record import State
from headway.wire.talk import Done, Request, Said

CONFIRM = Asked(Ask(1, "confirm", "", "", 900, "silence"))
FLOOR = Asked(Ask(7, "floor", "", "", 60, "no answer"))
MOVED = Moved(Phase.TRYING, Phase.PROVEN)
BACK = Rested(Phase.IDLE, "a1", None, 1, "went back", "back on a1: gate health failed")


@dataclass
class Listener:
    """A double of the controller's end that keeps what it hears."""

    said: list[Any] = field(default_factory=list)

    def say(self, value: object) -> None:
        """Keep it."""
        self.said.append(value)


@pytest.mark.parametrize(
    ("bodies", "after"),
    [
        ((), 0),
        ((MOVED, MOVED), 2),
        ((MOVED, CONFIRM, MOVED), 1),
        ((FLOOR, Replied(Answer(7, "ok", "controller")), MOVED), 3),
        ((FLOOR, Replied(Answer(7, "ok", "controller")), CONFIRM), 2),
        ((CONFIRM, MOVED, CONFIRM), 2),
    ],
)
def test_what_is_asked_and_open_is_for_a_newcomer_too(bodies: tuple[Body, ...], after: int) -> None:
    """Whoever resumes while a confirmation is asked for can give it: an ask is level-triggered."""
    assert heard([Event(n, 0, "t1", body) for n, body in enumerate(bodies, 1)]) == after


def test_who_resumes_after_the_end_hears_how_it_ended(tmp_path: Path) -> None:
    """The controller was lost, the host went back meanwhile: that is 1, and not "nothing"."""
    records = Records(Disk(str(tmp_path)))
    records.prepare()
    records.disk.mkdirs(records.folder("t1"), 0o700)
    bodies: tuple[Body, ...] = (MOVED, BACK)
    for n, body in enumerate(bodies, 1):
        records.append_event(Event(n, 0, "t1", body))
    records.save(State(last="t1"))
    machine = Machine(records.disk, cast("Any", None), Blobs(records.disk))
    listener = Listener()
    session = Session(cast("Any", listener), machine, records, cast("Any", None))
    assert obey(session, Request("resume", "me")) == Done(1, BACK.sentence)
    assert listener.said == [Said(Event(2, 0, "t1", BACK))]
    assert obey(session, Request("hold", "me")) == Done(0, "nothing is in hand")
