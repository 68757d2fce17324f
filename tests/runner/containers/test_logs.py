"""The lines of one launch of a container: all of them, or the reason why not all."""

from pathlib import Path
from typing import Any

from headway.runner.containers import launches
from headway.runner.containers.logs import ContainerLogs
from headway.runner.docker_log import messages
from headway.wire.gate import Subject
from headway.wire.tools import Ran
from tests.runner.containers.world import PROJECT, StackWorld

OUT, ERR = 1, 2


def frame(stream: int, text: str) -> bytes:
    """Word a frame of Docker's multiplexed stream."""
    data = text.encode()
    return bytes([stream, 0, 0, 0]) + len(data).to_bytes(4, "big") + data


def at(second: int, text: str) -> str:
    """Word a line behind Docker's time."""
    return f"2026-01-01T00:00:{second:02}.000000000Z {text}\n"


def launch(world: StackWorld) -> tuple[Subject, dict[str, Any]]:
    """Give the engine's present launch, and its container."""
    found = launches.current(world.machine, f"{PROJECT}/engine")
    assert found is not None
    return found, world.docker.one(PROJECT, "engine")


def test_frames_are_taken_apart_by_stream() -> None:
    """A frame may hold several lines; a cut one at the end says what it has."""
    body = frame(OUT, "a\nb\n") + frame(ERR, "c\n") + frame(OUT, "rest")[:-2]

    assert messages(body) == [("a", False), ("b", False), ("c", True), ("re", False)]


def test_a_terminal_has_one_plain_stream() -> None:
    """Without frames all is one stream, with a terminal's carriage returns."""
    assert messages(b"a\r\nb\n") == [("a", False), ("b", False)]
    assert messages(b"") == []


def test_lines_are_kept_and_read_on_from_the_last(world: StackWorld) -> None:
    """Docker's since is a second wide: a line that was read already does not count twice."""
    subject, one = launch(world)
    logs = ContainerLogs(world.machine)
    world.docker.logs[one["Id"]] = frame(OUT, at(1, "loading")) + frame(ERR, at(2, "warning"))
    first = logs.of(subject)
    world.docker.logs[one["Id"]] = frame(ERR, at(2, "warning")) + frame(OUT, at(3, "listening"))

    second = logs.of(subject)

    assert (first.complete, second.complete) == (True, True)
    assert [line.text for line in second.lines] == ["loading", "warning", "listening"]
    assert [line.priority for line in second.lines] == [6, 4, 6]
    since = [path for path in world.docker.asked if "/logs?" in path]
    assert "since=1767225602" in since[-1]


def test_a_driver_that_gives_nothing_back_is_no_empty_log(world: StackWorld) -> None:
    """Nothing may be concluded from lines that nobody can read."""
    subject, one = launch(world)
    one["HostConfig"]["LogConfig"]["Type"] = "none"

    read = ContainerLogs(world.machine).of(subject)

    assert (read.complete, read.why) == (False, "log driver none cannot be read back")


def test_a_removed_container_took_its_log_along(world: StackWorld) -> None:
    """That is said, and so is a Docker that is down."""
    subject, one = launch(world)
    logs = ContainerLogs(world.machine)
    del world.docker.containers[one["Id"]]
    assert "was removed, its log with it" in logs.of(subject).why

    world.docker.close()
    assert "is not running here" in logs.of(subject).why


def test_a_rotated_log_may_lack_its_first_lines(world: StackWorld, tmp_path: Path) -> None:
    """`max-file` files and no more are kept: once that many lie there one may have gone."""
    subject, one = launch(world)
    folder = world.root / "logs"
    folder.mkdir()
    one["LogPath"] = "/logs/x.log"
    one["HostConfig"]["LogConfig"]["Config"] = {"max-size": "1m", "max-file": "2"}
    logs = ContainerLogs(world.machine)
    assert logs.of(subject).complete

    (folder / "x.log.1").touch()

    assert "may have been rotated away" in logs.of(subject).why
    del tmp_path


def test_what_journald_dropped_makes_it_incomplete(world: StackWorld) -> None:
    """Its notice is about all of docker.service: nobody knows whose lines they were."""
    subject, one = launch(world)
    one["HostConfig"]["LogConfig"]["Type"] = "journald"
    logs = ContainerLogs(world.machine)
    assert logs.of(subject).complete
    world.docker.other = lambda argv, **_: Ran(
        tuple(argv), 0, b"Suppressed 99 messages from docker.service\n", b"", 0
    )

    why = logs.of(subject).why

    assert why == "journald dropped lines: Suppressed 99 messages from docker.service"
