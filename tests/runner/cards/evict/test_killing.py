"""One process and no other, with real processes of this test's own."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from headway.runner.cards.evict.killing import kill, pidfd
from headway.runner.cards.evict.process import Process, Processes

PROC = Processes()
IGNORES = "import signal,time; signal.signal(15, signal.SIG_IGN); print(flush=True); time.sleep(60)"


@pytest.fixture
def child() -> Iterator["subprocess.Popen[bytes]"]:
    """Start a process that ignores SIGTERM, and end it afterwards."""
    with subprocess.Popen([sys.executable, "-c", IGNORES], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.kill()


def seen(child: "subprocess.Popen[bytes]") -> Process:
    """Look at it."""
    found = PROC.of(child.pid)
    assert found is not None
    return found


def test_a_process_that_ignores_sigterm_is_ended(child: "subprocess.Popen[bytes]") -> None:
    """SIGKILL reaches it, and then it is gone for /proc although nobody waited for it yet."""
    meant = seen(child)
    child.terminate()
    assert kill(meant, PROC.of, lambda _: True) == ""
    until = time.monotonic() + 5
    while PROC.of(child.pid) is not None:
        assert time.monotonic() < until
    assert child.wait() == -signal.SIGKILL


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"started": 1}, "is another process by now"),
        ({"cgroup": "/system.slice/other.service"}, "now, not in /system.slice/other.service"),
    ],
)
def test_another_start_time_or_cgroup_is_another_process(
    child: "subprocess.Popen[bytes]", change: dict[str, object], why: str
) -> None:
    """Nothing is sent, and the reason is said."""
    meant = replace(seen(child), **change)  # type: ignore[arg-type]
    assert why in kill(meant, PROC.of, lambda _: True)
    assert child.poll() is None


def test_one_that_may_not_be_ended_any_more_is_spared(child: "subprocess.Popen[bytes]") -> None:
    """It is asked once more, of the process as it is now."""
    assert "spared" in kill(seen(child), PROC.of, lambda _: False)
    assert child.poll() is None


def test_the_signal_goes_to_who_was_held_and_to_nobody_else(
    child: "subprocess.Popen[bytes]",
) -> None:
    """Held, ended and waited for: its number may be given out anew, the pidfd reaches nobody."""
    send = pidfd(child.pid)
    child.kill()
    child.wait()
    with pytest.raises(ProcessLookupError):
        send()
    assert kill(Process(child.pid, 1, "gone", "/"), PROC.of, lambda _: True) == ""


def test_a_process_is_read_with_what_tells_it_from_another() -> None:
    """Start time as field 22 says, the cgroup whole, the command's first word alone."""
    me = PROC.of(os.getpid())
    assert me is not None
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    assert (me.started, me.kernel) == (int(fields[19]), False)
    assert me.cgroup == PROC.own_cgroup() != ""
    assert " " not in me.command
    assert me.id == f"{me.pid}:{me.started}"
    assert PROC.of(2**22 + 1) is None


def test_open_cards_are_seen_by_their_files(tmp_path: Path) -> None:
    """A tree stands for /proc: a name with brackets, handles, a zombie, and one with a thread."""
    show(tmp_path, 7, "S", ("/dev/nvidia-uvm", "/dev/null"))
    show(tmp_path, 8, "Z")
    show(tmp_path, 9, "Z", threads=2)
    found = {one.pid: one for one in Processes(str(tmp_path)).all()}
    assert sorted(found) == [7, 9]
    assert found[7].devices == ("/dev/nvidia-uvm",)
    assert (found[7].name, found[7].started, found[7].cgroup) == ("a) (b", 4711, "/x.service")
    assert found[7].command == "python3"


def show(root: Path, pid: int, state: str, opened: tuple[str, ...] = (), threads: int = 1) -> None:
    """Write what /proc would show of a process."""
    folder = root / "proc" / str(pid)
    (folder / "fd").mkdir(parents=True)
    for number in range(threads):
        (folder / "task" / str(pid + number)).mkdir(parents=True)
    for number, path in enumerate(opened):
        (folder / "fd" / str(number)).symlink_to(path)
    (folder / "stat").write_text(f"{pid} (a) (b) {state} {'0 ' * 18}4711 0 0\n")
    (folder / "cgroup").write_text("1:name=systemd:/old\n0::/x.service\n")
    (folder / "cmdline").write_text("python3\0--api-key\0secret\0")
