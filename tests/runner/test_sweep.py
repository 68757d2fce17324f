"""A sweep launches every rung once, judges each, and ends on the accepted release."""

from pathlib import Path

import pytest

from headway.runner.orders.sweep import unfit
from headway.wire.event import Event, Reported, StepDone
from headway.wire.phase import Exit, Phase
from headway.wire.record import Orders
from headway.wire.release import Release, release_of
from headway.wire.talk import Request
from headway.wire.verdict import Verdict
from tests.runner.attempt import Attempt, part
from tests.runner.world import PowerCut, World


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A bare host."""
    return World(tmp_path / "host")


@pytest.fixture
def attempt(world: World) -> Attempt:
    """Transitions on it; it runs a router and an engine."""
    attempt = Attempt(world)
    attempt.bring(engine(world, "depth-0"))
    return attempt


def engine(world: World, words: str, more: dict[str, str] | None = None) -> Release:
    """Make a release of a router and an engine of these words."""
    files = {"/etc/engine/env": f"A={words}\n", **(more or {})}
    return release_of((part(world, "router", "same"), part(world, "engine", words, files)))


def events(attempt: Attempt) -> list[Event]:
    """Read what the newest transition told."""
    return list(attempt.records.events(attempt.records.transitions()[0]))


def test_each_rung_is_launched_once_and_the_accepted_release_runs_again(
    world: World, attempt: Attempt
) -> None:
    """Byte for byte; a part that is not swept keeps its launch, and nothing is rejected."""
    before, router = world.tree(), world.systemd.up["router.service"]
    accepted = attempt.state().accepted
    launches = int(world.systemd.up["engine.service"].removeprefix("launch"))

    rested = attempt.sweep(*(engine(world, f"depth-{n}") for n in (0, 2, 4)))

    assert (rested.exit_code, rested.outcome) == (Exit.ACCEPTED, "swept")
    assert world.tree() == before
    assert world.systemd.up["router.service"] == router
    assert world.systemd.up["engine.service"] == f"launch{launches + 4}"  # three, and back
    state = attempt.state()
    assert (state.phase, state.accepted, state.rejected) == (Phase.IDLE, accepted, ())
    said = [e.body.report for e in events(attempt) if isinstance(e.body, Reported)]
    assert [r.verdict for r in said if r.kind == "health"] == [Verdict.PASS] * 4


def test_a_rung_that_fails_is_a_result_and_the_next_one_has_its_launch(
    world: World, attempt: Attempt
) -> None:
    """Out of memory at one depth says nothing of the others; why stands beside it."""
    before = world.tree()
    rungs = [engine(world, words) for words in ("depth-1", "WRONG-health", "depth-3")]

    rested = attempt.sweep(*rungs)

    assert rested.outcome == "swept"
    assert world.tree() == before
    ends = [e.body for e in events(attempt) if isinstance(e.body, StepDone)]
    said = [body.detail for body in ends if body.step == "rung"]
    assert [bool(words) for words in said] == [False, True, False]
    assert "gate health of engine: FAIL" in said[1]


def test_warm_air_ends_it_before_the_next_launch(world: World, attempt: Attempt) -> None:
    """Each launch loads a model and heats the room. It ends on the accepted release."""
    before = world.tree()
    attempt.before = ("thermal",)

    def gets_warm() -> None:
        if [kind for kind, _ in world.judged].count("health") > 2:  # two parts, and a rung
            world.verdicts["thermal"] = Verdict.INVALID

    world.on_judge = gets_warm
    launches = int(world.systemd.up["engine.service"].removeprefix("launch"))
    rested = attempt.sweep(*(engine(world, f"depth-{n}") for n in (1, 2, 3)))

    assert rested.outcome == "swept"
    assert world.tree() == before
    ends = [e.body for e in events(attempt) if isinstance(e.body, StepDone)]
    said = [body.detail for body in ends if body.step == "rung"]
    assert len(said) == 2
    assert "gate thermal of engine: INVALID" in said[-1]
    assert world.systemd.up["engine.service"] == f"launch{launches + 2}"  # one, and back


def test_a_person_calls_it_off_between_two_launches(world: World, attempt: Attempt) -> None:
    """The rungs that follow are not launched; it ends as it would have."""
    before = world.tree()
    rungs = tuple(engine(world, f"depth-{n}") for n in (1, 2, 3))
    start = attempt.records.release(attempt.state().running())
    transition = attempt.order(
        start, rungs[0], "sweep", Orders("test", relaunch=("engine",)), rungs
    )
    world.on_judge = lambda: attempt.records.put_request(transition.id, Request("abort", "eve", ""))
    rested = attempt.open(transition)
    assert rested.outcome == "swept"
    assert "aborted by eve" in rested.sentence
    assert world.tree() == before
    begun = [e.body for e in events(attempt) if isinstance(e.body, StepDone)]
    assert [body.step for body in begun].count("rung") == 1


def test_power_lost_anywhere_leads_back(tmp_path: Path) -> None:
    """At every durable write of a sweep: afterwards the accepted release runs, byte for byte."""
    step = 0
    while True:
        step += 1
        world = World(tmp_path / str(step))
        attempt = Attempt(world)
        attempt.bring(engine(world, "depth-0"))
        before = world.tree()
        rungs = [engine(world, f"depth-{n}") for n in (1, 2)]
        world.cut_at(step)
        try:
            attempt.sweep(*rungs)
        except PowerCut:
            world.power_back()
            attempt.pick_up()
        else:
            break
        assert world.tree() == before, step
        assert attempt.state().phase is Phase.IDLE, step
        assert "engine.service" in world.systemd.up, step
    assert step > 20


def test_only_one_part_may_be_swept_and_it_writes_the_same_paths(world: World) -> None:
    """Else the images taken before the first rung would not lead back from the last."""
    start = engine(world, "depth-0")
    assert unfit(start, (engine(world, "depth-1"), start), "engine") is None
    assert "more than router would change (engine)" in str(
        unfit(start, (engine(world, "depth-1"),), "router")
    )
    other = engine(world, "depth-1", {"/etc/engine/more": "x"})
    assert "write different paths" in str(unfit(start, (start, other), "engine"))
    assert "no part with a service" in str(unfit(start, (start,), "nobody"))
    assert unfit(start, (), "engine") == "no value to sweep"
