"""Processes and sockets out of a /proc that is a folder of a test."""

from pathlib import Path

import pytest

from headway.runner.tools.proc import RealProc
from headway.wire.tools import Listener

HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n"
ROW = "   0: {address}:{port:04X} 00000000:0000 {state} 0:0 00:00000000 0  0  0 {inode} 1\n"
ANY, LOOPBACK = "00000000", "0100007F"
LOOPBACK6 = "00000000000000000000000001000000"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Make a /proc with two processes and five sockets."""
    net = tmp_path / "proc/net"
    net.mkdir(parents=True)
    rows = [(ANY, 8080, "0A", 11), (LOOPBACK, 8080, "01", 12), (LOOPBACK, 8081, "0A", 13)]
    (net / "tcp").write_text(HEAD + "".join(row(*one) for one in rows))
    (net / "tcp6").write_text(HEAD + row(LOOPBACK6, 8080, "0A", 14) + row(ANY * 4, 8082, "0A", 99))
    process(
        tmp_path, 41, [11, 13], b"/bin/web\0--port\0" + b"8080\0\0", "/system.slice/web.service"
    )
    process(tmp_path, 42, [11, 14], b"web: worker", "/system.slice/old.service")
    return tmp_path


def row(address: str, port: int, state: str, inode: int) -> str:
    """Write one socket as the kernel does."""
    return ROW.format(address=address, port=port, state=state, inode=inode)


def process(root: Path, pid: int, inodes: list[int], cmdline: bytes, cgroup: str) -> None:
    """Make a process that holds these sockets."""
    folder = root / "proc" / str(pid)
    (folder / "fd").mkdir(parents=True)
    for n, inode in enumerate(inodes):
        (folder / "fd" / str(n)).symlink_to(f"socket:[{inode}]")
    (folder / "cmdline").write_bytes(cmdline)
    (folder / "environ").write_bytes(b"HOME=/root\0A=b=c\0EMPTY=\0")
    (folder / "cgroup").write_text(f"1:name=systemd:/\n0::{cgroup}\n")


def test_every_listener_on_a_port_is_named(root: Path) -> None:
    """Both families; connections are none; of a shared socket the parent is named."""
    found = RealProc(str(root)).listeners(8080)

    assert found == (
        Listener("0.0.0.0", 8080, 41, "/system.slice/web.service", "/bin/web --port 8080"),  # noqa: S104
        Listener("::1", 8080, 42, "/system.slice/old.service", "web: worker"),
    )


def test_a_socket_without_a_process_is_still_a_listener(root: Path) -> None:
    """It may belong to a namespace whose processes cannot be seen."""
    assert RealProc(str(root)).listeners(8082) == (Listener("::", 8082, 0, "", ""),)


def test_nobody_listens(root: Path) -> None:
    """An empty answer, no error."""
    assert RealProc(str(root)).listeners(9) == ()


def test_words_are_whole(root: Path) -> None:
    """Empty words count; a title without a NUL is one word; a process that is gone has none."""
    proc = RealProc(str(root))

    assert proc.argv(41) == (b"/bin/web", b"--port", b"8080", b"")
    assert proc.argv(42) == (b"web: worker",)
    assert proc.argv(43) == ()


def test_the_environment_is_read(root: Path) -> None:
    """Values may hold =, and be empty."""
    assert RealProc(str(root)).environ(41) == {"HOME": "/root", "A": "b=c", "EMPTY": ""}
    assert RealProc(str(root)).environ(43) == {}


def test_a_cgroup_has_processes_below_it(root: Path) -> None:
    """A unit's workers may sit in child cgroups."""
    folder = root / "sys/fs/cgroup/system.slice/web.service"
    (folder / "workers").mkdir(parents=True)
    (folder / "cgroup.procs").write_text("41\n")
    (folder / "workers/cgroup.procs").write_text("43\n42\n")

    assert RealProc(str(root)).pids("/system.slice/web.service") == (41, 42, 43)
    assert RealProc(str(root)).pids("/system.slice/none.service") == ()
