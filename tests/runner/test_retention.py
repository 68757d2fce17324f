"""What is let go at rest, and what never is."""

import os
from pathlib import Path

import pytest

from headway.runner import retention
from headway.wire.marks import ROOT
from headway.wire.release import release_of
from tests.runner.attempt import Attempt, part
from tests.runner.world import World


@pytest.fixture
def attempt(tmp_path: Path) -> Attempt:
    """Transitions of a bare host."""
    return Attempt(World(tmp_path / "host"))


def test_a_release_that_nothing_names_goes_with_its_blobs(attempt: Attempt) -> None:
    """Accepted releases and those of kept transitions stay whole; the rest is swept."""
    accepted = release_of((part(attempt.world, "engine", "a"),))
    attempt.bring(accepted)
    forgotten = release_of((part(attempt.world, "engine", "never rolled out"),))
    attempt.records.keep_release(forgotten)
    retention.sweep(attempt.world.machine, attempt.records)
    assert attempt.records.releases() == [accepted.id]
    assert attempt.records.whole_release(accepted.id, attempt.world.machine.blobs) == accepted
    assert attempt.world.machine.blobs.missing(forgotten.blobs())


def test_five_accepted_releases_can_be_gone_back_to(attempt: Attempt) -> None:
    """The sixth pushes the oldest off the list."""
    for words in "abcdefg":
        attempt.bring(release_of((part(attempt.world, "engine", words),)))
    kept = attempt.state().accepted
    assert len(kept) == 5
    for old in kept:
        attempt.records.whole_release(old.release, attempt.world.machine.blobs)


def test_old_runners_go_and_the_current_one_never(attempt: Attempt) -> None:
    """Two others stay: another controller may be talking to one."""
    folder = Path(attempt.world.disk.real(ROOT + "/runner"))
    for age, name in enumerate(["new", "older", "old", "oldest", "current-one"]):
        (folder / name).mkdir()
        os.utime(folder / name, (1000 - age, 1000 - age))
    (folder / "current").symlink_to("current-one")
    retention.sweep(attempt.world.machine, attempt.records)
    assert sorted(path.name for path in folder.iterdir()) == [
        "current",
        "current-one",
        "new",
        "older",
    ]
