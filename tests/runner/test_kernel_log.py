from collections.abc import Sequence
from pathlib import Path

import pytest

from headway.runner.disk import Disk
from headway.runner.kernel_log import kernel_log
from headway.wire.tools import Ran

FIRST = "6,0,0,-;Linux version 6.1.0-42-amd64\n SUBSYSTEM=x\n"
XID = "4,9123,7200000123,-;NVRM: Xid (PCI:0000:9b:00): 79, GPU has fallen off the bus.\n"
JOURNAL = b"""\
[    0.000000] gpu1 kernel: Linux version 6.1.0-42-amd64
[ 7200.000123] gpu1 kernel: NVRM: Xid (PCI:0000:9b:00): 79, GPU has fallen off the bus.
"""
SEEN = (7200, "NVRM: Xid (PCI:0000:9b:00): 79, GPU has fallen off the bus.")


class Journal:
    """A double of `journalctl`: what it prints; `asked` are its words."""

    def __init__(self, says: bytes = b"") -> None:
        self.says = says
        self.asked: list[Sequence[str]] = []

    def __call__(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        env: dict[str, str] | None = None,
        deadline_s: int = 60,
    ) -> Ran:
        """Print it."""
        assert (stdin, env) == (b"", None)
        assert deadline_s <= 10
        self.asked.append(argv)
        return Ran(tuple(argv), 0 if self.says else 1, self.says, b"", 1)


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    """Return a host without a kernel log."""
    (tmp_path / "dev").mkdir()
    (tmp_path / "run/systemd").mkdir(parents=True)
    return Disk(str(tmp_path))


def ring(disk: Disk, text: str) -> None:
    """Put records into the ring."""
    Path(disk.real("/dev/kmsg")).write_text(text)


def test_a_ring_that_still_has_the_boots_first_line_is_enough(disk: Disk) -> None:
    """It takes milliseconds; a journal of months takes seconds."""
    ring(disk, FIRST + XID)
    journal = Journal()
    lines, why = kernel_log(disk, journal)
    assert (lines[-1], why, journal.asked) == (SEEN, "", [])


def test_a_ring_that_wrapped_is_made_up_for_by_the_journal(disk: Disk) -> None:
    """The Xid of the first hour is gone from the ring in the evening."""
    ring(disk, "6,40000,9000000000,-;usb 1-1: new\n")
    assert kernel_log(disk, Journal(JOURNAL)) == ([(0, "Linux version 6.1.0-42-amd64"), SEEN], "")


def test_without_a_journal_a_wrapped_ring_says_that_it_is_not_all(disk: Disk) -> None:
    """No Xid in half a log is not "no Xid"."""
    ring(disk, XID)
    assert kernel_log(disk, Journal()) == (
        [SEEN],
        "only the newest lines are left: the kernel's ring has wrapped",
    )


def test_a_journal_that_lost_the_boot_is_not_whole(disk: Disk) -> None:
    """It was vacuumed: what is left of it is still shown."""
    lines, why = kernel_log(disk, Journal(JOURNAL.splitlines(keepends=True)[1]))
    assert lines == [SEEN]
    assert why.startswith("not visible from here")


def test_in_a_container_it_is_the_nodes(disk: Disk) -> None:
    """Its own /dev/kmsg is not there, or is its console."""
    Path(disk.real("/run/systemd/container")).write_text("lxc\n")
    assert kernel_log(disk, Journal()) == ([], "not visible from here: it is the node's")
