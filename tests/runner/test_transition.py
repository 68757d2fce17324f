"""What a transition promises, told over a host double: see tests/lab for the same on real hosts."""

from pathlib import Path

import pytest

from headway.runner import guard
from headway.runner.acceptance import rollback_target
from headway.runner.desk import CONFIRM
from headway.wire.event import Answer, Moved
from headway.wire.phase import Exit, Phase
from headway.wire.record import Orders
from headway.wire.release import release_of
from headway.wire.talk import Request
from headway.wire.verdict import Verdict
from tests.runner.attempt import Attempt, part
from tests.runner.world import World


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A bare host."""
    return World(tmp_path / "host")


@pytest.fixture
def attempt(world: World) -> Attempt:
    """Transitions on it."""
    return Attempt(world)


def test_a_first_release_is_accepted_on_a_bare_host(world: World, attempt: Attempt) -> None:
    """EMPTY to A: written, running, enabled, unguarded, accepted with exit 0."""
    a = release_of((part(world, "engine", "one", {"/etc/engine/env": "A=1\n"}),))
    rested = attempt.bring(a)
    assert (rested.exit_code, rested.outcome) == (Exit.ACCEPTED, "accepted")
    assert world.systemd.up == {"engine.service": "launch1"}
    assert world.disk.read("/etc/engine/env") == b"A=1\n"
    assert world.systemd.is_enabled("engine.service")[0] == 0
    assert guard.guarded(world.machine) == []
    assert attempt.state().running() == a.id
    assert attempt.state().phase is Phase.IDLE


def test_a_release_that_fails_goes_back_byte_for_byte(world: World, attempt: Attempt) -> None:
    """A FAIL of B leaves the tree of A, A running, B rejected, exit 1."""
    a = release_of((part(world, "engine", "one", {"/etc/engine/env": "A=1\n"}),))
    attempt.bring(a)
    before = world.tree()
    files = {"/etc/engine/env": "A=2\n", "/etc/engine/new": "x", "/opt/deep/er/file": "y"}
    b = release_of((part(world, "engine", "WRONG-health", files),))
    rested = attempt.bring(b)
    assert (rested.exit_code, rested.outcome) == (Exit.WENT_BACK, "went back")
    assert world.tree() == before
    assert "engine.service" in world.systemd.up
    assert [old.release for old in attempt.state().rejected] == [b.id]


def test_a_failure_on_a_bare_host_leaves_nothing(world: World, attempt: Attempt) -> None:
    """EMPTY is a release like any other: going back to it takes everything away."""
    before = world.tree()
    rested = attempt.bring(release_of((part(world, "engine", "WRONG-health", {"/opt/e/f": "1"}),)))
    assert rested.exit_code == Exit.WENT_BACK
    assert world.tree() == before
    assert world.systemd.up == {}


def test_a_unit_that_cannot_start_is_the_release_s_fault(world: World, attempt: Attempt) -> None:
    """A start that fails rejects the release as a gate would."""
    b = release_of((part(world, "engine", "CANNOT-START"),))
    assert attempt.bring(b).exit_code == Exit.WENT_BACK
    assert attempt.state().rejected[0].release == b.id


def test_a_gate_asked_between_sees_the_new_words_and_nothing_running(
    world: World, attempt: Attempt
) -> None:
    """Cards are free and the new environment is written; after the start it is asked again."""
    attempt.before = ("nccl",)
    attempt.bring(release_of((part(world, "engine", "one"),)))
    world.judged.clear()

    rested = attempt.bring(release_of((part(world, "engine", "two"),)))

    assert rested.exit_code == Exit.ACCEPTED
    assert world.judged[:2] == [("nccl", "engine"), ("nccl", "engine")]
    assert ("health", "engine") in world.judged[2:]


def test_a_gate_that_fails_between_starts_nothing(world: World, attempt: Attempt) -> None:
    """The new unit is never launched: the old one is, again."""
    attempt.before = ("nccl",)
    attempt.bring(release_of((part(world, "engine", "one"),)))
    b = release_of((part(world, "engine", "WRONG-nccl CANNOT-START"),))

    rested = attempt.bring(b)

    assert (rested.exit_code, rested.outcome) == (Exit.WENT_BACK, "went back")
    assert "gate nccl of engine: FAIL" in rested.sentence
    assert "engine.service" in world.systemd.up


def test_a_damaged_record_of_long_ago_stops_nothing(world: World, attempt: Attempt) -> None:
    """It ended the runner once, and each one that picked up, where B was proved and not kept."""
    for words in "ab":
        attempt.bring(release_of((part(world, "engine", words),)))
    old = attempt.state().accepted[1].release
    world.disk.write(f"/var/lib/headway/releases/{old}.json", b"{oops")
    rested = attempt.bring(release_of((part(world, "engine", "c"),)))
    assert rested.outcome == "accepted"
    assert attempt.state().accepted[2].release == old


def test_gates_know_that_what_ran_before_had_to_be_killed(world: World, attempt: Attempt) -> None:
    """A card may be left in disorder: `burst` asks more of the next launch, and of no other."""
    attempt.bring(release_of((part(world, "router", "one"), part(world, "engine", "one"))))
    assert world.after_kill == set()
    world.systemd.stubborn.add("engine.service")
    attempt.bring(release_of((part(world, "router", "two"), part(world, "engine", "two"))))
    assert world.after_kill == {"engine"}


def test_warm_air_keeps_no_host_from_going_back(world: World, attempt: Attempt) -> None:
    """Gates that watch beside others do so beside none that a way back is judged by.

    A host that was held for warm air could not be sent back: its health was called off, too.
    """
    attempt.bring(release_of((part(world, "engine", "one"),)))
    attempt.before = ("thermal", "burst")
    attempt.bring(release_of((part(world, "engine", "two"),)))
    assert world.watched == {"burst"}


def test_an_unchanged_neighbour_keeps_its_launch(world: World, attempt: Attempt) -> None:
    """The part is what restarts; the other one of the host runs on, unguarded."""
    router = part(world, "router", "one")
    attempt.bring(release_of((router, part(world, "engine", "one"))))
    launch = world.systemd.up["router.service"]
    attempt.bring(release_of((router, part(world, "engine", "two"))))
    assert world.systemd.up["router.service"] == launch
    assert world.systemd.up["engine.service"] != "launch2"


def test_parts_go_back_in_reverse_each_healthy_before_the_next(
    world: World, attempt: Attempt
) -> None:
    """The second part fails: it goes back first, then the one before it."""
    attempt.bring(release_of((part(world, "one", "a"), part(world, "two", "a"))))
    world.judged.clear()
    world.systemd.log.clear()
    attempt.bring(release_of((part(world, "one", "b"), part(world, "two", "WRONG-health"))))
    starts = [row for row in world.systemd.log if row.startswith("start ")]
    assert starts == [
        "start one.service",
        "start two.service",
        "start two.service",
        "start one.service",
    ]
    assert world.judged[-4:] == [
        ("in_place", "two"),
        ("health", "two"),
        ("in_place", "one"),
        ("health", "one"),
    ]


def test_a_part_that_leaves_the_release_is_stopped_and_removed(
    world: World, attempt: Attempt
) -> None:
    """What the target lacks goes first, and is not started at the next boot."""
    attempt.bring(release_of((part(world, "old", "a"), part(world, "engine", "a"))))
    attempt.bring(release_of((part(world, "engine", "a"),)))
    assert set(world.systemd.up) == {"engine.service"}
    assert not [path for path in world.tree() if "old" in path]


def test_an_invalid_gate_is_asked_twice_and_then_held(world: World, attempt: Attempt) -> None:
    """Nothing judged rejects nothing: the release runs, guarded, and waits for a person."""
    a = release_of((part(world, "engine", "a"),))
    attempt.bring(a)
    world.judged.clear()
    b = release_of((part(world, "engine", "MUTE-health"),))
    rested = attempt.bring(b)
    assert (rested.exit_code, rested.outcome) == (Exit.HELD, "held")
    assert world.judged.count(("health", "engine")) == 2
    assert attempt.state().phase is Phase.HELD
    assert attempt.state().rejected == ()
    assert guard.guarded(world.machine) == ["engine.service"]


def test_on_invalid_return_goes_back_without_rejecting(world: World, attempt: Attempt) -> None:
    """The operator may choose that an unjudged release does not stay."""
    a = release_of((part(world, "engine", "a"),))
    attempt.bring(a)
    before = world.tree()
    b = release_of((part(world, "engine", "MUTE-health"),))
    rested = attempt.bring(b, orders=Orders("test", on_invalid="return"))
    assert rested.exit_code == Exit.WENT_BACK
    assert world.tree() == before
    assert attempt.state().rejected == ()


@pytest.mark.parametrize(
    ("wish", "code", "phase", "running"),
    [
        ("resume", Exit.HELD, Phase.HELD, "a"),
        ("accept", Exit.ACCEPTED, Phase.IDLE, "b"),
        ("back", Exit.ACCEPTED, Phase.IDLE, "a"),
    ],
)
def test_a_person_decides_over_a_held_host(
    world: World, attempt: Attempt, wish: str, code: Exit, phase: Phase, running: str
) -> None:
    """HELD leads on only by a person: judge again, accept, or send back."""
    a = release_of((part(world, "engine", "a"),))
    attempt.bring(a)
    b = release_of((part(world, "engine", "MUTE-health"),))
    attempt.bring(b)
    transition = attempt.state().transition
    assert transition is not None
    attempt.records.put_request(transition, Request(wish, "somebody"))
    rested = attempt.pick_up()
    assert rested is not None
    assert rested.exit_code == code
    assert attempt.state().phase is phase
    assert attempt.state().running() == {"a": a.id, "b": b.id}[running]
    assert (guard.guarded(world.machine) == []) is (phase is Phase.IDLE)


def test_a_repair_that_fails_rests_held_with_the_drift_as_evidence(
    world: World, attempt: Attempt
) -> None:
    """The accepted release has nothing better to go back to."""
    a = release_of((part(world, "engine", "a"),))
    attempt.bring(a)
    world.verdicts["health"] = Verdict.FAIL
    rested = attempt.bring(a, "repair", Orders("test", relaunch=("engine",)))
    assert rested.exit_code == Exit.HELD
    assert attempt.state().rejected == ()


def test_rollback_goes_further_back_each_time_and_never_forth(
    world: World, attempt: Attempt
) -> None:
    """The release left is withdrawn; only a person's name for it brings it back."""
    releases = []
    for words in "abc":
        releases.append(release_of((part(world, "engine", words),)))
        attempt.bring(releases[-1])
    a, b, c = releases
    assert rollback_target(attempt.state()) == b.id
    attempt.bring(b, "rollback")
    assert rollback_target(attempt.state()) == a.id
    attempt.bring(a, "rollback")
    assert rollback_target(attempt.state()) is None
    assert rollback_target(attempt.state(), c.id[:6]) == c.id
    withdrawn = {old.release for old in attempt.state().accepted if old.withdrawn}
    assert withdrawn == {b.id, c.id}


def test_a_rollback_that_fails_rests_stuck(world: World, attempt: Attempt) -> None:
    """It is not rolled forth again by itself: a person is needed, exit 7."""
    attempt.bring(release_of((part(world, "engine", "b"),)))
    a = release_of((part(world, "engine", "WRONG-health"),))
    rested = attempt.bring(a, "rollback")
    assert rested.exit_code == Exit.STUCK
    assert attempt.state().phase is Phase.STUCK


def test_an_abort_goes_back_and_rejects_nothing(world: World, attempt: Attempt) -> None:
    """A person's abort is not the release's failure."""
    a = release_of((part(world, "engine", "a"),))
    attempt.bring(a)
    before = world.tree()
    b = release_of((part(world, "engine", "b"),))
    transition = attempt.order(a, b)
    request = Request("abort", "somebody")
    world.on_judge = lambda: attempt.records.put_request(transition.id, request)
    running = attempt.running(transition)
    rested = running.open()
    assert rested.exit_code == Exit.WENT_BACK
    assert "aborted by somebody" in rested.sentence
    assert world.tree() == before
    assert attempt.state().rejected == ()


def test_every_move_is_told_after_it_is_durable(world: World, attempt: Attempt) -> None:
    """The event file names the phases of the story in order."""
    attempt.bring(release_of((part(world, "engine", "a"),)))
    events = attempt.records.events("t1")
    moves = [event.body.to for event in events if isinstance(event.body, Moved)]
    assert moves == [Phase.OPEN, Phase.TRYING, Phase.PROVEN, Phase.KEEPING, Phase.IDLE]
    assert [event.seq for event in events] == list(range(1, len(events) + 1))


# --- confirmation -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reach", "answer", "code"),
    [
        (False, "yes", Exit.ACCEPTED),
        (False, None, Exit.HELD),
        (True, "yes", Exit.ACCEPTED),
        (True, None, Exit.WENT_BACK),
    ],
)
def test_the_confirmation_s_silence_depends_on_what_was_touched(
    world: World, attempt: Attempt, *, reach: bool, answer: str | None, code: Exit
) -> None:
    """Silence after the way in was touched means nobody can reach the host: go back; else hold."""
    path = "/etc/ssh/sshd_config.d/x.conf" if reach else "/etc/engine/x"
    b = release_of((part(world, "engine", "b", {path: "x"}),))
    transition = attempt.order(
        attempt.records.release("empty"), b, orders=Orders("t", confirm=True)
    )
    if answer:
        attempt.records.put_answer(transition.id, Answer(CONFIRM, answer, "somebody"))
    assert attempt.open(transition).exit_code == code


def test_a_drop_in_somebody_laid_comes_back_with_the_release_it_changed(
    world: World, attempt: Attempt
) -> None:
    """B takes the unit's whole folder; going back brings the stranger back, and is not stuck."""
    attempt.bring(release_of((part(world, "engine", "a"),)))
    folder = world.root / "etc/systemd/system/engine.service.d"
    folder.mkdir()
    (folder / "50-mine.conf").write_text("[Service]\nNice=5\n")
    before = world.tree()
    rested = attempt.bring(release_of((part(world, "engine", "WRONG-health"),)))
    assert rested.exit_code == Exit.WENT_BACK
    assert world.tree() == before


def test_an_abort_that_comes_too_late_does_not_stop_the_way_back(
    world: World, attempt: Attempt
) -> None:
    """It goes back already: calling off the way back would leave the host stuck."""
    a = release_of((part(world, "engine", "a"),))
    attempt.bring(a)
    transition = attempt.order(a, release_of((part(world, "engine", "WRONG-health"),)))
    running = attempt.running(transition)
    heard = []

    def abort_while_it_returns() -> None:
        if attempt.state().phase is Phase.RETURNING:
            attempt.records.put_request(transition.id, Request("abort", "somebody"))
            heard.append(running.work.desk.wish())

    world.on_judge = abort_while_it_returns
    assert running.open().outcome == "went back"
    assert heard
    assert set(heard) == {""}


def test_a_rollback_is_not_refused_for_want_of_what_it_does_not_need(
    world: World, attempt: Attempt
) -> None:
    """Gates before the start are not asked of a way back; the same FAIL refuses a rollout."""
    attempt.before = ("ready",)
    a = release_of((part(world, "engine", "a"),))
    attempt.bring(a)
    attempt.bring(release_of((part(world, "engine", "b"),)))
    world.verdicts["ready"] = Verdict.FAIL
    assert attempt.bring(release_of((part(world, "engine", "c"),))).exit_code == Exit.REFUSED
    assert attempt.bring(a, "rollback").exit_code == Exit.ACCEPTED
