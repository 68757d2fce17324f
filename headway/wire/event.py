"""Events of a transition: what happened, in order, by sequence number."""

from dataclasses import dataclass
from typing import Optional, Tuple, Union

from headway.wire.gate import Report
from headway.wire.phase import Phase
from headway.wire.verdict import Verdict


@dataclass(frozen=True)
class Moved:
    """The transition entered another phase, after everything it needs was durable."""

    frm: Phase
    to: Phase
    why: str = ""


@dataclass(frozen=True)
class StepBegan:
    """A step of a part begins: "stage", "stop", "evict", "write", "start", "gate"..."""

    part: str
    step: str
    detail: str = ""


@dataclass(frozen=True)
class StepDone:
    """A step of a part ended well."""

    part: str
    step: str
    took_ms: int
    detail: str = ""


@dataclass(frozen=True)
class Coming:
    """Bytes of a step come from elsewhere: how many of how many, and how many a second now."""

    part: str
    step: str
    what: str
    done_bytes: int
    total_bytes: int
    bytes_s: int


@dataclass(frozen=True)
class Rung:
    """A rung of eviction was climbed: what was held before and after it, a line each.

    `rung` is "stop", "cgroup", "holders", "named", "node" or "reboot" (FIELD 3.3).
    """

    part: str
    rung: str
    before: Tuple[str, ...]
    after: Tuple[str, ...]
    took_ms: int
    sentence: str = ""


@dataclass(frozen=True)
class Noted:
    """Something a person should know before it matters: what cannot be held, what differs today."""

    text: str


@dataclass(frozen=True)
class Waiting:
    """Why nothing moves right now; said every 15 s at most, and at once when the reason changes."""

    part: str
    gate: str
    reason: str
    waited_ms: int


@dataclass(frozen=True)
class Reported:
    """A gate was judged."""

    report: Report


@dataclass(frozen=True)
class Ask:
    """The host's question to the controller; silence until the deadline counts as `default`.

    `what` is "floor", "outside", "confirm", "evict" (later: "drain", "undrain").
    """

    n: int
    what: str
    part: str
    detail: str
    deadline_s: int
    default: str


@dataclass(frozen=True)
class Answer:
    """The controller's answer to Ask `n`."""

    n: int
    value: str
    by: str


@dataclass(frozen=True)
class Asked:
    """The host asks the controller."""

    ask: Ask


@dataclass(frozen=True)
class Replied:
    """The answer the host went by: the controller's, or silence's default."""

    answer: Answer


@dataclass(frozen=True)
class Rested:
    """The host's last word: the exit code of the verb comes from here and from nowhere else.

    `outcome` is "accepted", "unchanged", "went back", "held", "not judged" (nothing was touched),
    "refused", "locked" or "stuck".
    """

    phase: Phase
    accepted: str
    verdict: Optional[Verdict]
    exit_code: int
    outcome: str
    sentence: str


Body = Union[
    Moved, StepBegan, StepDone, Coming, Rung, Noted, Waiting, Reported, Asked, Replied, Rested
]


@dataclass(frozen=True)
class Event:
    """One line of a transition's event file. Order is by `seq`, never by the wall clock."""

    seq: int
    at_ms: int
    transition: str
    body: Body
