"""Stories as data: tests/cases/story/NAME.yaml holds what was told, and what a person reads."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import yaml

from headway.control.telling import story
from headway.wire.loader import kind_of, load

CASES = Path(__file__).parents[1] / "cases" / "story"

KINDS = {kind_of(kind): kind for kind in get_args(story.Told)}


@dataclass(frozen=True)
class Case:
    """A story, and the plain lines that it becomes."""

    name: str
    rule: str
    told: tuple[story.Told, ...]
    reads: str


def cases() -> list[Case]:
    """Read every story there is."""
    return [case(path.stem) for path in sorted(CASES.glob("*.yaml"))]


def case(name: str) -> Case:
    """Read one story."""
    raw = yaml.safe_load((CASES / f"{name}.yaml").read_text())
    told = tuple(_told(seq, *piece.popitem()) for seq, piece in enumerate(raw["told"], 1))
    return Case(name, raw["rule"], told, raw["reads"])


def _told(seq: int, kind: str, inside: Any) -> story.Told:
    """Read a piece under its kind; `said: {HOST: BODY}` is short for the host's own event."""
    if kind == "said":
        ((host, body),) = inside.items()
        at_ms = 1_790_000_000_000 + seq
        event = {"seq": seq, "at_ms": at_ms, "transition": "t1", "body": body}
        kind, inside = "host_said", {"host": host, "event": event}
    told: story.Told = load(KINDS[kind], inside)
    return told
