"""The phase table, walked: every phase x crash, cut, confirm, late, abort (DESIGN 8.1)."""

import itertools

import pytest

from headway.runner import phases
from headway.runner.phases import Loss, PhaseError, Recovery, Trigger, after, can, recovered
from headway.wire.phase import Phase

REST = {Phase.IDLE, Phase.HELD, Phase.STUCK}
# What the way back or forward does next when nothing more goes wrong, by recovery action.
ON = {
    Recovery.CLOSE: Phase.IDLE,
    Recovery.RETURN: Phase.IDLE,
    Recovery.KEEP: Phase.IDLE,
}


def ways(phase: Phase) -> list[Trigger]:
    """Name every trigger that leads on from a phase."""
    return [trigger for trigger in Trigger if can(phase, trigger)]


def walks(start: Phase, length: int) -> list[tuple[tuple[Phase, Trigger | None], ...]]:
    """Give every walk over the table of at most this length."""
    found: list[tuple[tuple[Phase, Trigger | None], ...]] = []
    heads: list[tuple[tuple[Phase, Trigger | None], ...]] = [((start, None),)]
    for _ in range(length):
        longer = [
            (*walk, (after(walk[-1][0], trigger), trigger))
            for walk in heads
            for trigger in ways(walk[-1][0])
        ]
        found += longer
        heads = longer
    return found


WALKS = walks(Phase.IDLE, 9)


def test_every_phase_is_reached_and_left() -> None:
    """No phase is dead: each is entered by some walk and led out of by some trigger."""
    assert {walk[-1][0] for walk in WALKS} == set(Phase)
    assert all(ways(phase) for phase in Phase)


def test_nothing_is_kept_that_was_not_proved_or_accepted_by_a_person() -> None:
    """KEEPING is entered from PROVEN by a confirmation or from HELD by a person, in every walk."""
    for walk in WALKS:
        for (before, _), (phase, trigger) in itertools.pairwise(walk):
            if phase is Phase.KEEPING:
                assert (before, trigger) in {
                    (Phase.PROVEN, Trigger.CONFIRMED),
                    (Phase.HELD, Trigger.ACCEPTED),
                }


def test_proven_is_entered_only_by_passing_every_gate() -> None:
    """There is no other way to PROVEN."""
    for walk in WALKS:
        for (before, _), (phase, trigger) in itertools.pairwise(walk):
            if phase is Phase.PROVEN:
                assert (before, trigger) == (Phase.TRYING, Trigger.PROVED)


def test_after_keeping_there_is_no_way_back() -> None:
    """What is accepted is left only by a rollback, which is a transition of its own."""
    assert {after(Phase.KEEPING, trigger) for trigger in ways(Phase.KEEPING)} == {Phase.IDLE}


def test_nothing_leaves_held_by_itself() -> None:
    """Only what a person does leads out of HELD and STUCK."""
    people = {Trigger.JUDGE_AGAIN, Trigger.ACCEPTED, Trigger.BACK}
    assert set(ways(Phase.HELD)) | set(ways(Phase.STUCK)) <= people


def test_an_unknown_way_is_refused() -> None:
    """Whoever moves a transition elsewhere is stopped."""
    with pytest.raises(PhaseError, match="IDLE: there is no way on"):
        after(Phase.IDLE, Trigger.PROVED)


@pytest.mark.parametrize("confirmed", [None, True, False])
@pytest.mark.parametrize("loss", Loss)
@pytest.mark.parametrize("phase", Phase)
def test_every_loss_in_every_phase_has_an_answer(
    phase: Phase, loss: Loss, confirmed: bool | None
) -> None:
    """Recovery leads each phase to rest, and never forward to what was not proved."""
    action = recovered(phase, loss, confirmed=confirmed)
    if action is Recovery.KEEP:
        assert phase is Phase.KEEPING or (phase is Phase.PROVEN and confirmed)
    if action in (Recovery.NOTHING, Recovery.REST):
        assert phase in REST
    if phase in (Phase.TRYING, Phase.RETURNING):
        assert action is Recovery.RETURN
    if loss is Loss.CUT and phase in (Phase.HELD, Phase.STUCK):
        assert action is Recovery.RETURN


def test_a_cut_in_proven_without_a_confirmation_goes_back() -> None:
    """The guards kept the release down: what was proved is not running any more."""
    assert recovered(Phase.PROVEN, Loss.CUT) is Recovery.RETURN
    assert recovered(Phase.PROVEN, Loss.CRASH) is Recovery.ASK


MUTANTS = [
    ((Phase.TRYING, Trigger.UNJUDGED), Phase.PROVEN),
    ((Phase.TRYING, Trigger.FAILED), Phase.PROVEN),
    ((Phase.OPEN, Trigger.READY), Phase.KEEPING),
    ((Phase.PROVEN, Trigger.SILENT_REACH), Phase.KEEPING),
]


@pytest.mark.parametrize(("way", "to"), MUTANTS)
def test_the_walk_finds_a_table_that_was_broken(
    way: tuple[Phase, Trigger], to: Phase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The invariants above are not vacuous: each of these mutants breaks one of them."""
    monkeypatch.setitem(phases._TABLE, way, to)
    broken = walks(Phase.IDLE, 9)
    wrong = [
        (before, trigger)
        for walk in broken
        for (before, _), (phase, trigger) in itertools.pairwise(walk)
        if (phase is Phase.PROVEN and trigger is not Trigger.PROVED)
        or (phase is Phase.KEEPING and trigger not in (Trigger.CONFIRMED, Trigger.ACCEPTED))
    ]
    assert wrong
