"""Gates, the criteria they make up, whom they judge and what they report."""

import hashlib
from dataclasses import dataclass, field
from enum import Enum
from typing import Dict, Optional, Tuple, Union

from headway.wire.loader import Json, canonical
from headway.wire.verdict import Fate, Verdict


class Where(str, Enum):
    """Which side a gate is judged on: by the runner, or by the controller through the network."""

    HOST = "host"
    OUTSIDE = "outside"


@dataclass(frozen=True)
class Measurement:
    """A number a gate saw, in whole units named by `unit` (ms, bytes, tokens, milli-tokens/s)."""

    name: str
    value: int
    unit: str
    n: int = 1
    spread: int = 0


@dataclass(frozen=True)
class Baseline:
    """Measurements that were pinned for a class and a role: what relative thresholds go by.

    `name` is "CLASS/ROLE". The controller puts it into a gate before OPEN, so that a host judges
    by what the operator saw, and not by what it happened to measure last.
    """

    name: str
    measured: Tuple[Measurement, ...]

    def of(self, name: str) -> Optional[Measurement]:
        """Find a measurement by its name."""
        return next((one for one in self.measured if one.name == name), None)


@dataclass(frozen=True)
class Gate:
    """One question to one part. `kind` names the module in checks/ that answers it.

    `deadline_s` 0 means the kind's own default (for health: the start deadline of DESIGN 4).
    `retries` counts further tries after a FAIL.
    """

    name: str
    kind: str
    part: str
    where: Where = Where.HOST
    deadline_s: int = 0
    retries: int = 0
    params: Dict[str, Json] = field(default_factory=dict)
    baseline: Optional[Baseline] = None


@dataclass(frozen=True)
class Criteria:
    """All gates of a host and the code that judges them; the id is recorded with an acceptance."""

    id: str
    gates: Tuple[Gate, ...]
    checks_sha256: str


def criteria_of(gates: Tuple[Gate, ...], checks_sha256: str) -> Criteria:
    """Make criteria with the id that their gates and check code hash to."""
    digest = hashlib.sha256(canonical([gates, checks_sha256])).hexdigest()[:12]
    return Criteria(digest, gates, checks_sha256)


@dataclass(frozen=True)
class Subject:
    """One launch of a unit: who is judged. `started_us` is CLOCK_MONOTONIC of boot `boot_id`.

    `id` is the InvocationID; `restarts` is NRestarts; `cgroup` is the path below the unified
    hierarchy; `pid` is the main process, 0 once it ended.
    """

    unit: str
    id: str
    started_us: int
    boot_id: str
    pid: int
    cgroup: str
    restarts: int


@dataclass(frozen=True)
class Judgement:
    """A check's answer. Evidence: numbers, the lines that decided, and the command to ask again.

    `findings` are conditions it met, by their ids in findings.json; a degradation among them keeps
    the run from setting a baseline.
    """

    verdict: Verdict
    evidence: Tuple[str, ...]
    measurements: Tuple[Measurement, ...] = ()
    findings: Tuple[str, ...] = ()


@dataclass(frozen=True)
class Wait:
    """A check's "not yet": ask again. `then` is the verdict when the deadline comes first."""

    reason: str
    then: Verdict = Verdict.INVALID


Answered = Union[Judgement, Wait]


@dataclass(frozen=True)
class Report:
    """What one gate saw of one launch, with the subject before and after."""

    gate: str
    kind: str
    part: str
    verdict: Verdict
    fate: Fate
    before: Optional[Subject]
    after: Optional[Subject]
    evidence: Tuple[str, ...]
    measurements: Tuple[Measurement, ...] = ()
    took_ms: int = 0
    findings: Tuple[str, ...] = ()
