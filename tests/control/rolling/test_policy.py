"""What a rollout decides is pure: who may begin, what Ctrl-C means, who counts for the floor."""

from hypothesis import given
from hypothesis import strategies as st

from headway.control.rolling.policy import (
    Interrupt,
    Peer,
    floor,
    interrupt,
    may_go_on,
    peer,
    spent,
    wait_s,
)
from headway.wire.phase import Exit, Phase
from headway.wire.record import Acceptance, Parked, State
from headway.wire.release import EMPTY, Part, release_of
from headway.wire.talk import Looked

CODES = st.lists(st.sampled_from([code for code in Exit if code is not Exit.CHANGES]))
RELEASE = release_of((Part("llama", "engine"), Part("router", "router")))
ACCEPTED = Acceptance(RELEASE.id, "c", 1, "op", "")


@given(CODES, st.integers(0, 20))
def test_a_host_begins_only_while_the_budget_is_not_spent(codes: list[Exit], budget: int) -> None:
    """Every host that is not accepted or unchanged spends one, whatever kept it."""
    assert may_go_on(codes, budget) is (spent(codes) <= budget)
    assert spent([*codes, Exit.ACCEPTED]) == spent(codes)
    assert spent([*codes, Exit.UNREACHABLE]) == spent(codes) + 1


@given(CODES.filter(bool))
def test_without_a_budget_the_first_failure_stops(codes: list[Exit]) -> None:
    """Budget 0 is the default: one failure, and no host after it begins."""
    assert may_go_on(codes, 0) is all(code is Exit.ACCEPTED for code in codes)


def test_ctrl_c_goes_from_gentle_to_leaving() -> None:
    """Once: finish; twice: go back; three times and more: leave."""
    presses = [interrupt(n) for n in range(1, 6)]
    assert presses == [Interrupt.FINISH, Interrupt.ABORT, *[Interrupt.LEAVE] * 3]


@given(st.integers(0, 10_000))
def test_tries_become_rarer_but_never_rare(tries: int) -> None:
    """A host that reboots for ten minutes is found within 15 s."""
    assert 0.5 <= wait_s(tries) <= wait_s(tries + 1) <= 15


PEERS = st.lists(
    st.builds(
        Peer, st.text("abc", min_size=1), counts=st.booleans(), why=st.sampled_from(["", "down"])
    )
)


@given(PEERS, st.none() | st.integers(0, 5))
def test_the_floor_counts_only_those_that_serve(peers: list[Peer], wanted: int | None) -> None:
    """It holds exactly when as many serve as are wanted, by default all that are meant to."""
    serving = sum(one.counts and not one.why for one in peers)
    meant = sum(one.counts for one in peers)
    holds = serving >= (meant if wanted is None else wanted)
    assert (floor("engine", peers, wanted) == "ok") is holds


def test_a_floor_that_does_not_hold_names_who_is_missing() -> None:
    """A person at night reads which host and why."""
    peers = [Peer("gpu1", counts=True), Peer("gpu2", counts=True, why="llama failed, 3 restarts")]
    answer = floor("engine", peers, None)
    assert answer == (
        "1 of 2 other instances of engine are accepted and up; "
        "not so: gpu2 (llama failed, 3 restarts)"
    )


def looked(state: State, **alive: str) -> Looked:
    """Make what a host says of itself."""
    return Looked(state, RELEASE if state.accepted else EMPTY, alive=alive)


def test_who_counts_for_the_floor() -> None:
    """Accepted and up counts; bare and parked hosts are not expected; held or down ones lack."""
    up = looked(State(accepted=(ACCEPTED,)), llama="active, 0 restarts")
    assert peer("h", up, "engine") == Peer("h", counts=True)
    assert not peer("h", looked(State()), "engine").counts
    assert not peer("h", up, "another").counts
    parked = State(accepted=(ACCEPTED,), parked=Parked("op", 1, "fan"))
    assert not peer("h", looked(parked), "engine").counts
    held = looked(State(phase=Phase.HELD, accepted=(ACCEPTED,)), llama="active, 0 restarts")
    assert peer("h", held, "engine").why == "HELD"
    down = looked(State(accepted=(ACCEPTED,)), llama="failed, 3 restarts")
    assert peer("h", down, "engine").why == "llama failed, 3 restarts"
