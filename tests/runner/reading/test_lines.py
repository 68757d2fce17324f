"""The lines of one launch: which launch, which lines, and what is missing of them."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from headway.runner.blobs import Blobs
from headway.runner.disk import Disk
from headway.runner.machine import Machine
from headway.runner.orders.session import Session
from headway.runner.reading import lines
from headway.runner.records import Records
from headway.wire.record import Acceptance, State
from headway.wire.release import Part, SubjectSpec, release_of
from headway.wire.talk import Done, Logged, Logs, Trouble
from tests.runner.resources.scripted import Scripted

OLD, NOW = "a" * 32, "b" * 32
STARTED = "39f53479d3a045ac8e11786248231fbf"
SHOW = (
    f"ActiveState=active\nSubState=running\nInvocationID={NOW}\nMainPID=9\nNRestarts=0\n"
    "ControlGroup=/x\nResult=success\nExecMainStartTimestampMonotonic=5\n"
)
RELEASE = release_of((Part("llama", "llama_cpp", subject=SubjectSpec("llama.service")),))


@dataclass
class Listener:
    """A double of the controller's end that keeps what it hears."""

    said: list[Any] = field(default_factory=list)

    def say(self, value: object) -> None:
        """Keep it."""
        self.said.append(value)


def _entry(launch: str, text: str, **more: Any) -> dict[str, Any]:
    own = {"_SYSTEMD_INVOCATION_ID": launch} if "_PID" not in more else {"INVOCATION_ID": launch}
    return {"MESSAGE": text, "PRIORITY": "6", "__REALTIME_TIMESTAMP": "1", **own, **more}


ENTRIES = [
    entry
    for launch in (OLD, NOW)
    for entry in (
        _entry(launch, "Started llama.", _PID="1", MESSAGE_ID=STARTED),
        _entry(launch, f"loaded by {launch[0]}"),
        _entry(launch, f"error of {launch[0]}", PRIORITY="3"),
    )
]


def _journal(argv: Sequence[str], deadline_s: int) -> Iterator[bytes]:
    """Be journalctl: systemd's words at starts, or all of one launch."""
    assert deadline_s > 0
    launch = next((word[-32:] for word in argv if word.startswith("INVOCATION_ID=")), "")
    for entry in ENTRIES:
        of = entry.get("INVOCATION_ID", "") or entry.get("_SYSTEMD_INVOCATION_ID", "")
        if of == launch if launch else entry.get("_PID") == "1":
            yield json.dumps(entry).encode()


def _told(folder: Path, order: Logs, show: str = SHOW) -> tuple[list[Logged], object]:
    disk = Disk(str(folder))
    records = Records(disk)
    records.prepare()
    records.keep_release(RELEASE)
    records.save(State(accepted=(Acceptance(RELEASE.id, "c1", 1, "me", "abc"),)))
    listener = Listener()
    run = Scripted({"systemctl show": (0, show, "")})
    machine = Machine(disk, run, Blobs(disk))
    session = Session(cast("Any", listener), machine, records, cast("Any", None))
    last = lines.tell(session, order, _journal)
    return listener.said, last


@pytest.mark.parametrize(
    ("launch", "of"), [("current", "b"), ("previous", "a"), ("aaaa", "a"), ("bbbbbbbb", "b")]
)
def test_only_the_lines_of_the_launch_that_is_asked_for(
    launch: str, of: str, tmp_path: Path
) -> None:
    """The same unit logged the same words before: no line of another launch is among these."""
    [logged], last = _told(tmp_path, Logs(launch=launch))
    assert last == Done(0)
    assert logged.launch == of * 32
    assert [line.text for line in logged.lines] == [
        "Started llama.",
        f"loaded by {of}",
        f"error of {of}",
    ]
    assert logged.incomplete == ""


def test_grep_and_last_leave_out_and_say_how_much(tmp_path: Path) -> None:
    """Whoever reads the newest line must know that there are older ones."""
    [logged], _ = _told(tmp_path, Logs(grep="of|by", last=1))
    assert [line.text for line in logged.lines] == ["error of b"]
    assert logged.skipped == 1


@pytest.mark.parametrize(
    ("order", "said"),
    [
        (Logs(part="web"), "no part 'web': llama"),
        (Logs(launch="cccc"), "no such launch of llama.service in the journal; oldest first"),
    ],
)
def test_what_is_not_there_is_exit_2_with_what_is(order: Logs, said: str, tmp_path: Path) -> None:
    """The next command is in the sentence."""
    words, last = _told(tmp_path, order)
    assert words == []
    assert isinstance(last, Trouble)
    assert last.exit_code == 2
    assert said in last.sentence


def test_of_a_unit_that_is_down_current_is_its_last_launch(tmp_path: Path) -> None:
    """Whoever asks for the log of what just died wants the words it died with."""
    down = SHOW.replace("ActiveState=active", "ActiveState=failed").replace(
        "MainPID=9", "MainPID=0"
    )
    [logged], _ = _told(tmp_path, Logs(), down)
    assert logged.launch == NOW


def test_lines_that_rotated_away_are_missed_aloud(tmp_path: Path) -> None:
    """An absent line proves nothing then."""
    gone = ENTRIES.pop(3)
    try:
        [logged], _ = _told(tmp_path, Logs())
    finally:
        ENTRIES.insert(3, gone)
    assert logged.incomplete.startswith("its first entry is lost")
