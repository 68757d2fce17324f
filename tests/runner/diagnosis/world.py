"""A host that is well, as `diagnose` sees one: each test breaks one thing of what was seen."""

from dataclasses import replace
from typing import Any

from headway.runner.diagnosis import follows
from headway.runner.diagnosis.seen import Answer, Line, Memory, Mount, Recorded, Seen, Unit
from headway.wire.cards import Card, CardsHost, CardsSeen
from headway.wire.gate import Criteria, Gate
from headway.wire.record import Acceptance, State
from headway.wire.release import Part, SubjectSpec, release_of
from headway.wire.tools import Listener

NOW_S, BOOT_S, AGE_S = 1_800_000_000, 90_000, 3600
GIB = 1 << 30
UNIT, CGROUP = "engine.service", "/system.slice/engine.service"
ARGV = (("/usr/bin/vllm",), ("--model", "/srv/model"))
PART = Part("engine", "vllm", argv=ARGV, subject=SubjectSpec(UNIT), listens=(8000,))
RELEASE = release_of((PART,))
ACCEPTED = Acceptance(RELEASE.id, "c", (NOW_S - AGE_S) * 1000, "ops", "r", load_ms={"engine": 9000})
STATE = State(accepted=(ACCEPTED,), since_ms=(NOW_S - AGE_S) * 1000)
GATES = (Gate("health", "health", "engine", params={"engine": "vllm", "model": "chat"}),)
UP = {
    "LoadState": "loaded",
    "ActiveState": "active",
    "SubState": "running",
    "Result": "success",
    "ControlGroup": CGROUP,
    "InvocationID": "now",
    "UnitFileState": "enabled",
    "StandardOutput": "journal",
    "ExecMainStartTimestampMonotonic": str((BOOT_S - AGE_S) * 1_000_000),
    "InactiveExitTimestampMonotonic": str((BOOT_S - AGE_S) * 1_000_000),
}
DOWN = {**UP, "ActiveState": "inactive", "SubState": "dead", "ControlGroup": ""}
CARD = Card(0, name="NVIDIA H200", bus="0000:18:00.0", total=140 * GIB, used=0, busy_percent=0)
WELL = Seen(
    now_ms=NOW_S * 1000,
    asked_ms=NOW_S * 1000,
    boot_s=BOOT_S,
    record=Recorded(STATE, RELEASE, Criteria("c", GATES, "h")),
    units={UNIT: Unit(UNIT, UP)},
    logs={UNIT: (Line(NOW_S - 5, "INFO: 200 OK", own=True, launch="now"),)},
    cards=CardsSeen(driver="580.1", cards=(CARD,), host=CardsHost(module="580.1")),
    mounts=(Mount("/", "/dev/sda1", "ext4", size=900 * GIB, free=400 * GIB),),
    memory=Memory(total=900 * GIB, available=800 * GIB),
    listeners=(Listener("0.0.0.0", 8000, 42, CGROUP, "/usr/bin/vllm"),),  # noqa: S104 # as seen
    answers=(
        Answer(8000, "/health", 200),
        Answer(8000, "/v1/models", 200, '{"data":[{"id":"chat"}]}'),
    ),
)


def found(seen: Seen) -> list[str]:
    """Name what follows from what was seen, likeliest cause first."""
    return [cause.finding for cause in follows(seen)]


def state(**changed: Any) -> Seen:
    """Change the record's state."""
    return replace(WELL, record=replace(WELL.record, state=replace(STATE, **changed)))


def unit(values: dict[str, str], *lines: Line, **changed: Any) -> Seen:
    """Change the service's unit, and what the journal has of it."""
    units = {UNIT: Unit(UNIT, {**UP, **values})}
    return replace(WELL, **{"units": units, "logs": {UNIT: lines or WELL.logs[UNIT]}, **changed})


def says(*texts: str, ago_s: int = 5, **changed: Any) -> Seen:
    """Let a service that does not answer have said this in its present launch."""
    lines = tuple(Line(NOW_S - ago_s, text, own=True, launch="now") for text in texts)
    quiet: dict[str, Any] = {"listeners": (), "answers": ()}
    return replace(WELL, **{"logs": {UNIT: lines}, **quiet, **changed})


def card(**changed: Any) -> Seen:
    """Change the one card."""
    assert WELL.cards is not None
    return replace(WELL, cards=replace(WELL.cards, cards=(replace(CARD, **changed),)))


def cards(**changed: Any) -> Seen:
    """Change what the driver says."""
    assert WELL.cards is not None
    return replace(WELL, cards=replace(WELL.cards, **changed))
