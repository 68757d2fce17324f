"""How long a part was down is told with how its host ended: from its stop until it is healthy."""

from headway.control.telling.drawing import lines, plain
from headway.control.telling.picture import Picture, fold
from headway.control.telling.story import Began, HostSaid
from headway.wire.event import Body, Event, Reported, Rested, StepBegan
from headway.wire.gate import Report
from headway.wire.phase import Phase
from headway.wire.verdict import Fate, Verdict

RESTED = Rested(Phase.IDLE, "b", Verdict.PASS, 0, "accepted", "b is accepted on this host")


def health(part: str, verdict: Verdict) -> Reported:
    """Say how the health gate of a part ended."""
    return Reported(Report("front", "health", part, verdict, Fate.SAME, None, None, ()))


def told(*bodies: tuple[int, Body]) -> list[str]:
    """Draw what a host says at these milliseconds."""
    picture = fold(Picture(), Began("r", "rollout", ("gpu1",), "op", 0))
    drawn: list[str] = []
    for at_ms, body in bodies:
        piece = HostSaid("gpu1", Event(1, at_ms, "t", body))
        picture = fold(picture, piece)
        drawn += map(plain, lines(picture, piece))
    return [line for line in drawn if "  down  " in line]


def test_every_part_that_was_stopped_is_counted() -> None:
    """Of two parts each has its own time; what was never stopped has none."""
    [line] = told(
        (1_000, StepBegan("chat.a", "stop")),
        (3_500, health("chat.a", Verdict.PASS)),
        (4_000, StepBegan("chat.b", "stop")),
        (4_200, health("chat.c", Verdict.PASS)),
        (5_000, health("chat.b", Verdict.PASS)),
        (6_000, RESTED),
    )
    assert line.endswith("chat.a 2.5 s, chat.b 1.0 s, from stop to healthy")


def test_the_way_back_counts_from_the_first_stop() -> None:
    """A release that never became healthy was down until the old one was."""
    [line] = told(
        (1_000, StepBegan("llama", "stop")),
        (9_000, health("llama", Verdict.FAIL)),
        (9_500, StepBegan("llama", "stop")),
        (11_000, health("llama", Verdict.PASS)),
        (12_000, RESTED),
    )
    assert "llama 10 s, from stop to healthy" in line


def test_where_nothing_stopped_nothing_is_said() -> None:
    """A host that was found unchanged was not down."""
    assert told((1_000, health("llama", Verdict.PASS)), (1_100, RESTED)) == []
