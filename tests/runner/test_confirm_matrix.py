"""Every wish in every phase is answered, and one that comes too late does nothing (DESIGN 8.7)."""

import itertools
from pathlib import Path
from typing import Any, cast

import pytest

from headway.runner import follow, launch
from headway.runner.desk import CONFIRM
from headway.runner.orders.request import obey
from headway.runner.orders.session import Session
from headway.wire.event import Answer
from headway.wire.phase import Exit, Phase
from headway.wire.record import State
from headway.wire.talk import Done, Request
from tests.runner.attempt import Attempt
from tests.runner.world import World

WISHES = ("confirm", "abort", "hold", "resume", "accept")
LIVE = (Phase.OPEN, Phase.TRYING, Phase.PROVEN)
REST = (Phase.HELD, Phase.STUCK)
HANDED_ON = {
    *((wish, phase) for wish in ("abort", "hold", "resume") for phase in LIVE),
    *((wish, phase) for wish in ("abort", "resume") for phase in REST),
    ("accept", Phase.HELD),
    *(("resume", phase) for phase in (Phase.KEEPING, Phase.RETURNING)),
}
"""What whoever holds the transition, or the runner that picks it up, has to hear."""
ANSWERED = {*itertools.product(WISHES, Phase)} - {*HANDED_ON, ("confirm", Phase.PROVEN)}


class Followed(Exception):  # noqa: N818 # it tells what came next
    """The wish was handed on, and the conversation follows the transition."""


@pytest.fixture
def attempt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Attempt:
    """A host whose transition t1 is in hand."""

    def followed(*_: object) -> None:
        raise Followed

    monkeypatch.setattr(follow, "follow", followed)
    monkeypatch.setattr(launch, "is_running", lambda *_: True)
    attempt = Attempt(World(tmp_path / "host"))
    for name in ("answers", "requests"):
        attempt.records.disk.mkdirs(f"{attempt.records.folder('t1')}/{name}", 0o700)
    return attempt


def session(attempt: Attempt) -> Session:
    """A conversation with nobody at its other end."""
    silent = cast("Any", type("Silent", (), {"say": lambda *_: None})())
    return Session(silent, attempt.world.machine, attempt.records, attempt.world.clock)


def at(attempt: Attempt, phase: Phase) -> None:
    """Let the host stand in a phase."""
    attempt.records.save(State(phase=phase, transition="t1" if phase is not Phase.IDLE else None))


def left(attempt: Attempt) -> list[str]:
    """Name what lies for the holder of the transition to find."""
    folder = attempt.records.folder("t1")
    names = (attempt.records.disk.names(f"{folder}/{kind}") for kind in ("requests", "answers"))
    return [name for each in names for name in each]


@pytest.mark.parametrize(("wish", "phase"), sorted(ANSWERED))
def test_what_comes_too_late_or_too_early_is_answered_and_leaves_nothing(
    attempt: Attempt, wish: str, phase: Phase
) -> None:
    """An `accept` of a release that was still tried lay there until it was held, and was heeded."""
    at(attempt, phase)

    answer = obey(session(attempt), Request(wish, "somebody"))

    assert isinstance(answer, Done)
    assert answer.sentence
    assert left(attempt) == []
    harmless = wish in ("confirm", "hold", "resume") and phase not in LIVE
    assert answer.exit_code == (Exit.ACCEPTED if harmless else Exit.REFUSED), answer.sentence


@pytest.mark.parametrize(("wish", "phase"), sorted(HANDED_ON))
def test_what_can_be_heeded_is_handed_on(attempt: Attempt, wish: str, phase: Phase) -> None:
    """It lies there durably before anybody says so; at rest an abort means: send it back."""
    at(attempt, phase)

    with pytest.raises(Followed):
        obey(session(attempt), Request(wish, "somebody"))

    follows_only = wish == "resume" and phase not in REST
    what = "back" if wish == "abort" and phase in REST else wish
    assert left(attempt) == ([] if follows_only else [f"{what}.json"])


def test_a_confirmation_lands_where_one_is_waited_for(attempt: Attempt) -> None:
    """Durably, before "confirmed" is said; the first one counts."""
    at(attempt, Phase.PROVEN)

    answers = [obey(session(attempt), Request("confirm", who)) for who in ("first", "second")]

    assert answers == [Done(Exit.ACCEPTED, "confirmed")] * 2
    assert attempt.records.answer("t1", CONFIRM) == Answer(CONFIRM, "yes", "first")
