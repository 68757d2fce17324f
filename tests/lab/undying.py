"""STAND-IN for a process that hangs in a driver: real D state, and SIGKILL does not end it.

The kernel's v1 freezer holds it. Unlike a hang it can be undone: what was sent to it meanwhile
arrives when it is thawed.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.lab.command import LabError, run
from tests.lab.host import Host
from tests.lab.record import MOUNT_SOURCE, mount_source, pids, thaw


@contextmanager
def undying(host: Host, *numbers: int) -> Iterator[None]:
    """Let processes of a host, by their pids there, die of nothing for a while."""
    frozen, top = host.frozen, host.frozen.parent
    if mount_source(top) != MOUNT_SOURCE:
        top.mkdir(exist_ok=True)
        host.record.note("mount", str(top))
        run(["mount", "-t", "cgroup", "-o", "freezer", MOUNT_SOURCE, str(top)])
    host.record.note("frozen", str(frozen))
    frozen.mkdir()
    try:
        for number in numbers:
            (frozen / "cgroup.procs").write_text(str(outer(host, number)))
        (frozen / "freezer.state").write_text("FROZEN")
        yield
    finally:
        thaw(frozen)


def outer(host: Host, number: int) -> int:
    """Return the pid by which this machine knows a process of a host."""
    for pid in pids(host.cgroup):
        try:
            status = Path(f"/proc/{pid}/status").read_text()
        except OSError:
            continue
        if status.split("\nNSpid:\t")[1].split("\n")[0].split("\t")[1:2] == [str(number)]:
            return pid
    raise LabError(f"{host.name} has no process {number} now")
