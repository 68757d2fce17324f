"""Random A, B and unowned files; A, B, back restores everything (DESIGN 8.3).

Whole transitions over the host double: parts that come, go and change places, units and folders
that move between them, files of others in their way, and a B that fails at any of its parts.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

from headway.runner import guard
from headway.wire.phase import Exit, Phase
from headway.wire.release import EMPTY, Release
from headway.wire.talk import Request
from tests.runner import drawn
from tests.runner.attempt import Attempt
from tests.runner.drawn import (
    Drawn,
    Lying,
    Standing,
    lay,
    moved,
    releases,
    standing,
    started,
    unowned,
)
from tests.runner.world import World

MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
FAULTS = ("WRONG-health", "CANNOT-START", "MUTE-health")
things = st.lists(unowned, max_size=4)
many = settings(
    max_examples=int(os.environ.get("HEADWAY_EXAMPLES", "20")),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)


@contextmanager
def host(lying: list[Lying]) -> Iterator[tuple[World, Attempt]]:
    """A host with these things on it, in memory where there is some."""
    with tempfile.TemporaryDirectory(dir=MEMORY, prefix="headway-") as folder:
        world = World(Path(folder) / "host")
        lay(world, lying)
        yield world, Attempt(world)


def rests(world: World, attempt: Attempt, on: Release) -> None:
    """See that the host came to rest on a release, unguarded."""
    state = attempt.state()
    assert (state.phase, state.why, state.running()) == (Phase.IDLE, "", on.id)
    assert guard.guarded(world.machine) == []
    assert state.transition is None


def same(world: World, then: Standing) -> None:
    """See that all of the host is as it was, or say what is not."""
    changed = moved(standing(world), then)
    assert not changed, changed


@many
@given(things, releases(), releases())
def test_a_then_b_then_back_is_a(lying: list[Lying], first: Drawn, second: Drawn) -> None:
    """Both are accepted; a rollback from B makes the host what it was on A."""
    with host(lying) as (world, attempt):
        a = first.made(world)
        assume(attempt.bring(a).exit_code == Exit.ACCEPTED)
        on_a, b = standing(world), second.made(world)
        assume(a.id != b.id)
        assert started(a) <= on_a.up
        assume(attempt.bring(b).exit_code == Exit.ACCEPTED)
        assert started(b) <= world.systemd.up.keys()

        rested = attempt.bring(a, "rollback")

        assert (rested.exit_code, rested.outcome) == (Exit.ACCEPTED, "rolled back"), rested.sentence
        rests(world, attempt, a)
        same(world, on_a)


@many
@given(things, releases(), releases(), st.data())
def test_a_b_that_fails_leaves_a(
    lying: list[Lying], first: Drawn, second: Drawn, data: st.DataObject
) -> None:
    """Any part of B fails, cannot start, or cannot be judged and is sent back by a person."""
    parts = second.parts_with_units()
    assume(parts)
    wrong, fault = data.draw(st.sampled_from(parts)), data.draw(st.sampled_from(FAULTS))
    with host(lying) as (world, attempt):
        a = first.made(world)
        assume(attempt.bring(a).exit_code == Exit.ACCEPTED)
        on_a = standing(world)

        attempt.bring(second.made(world, wrong, fault))

        if attempt.state().phase is Phase.HELD:
            event("held")
            held = attempt.state().transition or ""
            attempt.records.put_request(held, Request("back", "somebody"))
            attempt.pick_up()
        rests(world, attempt, a)
        same(world, on_a)


@many
@given(things, releases(), st.data())
def test_a_first_release_that_fails_leaves_what_was_there(
    lying: list[Lying], first: Drawn, data: st.DataObject
) -> None:
    """On a host that headway never touched there is nothing of it afterwards."""
    parts = first.parts_with_units()
    assume(parts)
    with host(lying) as (world, attempt):
        bare = standing(world)

        rested = attempt.bring(first.made(world, data.draw(st.sampled_from(parts)), FAULTS[0]))

        assert rested.outcome == "went back", rested.sentence
        rests(world, attempt, EMPTY)
        same(world, bare)


@many
@given(things, releases(), releases(), st.integers(1, 8))
def test_an_abort_at_any_gate_leaves_a(
    lying: list[Lying], first: Drawn, second: Drawn, gate: int
) -> None:
    """A person calls B off while its n-th gate is judged."""
    with host(lying) as (world, attempt):
        a = first.made(world)
        assume(attempt.bring(a).exit_code == Exit.ACCEPTED)
        on_a, b = standing(world), second.made(world)
        assume(a.id != b.id)
        transition = attempt.order(a, b)
        asked = len(world.judged) + gate

        def call_off() -> None:
            if len(world.judged) + 1 == asked:
                attempt.records.put_request(transition.id, Request("abort", "somebody"))

        world.on_judge = call_off
        rested = attempt.open(transition)
        event(rested.outcome)
        assume(rested.outcome == "went back")

        rests(world, attempt, a)
        same(world, on_a)


def test_the_drawn_paths_meet() -> None:
    """Folders that parts share hold files of other parts, or the properties would prove little."""
    assert all(any(path.startswith(each + "/") for path in drawn.PATHS) for each in drawn.SHARED)
