"""What a stopped part left behind on a host without cards is ended, and nobody else."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from headway.runner.blobs import Blobs
from headway.runner.disk import Disk
from headway.runner.freeing import NoCards, NotFreedError
from headway.runner.machine import Machine
from headway.wire.tools import Ran
from tests.runner.world import StillClock

UNIT = "chat.service"


@dataclass
class Systemd:
    """A unit that is down, and who is left in its cgroup."""

    root: Path
    state: str = "failed"
    cgroup: str = f"/system.slice/{UNIT}"
    undying: bool = False
    killed: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Leave two processes in its cgroup and one in all."""
        self.procs = self.root / f"sys/fs/cgroup/system.slice/{UNIT}/cgroup.procs"
        self.procs.parent.mkdir(parents=True)
        self.procs.write_text("781\n958\n")
        (self.root / "sys/fs/cgroup/cgroup.procs").write_text("1\n")

    def __call__(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        env: dict[str, str] | None = None,
        deadline_s: int = 60,
    ) -> Ran:
        """Answer as systemctl does."""
        del stdin, env, deadline_s
        if argv[1] == "kill":
            self.killed.append(argv[-1])
            self.procs.write_text("958\n" if self.undying else "")
        shown = f"ActiveState={self.state}\nControlGroup={self.cgroup}\n"
        return Ran(tuple(argv), 0, shown.encode(), b"", 0)


def freeing(systemd: Systemd) -> NoCards:
    """Give what looks after the part `chat` of such a unit."""
    disk = Disk(str(systemd.root))
    made = NoCards(Machine(disk, systemd, Blobs(disk)), StillClock())
    made.note("chat", (UNIT,), ())
    return made


def test_who_outlived_a_unit_is_killed(tmp_path: Path) -> None:
    """EngineCore ran on after its server was killed, beside the next launch's (vllm#55510)."""
    systemd = Systemd(tmp_path)
    made = freeing(systemd)

    assert made.owes("chat")
    assert made.free("chat") == f"2 processes outlived {UNIT} and were killed"
    assert (systemd.killed, made.killed) == ([UNIT], {"chat"})
    assert not made.owes("chat")


@pytest.mark.parametrize(
    ("state", "cgroup"),
    [("active", f"/system.slice/{UNIT}"), ("inactive", ""), ("inactive", "/")],
    ids=["up again", "its cgroup is gone", "not its own"],
)
def test_nobody_else_is_touched(tmp_path: Path, state: str, cgroup: str) -> None:
    """A unit that is up is another's to stop; without a cgroup of its own nobody is left."""
    made = freeing(Systemd(tmp_path, state, cgroup))

    assert not made.owes("chat")
    assert made.free("chat") == ""
    assert made.killed == set()


def test_who_hangs_makes_it_stuck(tmp_path: Path) -> None:
    """A process in D state outlives SIGKILL: going back would fail as this did."""
    made = freeing(Systemd(tmp_path, undying=True))

    with pytest.raises(NotFreedError, match=r"does not end pid 958 of chat\.service"):
        made.free("chat")
