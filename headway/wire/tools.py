"""The tools a check is handed to look with. It opens nothing itself, so it travels and is tested.

`Tools.http`, `.run`, `.journal`, `.proc` and `.host` are Protocols: the runner brings the real
ones, a test brings tables.
"""

import typing
from dataclasses import dataclass
from typing import Callable, Dict, Iterator, Optional, Sequence, Tuple

from headway.wire.cards import CardsSeen
from headway.wire.gate import Baseline, Subject
from headway.wire.release import Part
from headway.wire.resources import Blob
from headway.wire.verdict import Fate


class Unreached(Exception):  # noqa: N818 # it names what happened to the request
    """Nobody answered: refused, reset, timed out; the sentence says which."""

    def __init__(self, sentence: str, *, refused: bool = False, late: bool = False) -> None:
        """Tell two things apart from the rest: nobody listens, and our own time is over."""
        super().__init__(sentence)
        self.refused = refused
        self.late = late


@dataclass(frozen=True)
class HttpAnswer:
    """An HTTP answer of any status; headers by lower-case name."""

    status: int
    body: bytes
    headers: Dict[str, str]
    took_ms: int


@dataclass(frozen=True)
class Piece:
    """Bytes of an answer as they came, and when: microseconds of one monotonic clock."""

    at_us: int
    data: bytes


@dataclass(frozen=True)
class Ran:
    """A command that ended, or was ended at its deadline (`code` is None then)."""

    argv: Tuple[str, ...]
    code: Optional[int]
    stdout: bytes
    stderr: bytes
    took_ms: int


@dataclass(frozen=True)
class JournalLine:
    """One decoded line of a launch. `own` is False for systemd's words about the unit."""

    cursor: str
    text: str
    priority: int
    own: bool


@dataclass(frozen=True)
class Journal:
    """The lines of one launch, oldest first. Not complete: nothing may be concluded from it."""

    complete: bool
    why: str
    lines: Tuple[JournalLine, ...]


@dataclass(frozen=True)
class Listener:
    """Who listens on a TCP port. `pid` 0: the socket has no process that can be seen.

    Docker's proxy listens for a container whose port is published: `cgroup` is the container's.
    """

    address: str
    port: int
    pid: int
    cgroup: str
    command: str

    def is_of(self, subject: Optional[Subject]) -> bool:
        """Tell whether this launch listens here: the process lies in its cgroup or below it."""
        return subject is not None and self.lies_in(subject.cgroup)

    def lies_in(self, cgroup: str) -> bool:
        """Tell whether the process lies in a cgroup or below it."""
        inside = (self.cgroup + "/").startswith(cgroup.rstrip("/") + "/")
        return bool(cgroup.strip("/")) and inside


@dataclass(frozen=True)
class Space:
    """Free room of the file system that holds `path`; bytes and inodes."""

    path: str
    free_bytes: int
    free_inodes: int


class Streaming(typing.Protocol):
    """An answer that is still coming. `sent_us` is when its request was out."""

    @property
    def status(self) -> int:
        """Give the HTTP status."""
        ...

    @property
    def headers(self) -> Dict[str, str]:
        """Give the headers by lower-case name."""
        ...

    @property
    def sent_us(self) -> int:
        """Give the time at which the request was sent, on the clock of the pieces."""
        ...

    def pieces(self) -> Iterator[Piece]:
        """Give what comes, as it comes, to its end; Unreached where it breaks or time is up."""
        ...

    def close(self) -> None:
        """Leave it; a server that goes on talking is not listened to."""
        ...


class Http(typing.Protocol):
    """Ask this host's own services; no proxy, no redirect is followed. Any thread may ask."""

    def ask(
        self,
        method: str,
        url: str,
        body: Optional[bytes] = None,
        headers: Optional[Dict[str, str]] = None,
        timeout_s: int = 30,
    ) -> HttpAnswer:
        """Send one request, or raise Unreached."""
        ...

    def stream(
        self,
        method: str,
        url: str,
        body: Optional[bytes] = None,
        headers: Optional[Dict[str, str]] = None,
        timeout_s: int = 30,
    ) -> Streaming:
        """Send one request and hear its answer while it comes, all within `timeout_s`."""
        ...


class Run(typing.Protocol):
    """Run one command as a list of words, with a deadline, ending its whole process group."""

    def __call__(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        env: Optional[Dict[str, str]] = None,
        deadline_s: int = 60,
    ) -> Ran:
        """Run it to its end or its deadline."""
        ...


class Journals(typing.Protocol):
    """Read the journal of one launch."""

    def of(self, subject: Subject) -> Journal:
        """Read every line of this launch and say whether the record is whole."""
        ...


class Proc(typing.Protocol):
    """Look at processes and sockets through /proc."""

    def argv(self, pid: int) -> Tuple[bytes, ...]:
        """Read the words a process was started with; () when it is gone."""
        ...

    def environ(self, pid: int) -> Dict[str, str]:
        """Read the environment a process was started with; {} when it is gone."""
        ...

    def listeners(self, port: int) -> Tuple[Listener, ...]:
        """Name every listening TCP socket on a port, whoever owns it."""
        ...

    def pids(self, cgroup: str) -> Tuple[int, ...]:
        """Name the processes of a cgroup and all below it."""
        ...

    def status(self, pid: int) -> Dict[str, str]:
        """Read /proc/PID/status by its names (VmSwap is "12 kB"); {} when it is gone."""
        ...


class Cards(typing.Protocol):
    """Look at the NVIDIA cards, in a child that is ended where the driver hangs."""

    def look(self, *, pairs: bool = False) -> CardsSeen:
        """Read every card now; `pairs` adds what the driver grants between them."""
        ...


class HostView(typing.Protocol):
    """Look at the machine and at what the release wants of it."""

    def differences(self, part: Part) -> Tuple[str, ...]:
        """Say in a sentence each what of this part is not as the release wants it."""
        ...

    def space(self, path: str) -> Space:
        """Measure the free room under a path, or under its nearest folder that exists."""
        ...

    def memory_available_bytes(self) -> int:
        """Read MemAvailable."""
        ...

    def content(self, blob: Blob) -> Optional[bytes]:
        """Read what a file of the release holds; None where this host does not have it whole."""
        ...

    def unit(self, name: str) -> Dict[str, str]:
        """Read the properties systemd shows of a unit."""
        ...


def _unweighed() -> Tuple[Fate, str]:
    return Fate.SAME, ""


def _no_limit() -> int:
    return 3600


@dataclass(frozen=True)
class Tools:
    """What a check is handed: how to look, and which part of which release it is about.

    `leaving` are the cgroups of units that are stopped before this part starts: what they hold now
    is not in its way. `between`: all of them are stopped, the part is written and not started yet.
    `killed`: the part's launch before this one did not go by itself, it was killed.
    `fate` says what became of the subject by now, for checks of several stages:
    where it is not SAME, stop asking. `left_s` is what is left of the gate's deadline. `baseline`
    is what relative thresholds go by, None where none is pinned.
    """

    http: Http
    run: Run
    journal: Journals
    proc: Proc
    host: HostView
    cards: Cards
    part: Part
    leaving: Tuple[str, ...] = ()
    between: bool = False
    killed: bool = False
    baseline: Optional[Baseline] = None
    fate: Callable[[], Tuple[Fate, str]] = _unweighed
    left_s: Callable[[], int] = _no_limit
