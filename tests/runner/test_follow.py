from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from headway.runner import follow
from headway.runner.blobs import Blobs
from headway.runner.disk import Disk
from headway.runner.machine import Machine
from headway.runner.records import Records
from headway.wire.event import Event, Moved, Rested
from headway.wire.phase import Exit, Phase
from headway.wire.record import State
from headway.wire.talk import Done, FromHost, Said, Trouble
from headway.wire.tools import Ran

HELD = Rested(Phase.HELD, "a1", None, 3, "held", "held by ops@desk")
KEPT = Rested(Phase.IDLE, "b2", None, 0, "accepted", "b2 is accepted on this host")


@dataclass
class Listener:
    """A double of the controller's end: hears everything; `then` is what happens meanwhile."""

    then: Callable[[], None] = lambda: None
    said: list[FromHost] = field(default_factory=list)
    open: bool = True

    def say(self, value: FromHost) -> None:
        """Keep it."""
        self.said.append(value)

    def hear(self, _wait_s: float | None = None) -> None:
        """Say nothing; time passes."""
        self.then()


@pytest.fixture
def records(tmp_path: Path) -> Records:
    """Keep a record of one transition that is held."""
    records = Records(Disk(str(tmp_path)))
    records.prepare()
    records.disk.mkdirs(records.folder("t1"), 0o700)
    records.append_event(Event(4, 0, "t1", Moved(Phase.TRYING, Phase.HELD)))
    records.append_event(Event(5, 0, "t1", HELD))
    records.save(State(phase=Phase.HELD, transition="t1"))
    return records


def _machine(records: Records, state: str) -> Machine:
    """Double a machine on which the transition's unit is in this state."""

    def run(argv: Sequence[str], **_: object) -> Ran:
        return Ran(tuple(argv), 0, f"ActiveState={state}\n".encode(), b"", 1)

    return Machine(records.disk, run, Blobs(records.disk))


def test_a_word_that_was_answered_is_not_the_last_one(records: Records) -> None:
    """Accept of a held release once ended with "held": the old word, read before the new one."""

    def kept() -> None:
        records.append_event(Event(6, 0, "t1", KEPT))
        records.save(replace(State(), phase=Phase.IDLE, last="t1"))

    listener = Listener(kept)
    last = follow.follow(listener, _machine(records, "active"), records, "t1", since=5)  # type: ignore[arg-type]
    assert last == Done(0, KEPT.sentence)
    assert [word.event.seq for word in listener.said if isinstance(word, Said)] == [6]


def test_a_transition_at_rest_is_told_whole_and_ends_with_its_last_word(records: Records) -> None:
    """Whoever comes late hears all of it, and the word the host rests with."""
    listener = Listener()
    last = follow.follow(listener, _machine(records, "inactive"), records, "t1")  # type: ignore[arg-type]
    assert last == Done(3, HELD.sentence)
    assert len(listener.said) == 2


@pytest.mark.parametrize(
    ("since", "wanted"), [(5, Done(3, HELD.sentence)), (4, Done(3, HELD.sentence))]
)
def test_a_known_word_counts_when_no_runner_is_at_work(
    records: Records, monkeypatch: pytest.MonkeyPatch, since: int, wanted: Done
) -> None:
    """A controller that comes back after the last word hears it again instead of waiting."""
    monkeypatch.setattr(follow, "_ALIVE_EVERY_S", -1.0)
    listener = Listener()
    machine = _machine(records, "inactive")
    assert follow.follow(listener, machine, records, "t1", since=since) == wanted  # type: ignore[arg-type]


def test_a_runner_that_went_without_a_word_is_an_unknown_outcome(
    records: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No last word and nobody at work: 6, and what to look at."""
    monkeypatch.setattr(follow, "_ALIVE_EVERY_S", -1.0)
    records.append_event(Event(6, 0, "t1", Moved(Phase.HELD, Phase.KEEPING)))
    records.save(State(phase=Phase.KEEPING, transition="t1"))
    last = follow.follow(Listener(), _machine(records, "failed"), records, "t1", since=5)  # type: ignore[arg-type]
    assert isinstance(last, Trouble)
    assert last.exit_code == Exit.UNKNOWN
