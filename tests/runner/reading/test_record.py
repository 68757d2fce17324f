"""The record told: releases by the beginning of their ids, without the text of a secret."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from headway.runner.blobs import Blobs
from headway.runner.disk import Disk
from headway.runner.machine import Machine
from headway.runner.orders.session import Session
from headway.runner.reading import record
from headway.runner.records import Records
from headway.wire.event import Event, Noted
from headway.wire.record import Acceptance, Orders, State, Transition
from headway.wire.release import Part, release_of
from headway.wire.resources import Blob, File
from headway.wire.talk import Done, Recall, Recalled, Trouble


@dataclass
class Listener:
    """A double of the controller's end that keeps what it hears."""

    said: list[Any] = field(default_factory=list)

    def say(self, value: object) -> None:
        """Keep it."""
        self.said.append(value)


def _session(folder: Path) -> tuple[Session, str]:
    disk = Disk(str(folder))
    records, blobs = Records(disk), Blobs(disk)
    records.prepare()
    open_, secret = b"ctx = 1\n", b"key = 2\n"
    files = tuple(
        File(f"/etc/{n}", Blob(blobs.put(data), len(data), n == 1))
        for n, data in enumerate((open_, secret, b"\xff\xfe"))
    )
    release = release_of((Part("llama", "llama_cpp", files),))
    records.keep_release(release)
    records.save(State(accepted=(Acceptance(release.id, "c1", 1, "me", "abc"),)))
    records.keep_transition(
        Transition(1, "t1", "rollout", "empty", release.id, "c1", Orders("me"), "r", "b", 1)
    )
    records.append_event(Event(1, 5, "t1", Noted("something")))
    machine = Machine(disk, cast("Any", None), blobs)
    return Session(cast("Any", Listener()), machine, records, cast("Any", None)), release.id


def _said(session: Session) -> list[Any]:
    return cast("Listener", session.channel).said


def test_a_release_is_found_by_how_its_id_begins(tmp_path: Path) -> None:
    """People type four digits; what stands accepted has a word of its own."""
    session, name = _session(tmp_path)
    for wanted in (name, name[:4], "accepted"):
        assert record.tell(session, Recall((wanted,))) == Done(0)
    assert [word.releases[0].id for word in _said(session)] == [name] * 3


def test_texts_are_of_files_that_are_no_secret(tmp_path: Path) -> None:
    """A secret's bytes stay where they are; what is no text is left out."""
    session, _ = _session(tmp_path)
    record.tell(session, Recall(("accepted",)))
    [recalled] = _said(session)
    assert isinstance(recalled, Recalled)
    assert list(recalled.texts.values()) == ["ctx = 1\n"]


def test_a_release_that_is_not_here_is_exit_2_with_those_that_are(tmp_path: Path) -> None:
    """The sentence names what could have been meant."""
    session, name = _session(tmp_path)
    last = record.tell(session, Recall(("0000",)))
    assert isinstance(last, Trouble)
    assert last.exit_code == 2
    assert name in last.sentence


def test_the_newest_transitions_come_with_their_events_and_what_failed_left(tmp_path: Path) -> None:
    """A report is made of the record alone."""
    session, _ = _session(tmp_path)
    folder = "/var/lib/headway/failed/t1"
    session.records.disk.mkdirs(folder, 0o700)
    session.records.disk.write(
        f"{folder}/llama.service.journal", b"died", 0o600, *session.records.disk.me()
    )
    record.tell(session, Recall(transitions=5))
    [recalled] = _said(session)
    [one] = recalled.transitions
    assert (one.transition.id, len(one.events)) == ("t1", 1)
    assert one.left == {"llama.service.journal": "died"}
