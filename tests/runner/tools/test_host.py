"""The machine as a check sees it, and commands that end with their gate."""

from pathlib import Path

from headway.runner.tools import tools_of
from headway.runner.tools.host import RealHost
from headway.runner.tools.limit import limited
from headway.wire.release import Part
from headway.wire.tools import Ran
from tests.runner.resources.scripted import machine_at


def test_space_is_that_of_the_nearest_folder(tmp_path: Path) -> None:
    """A model's folder need not be there yet."""
    machine, _ = machine_at(tmp_path)

    space = RealHost(machine, lambda _part: ()).space("/var/lib/models/a/b")

    assert space.path == "/var/lib"
    assert space.free_bytes > 0
    assert space.free_inodes > 0


def test_memory_is_what_the_kernel_calls_available(tmp_path: Path) -> None:
    """MemFree would leave out what the page cache gives back."""
    machine, _ = machine_at(tmp_path)
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/meminfo").write_text("MemFree: 1 kB\nMemAvailable:  2048 kB\n")

    assert RealHost(machine, lambda _part: ()).memory_available_bytes() == 2048 * 1024


def test_a_command_gets_no_more_than_is_left() -> None:
    """What a check asks for counts as long as its gate has that much time."""
    given: list[int] = []

    def run(argv: object, *, stdin: object, env: object, deadline_s: int) -> Ran:
        del argv, stdin, env
        given.append(deadline_s)
        return Ran((), 0, b"", b"", 0)

    bounded = limited(run, lambda: 20)  # type: ignore[arg-type] # as much of Run as is used
    bounded(["x"], deadline_s=60)
    bounded(["x"], deadline_s=5)

    assert given == [20, 5]


def test_tools_are_of_one_part(tmp_path: Path) -> None:
    """Differences are asked for the part in hand."""
    machine, _ = machine_at(tmp_path)
    part = Part("web", "service")

    tools = tools_of(machine, part, lambda one: (f"{one.name} differs",), lambda: 9)

    assert tools.part is part
    assert tools.host.differences(part) == ("web differs",)
