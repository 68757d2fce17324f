"""What controller and runner say to each other over one exec: a line of JSON each.

The runner says Hello first: whatever came before that line (motd, a noisy login shell, sudo's
prompt) is not part of the conversation. Then the controller gives exactly one Order.

A rollout that changes nothing is answered by Said(Rested unchanged) and Done: one round trip. Else
the runner says Missing and touches nothing until it hears Go, so that a host may be asked ahead of
its turn. The controller sends each missing blob as a Bytes line followed by that many raw bytes,
then Go; the runner stages, starts the transition and says every Event. The controller may send
Answers and Requests at any time. The last line is Done or Trouble.

    C  (starts runner/HASH)                 R  Hello
    C  Rollout                              R  Missing | Said(Rested unchanged), Done
    C  Bytes + raw                          R  Wanting (any order, the first time on a host)
    C  Bytes + raw, ..., Go                 R  Said, Said, Said ...
    C  Answer, Request                      R  Done
"""

from dataclasses import dataclass, field
from typing import Dict, Optional, Tuple, Union

from headway.wire.cards import CardsSeen, Holder, KernelLog
from headway.wire.diagnosis import Diagnosed
from headway.wire.event import Answer, Event
from headway.wire.gate import Criteria
from headway.wire.loader import Json
from headway.wire.record import Orders, State, Transition
from headway.wire.release import Release
from headway.wire.resources import Blob

# --- controller to host: one order a conversation ---------------------------------------------


@dataclass(frozen=True)
class Rollout:
    """Bring the host to this release, judged by these criteria."""

    release: Release
    criteria: Criteria
    orders: Orders


@dataclass(frozen=True)
class Rollback:
    """Bring the host to an accepted release of its own record: `to`, or the newest not running.

    Secret files are the recorded ones; with `current_secrets` those of the running release.
    """

    orders: Orders
    to: str = ""
    current_secrets: bool = False


@dataclass(frozen=True)
class Repair:
    """Bring the host to its accepted release again: after drift, for a restart, out of parking."""

    orders: Orders
    unpark: bool = False


@dataclass(frozen=True)
class Sweep:
    """Launch these releases in turn, have each judged, and end on the accepted one.

    They differ from it, and from each other, in one part alone, which writes the same paths in
    all of them: `part`. None is accepted or rejected by it.
    """

    rungs: Tuple[Release, ...]
    part: str
    criteria: Criteria
    orders: Orders


@dataclass(frozen=True)
class Look:
    """Say what the host records and what is so.

    With `release`, say what differs from it, too (for plan). `units` names units to observe that
    no release holds (for adopt). With `health`, ask the health gates once (for the floor). With
    `kernel`, say what the driver complained of in the kernel's log (told to a node, for its
    containers). With `facts` or `kernel` alone nothing is compared with the record. With `engines`,
    ask engines what they count.
    """

    release: Optional[Release] = None
    units: Tuple[str, ...] = ()
    history: bool = False
    facts: bool = False
    health: bool = False
    kernel: bool = False
    engines: bool = False


@dataclass(frozen=True)
class Recall:
    """Say what the record holds of releases and transitions; nothing else of the host is looked at.

    `releases` are ids or their beginnings, or "accepted" for the one that stands; of the newest
    `transitions` all events are told, and what a failed release left.
    """

    releases: Tuple[str, ...] = ()
    transitions: int = 0


@dataclass(frozen=True)
class Logs:
    """Say the lines of one launch of a part.

    `part` "" is the host's only one. `launch` is "current", "previous", or the beginning of an
    InvocationID. `grep` is a regex that a line has to match; `last` 0 is all of them.
    """

    part: str = ""
    launch: str = "current"
    grep: str = ""
    last: int = 0


@dataclass(frozen=True)
class Diagnose:
    """Say what is wrong with this host; nothing is changed. `now_ms` is the controller's clock."""

    now_ms: int = 0


@dataclass(frozen=True)
class Follow:
    """Say the events of a transition after `since`, and go on until it rests; "" is the newest."""

    transition: str = ""
    since: int = 0


@dataclass(frozen=True)
class Check:
    """Judge the running launch by these criteria; nothing is changed."""

    criteria: Criteria
    gates: Tuple[str, ...] = ()


@dataclass(frozen=True)
class Adopt:
    """Record what runs under these units as the accepted release of this host."""

    units: Tuple[str, ...]
    orders: Orders


@dataclass(frozen=True)
class Park:
    """Stop the services of the accepted release on purpose and keep them down over a reboot."""

    orders: Orders


@dataclass(frozen=True)
class Prune:
    """Say what no kept release needs any more; with `delete`, delete it."""

    orders: Orders
    delete: bool = False


@dataclass(frozen=True)
class Evict:
    """Free the cards of what is left of the accepted release's parts; `parts` () is all of them.

    What runs and belongs to a living subject is left alone, and so is what is not ours: that is
    listed, and ended only where `orders.may_kill` names it as PID:STARTTIME.
    """

    orders: Orders
    parts: Tuple[str, ...] = ()


@dataclass(frozen=True)
class Free:
    """Told to a node: end what holds cards in one cgroup of one guest, by the node's own pids.

    `guest` is the VMID of a container; `cgroup` is the instance's path as the guest sees it.
    """

    guest: int
    cgroup: str
    orders: Orders


@dataclass(frozen=True)
class Request:
    """A person's wish to the transition in hand: "confirm", "abort", "hold", "resume", "accept".

    The one writer of the state answers it with the phase it is in.
    """

    what: str
    by: str
    reason: str = ""


Order = Union[
    Rollout,
    Rollback,
    Repair,
    Sweep,
    Look,
    Diagnose,
    Recall,
    Logs,
    Follow,
    Check,
    Adopt,
    Park,
    Prune,
    Evict,
    Free,
    Request,
]


@dataclass(frozen=True)
class Bytes:
    """Raw bytes follow this line: `size` of them, hashing to `sha256`."""

    sha256: str
    size: int


@dataclass(frozen=True)
class Go:
    """It is this host's turn: stage and begin."""


FromController = Union[Order, Bytes, Go, Answer]


# --- host to controller -----------------------------------------------------------------------


@dataclass(frozen=True)
class Hello:
    """The runner is there, as root; which one, under which Python, in which boot."""

    runner: str
    python: str
    boot_id: str
    hostname: str


@dataclass(frozen=True)
class Wanting:
    """A part of the runner that travels apart is needed here: the answer is its Bytes."""

    satchel: str
    blob: Blob


@dataclass(frozen=True)
class Missing:
    """There is something to do: `blobs` the host lacks, in the order it wants them.

    `changed` names the parts that will restart and `running` the release that stands accepted.
    """

    blobs: Tuple[Blob, ...] = ()
    changed: Tuple[str, ...] = ()
    running: str = "empty"


@dataclass(frozen=True)
class Said:
    """An event of the transition."""

    event: Event


@dataclass(frozen=True)
class Difference:
    """One thing that is not as a release wants it; `kind` is the resource's kind on the wire.

    `name` is its path, unit, key or package. `text` is what lies there now, None where nothing
    does, where it is not text, or where either side is secret.
    """

    part: str
    kind: str
    name: str
    sentence: str
    text: Optional[str] = None


@dataclass(frozen=True)
class Serving:
    """What an engine counts of itself right now; None: it does not show that.

    `tokens_s` is what it generated over half a second, `kv_permille` how full its KV cache is.
    `sentence` says that it does not answer, and how; "" where it does.
    """

    engine: str
    running: Optional[int] = None
    waiting: Optional[int] = None
    kv_permille: Optional[int] = None
    tokens_s: Optional[int] = None
    sentence: str = ""


@dataclass(frozen=True)
class Looked:
    """What the host records and what is so.

    `accepted` is the accepted release itself; `drift` its differences from what is so;
    `differences` those of the release that was asked about; `alive` the units' ActiveState and
    NRestarts by part; `releases` the kept releases, newest first; `history` transitions as their
    last words, newest first; `facts` what the machine is; `cards` and `kernel` (what its log
    has of them) are None where it shows no NVIDIA driver, or was not asked.
    `serving` are engines by part.
    """

    state: State
    accepted: Release
    drift: Tuple[Difference, ...] = ()
    differences: Tuple[Difference, ...] = ()
    alive: Dict[str, str] = field(default_factory=dict)
    unheld: Tuple[str, ...] = ()
    releases: Tuple[Release, ...] = ()
    history: Tuple[Event, ...] = ()
    facts: Dict[str, Json] = field(default_factory=dict)
    cards: Optional[CardsSeen] = None
    kernel: Optional[KernelLog] = None
    serving: Dict[str, Serving] = field(default_factory=dict)


@dataclass(frozen=True)
class Unneeded:
    """Something that no kept release needs; `kind` is "image", "weights" or "venv".

    `size` are the bytes that come free with it; `trouble` says why it was not deleted.
    """

    kind: str
    name: str
    size: int
    trouble: str = ""


@dataclass(frozen=True)
class Pruned:
    """What no kept release needs, or what was deleted of it."""

    unneeded: Tuple[Unneeded, ...] = ()


@dataclass(frozen=True)
class Remembered:
    """A transition as the host recorded it; `left` is what a failed release left, text by file."""

    transition: Transition
    events: Tuple[Event, ...] = ()
    left: Dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Recalled:
    """What the record holds; `texts` are files by the hash of their bytes, no secret among them."""

    state: State
    releases: Tuple[Release, ...] = ()
    texts: Dict[str, str] = field(default_factory=dict)
    transitions: Tuple[Remembered, ...] = ()


@dataclass(frozen=True)
class LogLine:
    """A line of a launch and when it was written, in Unix microseconds. `own`: not by systemd."""

    at_us: int
    priority: int
    own: bool
    text: str


@dataclass(frozen=True)
class Logged:
    """Lines of one launch, oldest first; it is said again and again until all are told.

    `incomplete` says why lines are lost, "" where none is; `skipped` older ones were left out.
    """

    part: str
    unit: str
    launch: str
    lines: Tuple[LogLine, ...] = ()
    skipped: int = 0
    incomplete: str = ""


@dataclass(frozen=True)
class Freed:
    """What a node did for a guest: who was ended, who still holds a card of that cgroup, and why.

    `pid`s are the node's. `sentence` says what keeps it from being done, "" where it is done.
    """

    ended: Tuple[Holder, ...] = ()
    left: Tuple[Holder, ...] = ()
    sentence: str = ""


@dataclass(frozen=True)
class Done:
    """The conversation ended as it should; the exit code of what was ordered."""

    exit_code: int
    sentence: str = ""


@dataclass(frozen=True)
class Trouble:
    """The runner could not do its job: one line for people, and the exit code."""

    exit_code: int
    sentence: str


FromHost = Union[
    Hello,
    Wanting,
    Missing,
    Said,
    Looked,
    Diagnosed,
    Recalled,
    Logged,
    Pruned,
    Freed,
    Done,
    Trouble,
]
