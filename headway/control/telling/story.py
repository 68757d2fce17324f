"""What a rollout tells its sinks: the host's own events, and what the controller does about them.

Console, NDJSON and history are sinks of the same story; none of them decides anything.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from headway.wire.event import Event


@dataclass(frozen=True)
class Began:
    """A verb began: its id (a rollout's), its name, its hosts in order, by whom.

    `classes` are the kinds of machines of those hosts that have one.
    """

    rollout: str
    verb: str
    hosts: tuple[str, ...]
    by: str
    at_ms: int
    classes: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Turn:
    """It is this host's turn: the n-th of so many; `release` is what it is brought to."""

    host: str
    n: int
    of: int
    release: str


@dataclass(frozen=True)
class Connecting:
    """A connection is being made, or made again after it was lost (`again`)."""

    host: str
    address: str
    again: bool = False


@dataclass(frozen=True)
class Sending:
    """Bytes go to the host: the runner or blobs."""

    host: str
    what: str
    done_bytes: int
    total_bytes: int


@dataclass(frozen=True)
class HostSaid:
    """The host's own event."""

    host: str
    event: Event


@dataclass(frozen=True)
class Lost:
    """The connection is gone; `then` says what the host does by itself meanwhile."""

    host: str
    why: str
    then: str


@dataclass(frozen=True)
class Note:
    """Something a person should read; `hint` is what to do next."""

    host: str
    text: str
    hint: str = ""


@dataclass(frozen=True)
class HostEnded:
    """A host's part in this verb is over; the exit code is the host's last word or ours (5, 6)."""

    host: str
    exit_code: int
    outcome: str
    sentence: str


@dataclass(frozen=True)
class Ended:
    """The verb is over: its exit code, and the hosts whose turn never came."""

    rollout: str
    exit_code: int
    untouched: tuple[str, ...]
    took_ms: int


Told = Began | Turn | Connecting | Sending | HostSaid | Lost | Note | HostEnded | Ended
Sink = Callable[[Told], None]
