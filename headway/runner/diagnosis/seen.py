"""What one look at a host saw: plain data, so that every probe is a function of it alone."""

from dataclasses import dataclass, field
from typing import Dict, Optional, Tuple

from headway.wire.cards import CardsSeen
from headway.wire.gate import Criteria
from headway.wire.record import State
from headway.wire.release import EMPTY, Part, Release
from headway.wire.resources import is_container
from headway.wire.tools import Listener

UP = ("active", "reloading", "activating", "refreshing")


@dataclass(frozen=True)
class Recorded:
    """Headway's record: `trouble` is (finding, path, sentence) of each thing that does not read.

    Without a state, `release` is the newest one kept. `guarded` are units that carry a guard.
    """

    state: Optional[State] = None
    release: Release = EMPTY
    criteria: Optional[Criteria] = None
    trouble: Tuple[Tuple[str, str, str], ...] = ()
    guarded: Tuple[str, ...] = ()


@dataclass(frozen=True)
class Unit:
    """A unit in systemd's own words; what it does not say is ""."""

    name: str
    values: Dict[str, str] = field(default_factory=dict)

    def __getitem__(self, name: str) -> str:
        return self.values.get(name, "")

    def number(self, name: str) -> int:
        """Read a property that counts; 0 where there is none."""
        value = self[name]
        return int(value) if value.isdigit() else 0

    @property
    def up(self) -> bool:
        """Say whether it runs, or starts just now; not while it waits to be started again."""
        return self["ActiveState"] in UP and self["SubState"] != "auto-restart"


@dataclass(frozen=True)
class Line:
    """A line of the journal: `own` is the service's, else systemd's or journald's about it."""

    at_s: int
    text: str
    own: bool
    launch: str = ""
    kind: str = ""


@dataclass(frozen=True)
class Process:
    """A process; `cards`: it has a card's device open. `started` is field 22 of its stat."""

    pid: int
    parent: int
    state: str
    started: int
    name: str
    cgroup: str
    cards: bool = False
    waits_in: str = ""
    swap_kib: int = 0


@dataclass(frozen=True)
class Mount:
    """A file system; sizes in bytes, inodes None where it does not count them."""

    path: str
    device: str
    kind: str
    read_only: bool = False
    size: int = 0
    free: int = 0
    inodes: Optional[int] = None
    inodes_free: Optional[int] = None
    hangs: bool = False


@dataclass(frozen=True)
class Memory:
    """Bytes; `stalled_percent` is how much of the last 10 s all work waited for memory."""

    total: int = 0
    available: int = 0
    swap_total: int = 0
    swap_free: int = 0
    stalled_percent: int = 0


@dataclass(frozen=True)
class Answer:
    """What a port said to a path: `status` 0 is no answer, and `why` says "refused" or "late"."""

    port: int
    path: str
    status: int
    body: str = ""
    why: str = ""


@dataclass(frozen=True)
class Container:
    """A container as Docker's daemon tells of it; `service` is PROJECT/SERVICE, "" without one."""

    name: str
    status: str
    exit_code: int = 0
    oom: bool = False
    restarts: int = 0
    policy: str = ""
    health: str = ""
    error: str = ""
    finished: str = ""
    said: Tuple[str, ...] = ()
    service: str = ""


@dataclass(frozen=True)
class Weights:
    """A path that an engine is told to load: "", "missing", "empty" or "unreadable" by its user."""

    part: str
    unit: str
    path: str
    trouble: str
    user: str = "root"


@dataclass(frozen=True)
class Changed:
    """A file of a unit, changed at `at_s`."""

    unit: str
    path: str
    at_s: int


@dataclass(frozen=True)
class Seen:
    """All of it. `unseen` says of each look that gave nothing why; its fields are then empty.

    `parents` are of the processes that hold cards.
    `asked_ms` is the asker's clock when it asked, 0 on the host itself; `now_ms` the host's.
    """

    now_ms: int = 0
    asked_ms: int = 0
    boot_s: int = 0
    record: Recorded = Recorded()
    drift: Tuple[Tuple[str, str], ...] = ()
    units: Dict[str, Unit] = field(default_factory=dict)
    logs: Dict[str, Tuple[Line, ...]] = field(default_factory=dict)
    kernel: Tuple[Tuple[int, str], ...] = ()
    cards: Optional[CardsSeen] = None
    processes: Tuple[Process, ...] = ()
    parents: Dict[int, int] = field(default_factory=dict)
    mounts: Tuple[Mount, ...] = ()
    memory: Memory = Memory()
    listeners: Tuple[Listener, ...] = ()
    answers: Tuple[Answer, ...] = ()
    containers: Optional[Tuple[Container, ...]] = None
    weights: Tuple[Weights, ...] = ()
    changed: Tuple[Changed, ...] = ()
    unseen: Dict[str, str] = field(default_factory=dict)

    @property
    def parts(self) -> Tuple[Part, ...]:
        """The parts of the release that is to run here."""
        return self.record.release.parts

    @property
    def subjects(self) -> Dict[str, Part]:
        """The parts that are judged by a unit, by that unit."""
        named = {part.subject.unit: part for part in self.parts if part.subject is not None}
        return {name: part for name, part in named.items() if not is_container(name)}

    @property
    def services(self) -> Tuple[str, ...]:
        """Name the services of Compose projects, PROJECT/SERVICE, that the release runs."""
        names = (part.subject.unit for part in self.parts if part.subject is not None)
        return tuple(dict.fromkeys(name for name in names if is_container(name)))

    @property
    def parked(self) -> bool:
        """Say whether what is down is down on purpose."""
        return self.record.state is not None and self.record.state.parked is not None

    def unit(self, name: str) -> Unit:
        """Look a unit up; one that systemd did not tell of has no properties."""
        return self.units.get(name, Unit(name))

    def launch(self, unit: str) -> Tuple[Line, ...]:
        """Give the lines of a unit's present launch; of one that systemd unloaded, of its last."""
        lines = self.logs.get(unit, ())
        last = next((line.launch for line in reversed(lines) if line.launch), "")
        launch = self.unit(unit)["InvocationID"] or last
        return tuple(line for line in lines if line.launch == launch)

    def age_s(self, unit: str) -> int:
        """Say how long ago a unit's main process was started; 0 where it has none."""
        started_us = self.unit(unit).number("ExecMainStartTimestampMonotonic")
        return max(0, self.boot_s - started_us // 1_000_000) if started_us else 0
