"""What a host writes down: transitions, acceptances and the one state file."""

from dataclasses import dataclass, field
from typing import Dict, Optional, Tuple, Union

from headway.wire.phase import Phase
from headway.wire.resources import Blob

SCHEMA = 1


@dataclass(frozen=True)
class Absent:
    """Nothing lay there."""


@dataclass(frozen=True)
class WasFile:
    """A regular file, its bytes kept as a blob. Owner and group are numbers: names may change."""

    blob: Blob
    mode: int
    uid: int
    gid: int


@dataclass(frozen=True)
class WasDir:
    """A directory."""

    mode: int
    uid: int
    gid: int


@dataclass(frozen=True)
class WasLink:
    """A symbolic link."""

    target: str


@dataclass(frozen=True)
class WasSysctl:
    """The running value of a kernel setting."""

    value: str


@dataclass(frozen=True)
class WasUnit:
    """A unit that was there without headway: whether it was enabled and running."""

    enabled: bool
    active: bool


@dataclass(frozen=True)
class Before:
    """How a path, a `sysctl:KEY` or a `unit:NAME` was before the first transition touched it."""

    path: str
    state: Union[Absent, WasFile, WasDir, WasLink, WasSysctl, WasUnit]


@dataclass(frozen=True)
class Orders:
    """What the operator allowed and asked for, beside the release itself.

    `on_invalid` is "hold" or "return". `again` tries a rejected release, `no_way_back` allows
    overwriting what cannot be held, `wait_s` waits for the lock. `relaunch` names parts that
    restart although nothing of them changed. `deadlines_s` overrides defaults by step name.
    """

    by: str
    reason: str = ""
    on_invalid: str = "hold"
    again: bool = False
    no_way_back: bool = False
    maintenance: bool = False
    wait_s: int = 0
    relaunch: Tuple[str, ...] = ()
    may_kill: Tuple[str, ...] = ()
    floor: bool = False
    confirm: bool = False
    deadlines_s: Dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Transition:
    """One attempt to bring a host from release `start` to release `target`.

    `kind` is "rollout", "rollback", "repair" (the accepted release again: drift, restart, unpark)
    or "sweep" (the releases of `rungs` are launched and judged in turn, then `start` again).
    Times are Unix milliseconds; deadlines count in CLOCK_BOOTTIME of `boot_id` and are void under
    another one. `drift` is what differed from `start` when it was opened: it may differ again after
    going back.
    """

    schema: int
    id: str
    kind: str
    start: str
    target: str
    criteria: str
    orders: Orders
    runner_sha256: str
    boot_id: str
    opened_at_ms: int
    before: Tuple[Before, ...] = ()
    drift: Tuple[str, ...] = ()
    tried: Tuple[str, ...] = ()
    rungs: Tuple[str, ...] = ()


@dataclass(frozen=True)
class Acceptance:
    """A release proved and kept here. `load_ms` is start to healthy, by part."""

    release: str
    criteria: str
    at_ms: int
    by: str
    reports_sha256: str
    withdrawn: bool = False
    load_ms: Dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Rejection:
    """A release that failed here: refused until its content changes or --again."""

    release: str
    at_ms: int
    transition: str
    why: str


@dataclass(frozen=True)
class Parked:
    """Stopped on purpose, by whom and why: outside floor and status alarms."""

    by: str
    at_ms: int
    reason: str


@dataclass(frozen=True)
class State:
    """The host's own record. `why` says what HELD or STUCK waits for, with the gate's name.

    `transition` is the one in hand, `last` the one that came to rest last. `under` is what lies
    beneath the accepted release: it comes to light where a later one no longer owns a path.
    """

    schema: int = SCHEMA
    phase: Phase = Phase.IDLE
    accepted: Tuple[Acceptance, ...] = ()
    rejected: Tuple[Rejection, ...] = ()
    parked: Optional[Parked] = None
    transition: Optional[str] = None
    last: str = ""
    runner: str = ""
    why: str = ""
    since_ms: int = 0
    under: Tuple[Before, ...] = ()

    def running(self) -> str:
        """Name the release that stands accepted here now; "empty" on a bare host."""
        return self.accepted[0].release if self.accepted else "empty"
