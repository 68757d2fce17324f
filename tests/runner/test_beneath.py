"""What lay on a host before headway comes back where no release owns it any more."""

from pathlib import Path

import pytest

from headway.wire.phase import Exit
from headway.wire.release import release_of
from tests.runner.attempt import Attempt, part
from tests.runner.world import World

OWN = "/etc/engine.conf"


@pytest.fixture
def attempt(tmp_path: Path) -> Attempt:
    """Give a host on which somebody's own file lies."""
    world = World(tmp_path)
    (tmp_path / OWN[1:]).write_text("somebody's own")
    (tmp_path / OWN[1:]).chmod(0o604)
    return Attempt(world)


def test_a_rollback_brings_back_what_the_release_lay_upon(attempt: Attempt) -> None:
    """B was accepted over a foreign file and made folders: A had the file, and no folders."""
    world = attempt.world
    attempt.bring(a := release_of((part(world, "engine", "a"),)))
    before = world.tree()
    files = {OWN: "headway's", "/srv/deep/er/file": "x"}
    attempt.bring(release_of((part(world, "engine", "b", files),)))
    assert attempt.bring(a, "rollback").exit_code == Exit.ACCEPTED
    assert world.tree() == before
    assert attempt.state().under, "what lies beneath A itself is still known"


def test_it_is_kept_over_releases_that_own_the_path_too(attempt: Attempt) -> None:
    """Three releases upon each other: the last to leave uncovers what the first one covered."""
    world = attempt.world
    attempt.bring(release_of((part(world, "engine", "a"),)))
    before = world.tree()
    for words in "bcd":
        attempt.bring(release_of((part(world, "engine", words, {OWN: words}),)))
    attempt.bring(release_of((part(world, "engine", "a"),)))
    assert world.tree() == before


def test_the_same_holds_when_a_part_leaves_and_when_leaving_fails(attempt: Attempt) -> None:
    """Going back from a release that uncovered a file covers it again."""
    world = attempt.world
    stays = part(world, "stays", "a")
    attempt.bring(release_of((stays, part(world, "goes", "a", {OWN: "headway's"}))))
    covered = world.tree()
    assert attempt.bring(release_of((part(world, "stays", "WRONG-health"),))).exit_code == (
        Exit.WENT_BACK
    )
    assert world.tree() == covered
    attempt.bring(release_of((stays,)))
    assert world.tree()[OWN] == ("file", 0o604, b"somebody's own")


def test_drift_beside_an_accepted_unit_does_not_come_back(attempt: Attempt) -> None:
    """A drop-in that somebody laid beside A's unit is no part of A: a rollback to A is A."""
    world = attempt.world
    attempt.bring(a := release_of((part(world, "engine", "a"),)))
    before = world.tree()
    folder = world.root / "etc/systemd/system/engine.service.d"
    folder.mkdir()
    (folder / "50-mine.conf").write_text("[Service]\nNice=5\n")
    attempt.bring(release_of((part(world, "engine", "b"),)))
    attempt.bring(a, "rollback")
    assert world.tree() == before


def test_a_unit_that_ran_before_headway_runs_again(attempt: Attempt) -> None:
    """B took the name of a unit that somebody else had enabled and started."""
    world = attempt.world
    attempt.bring(a := release_of((part(world, "engine", "a"),)))
    unit = world.root / "etc/systemd/system/other.service"
    unit.write_text("[Service]\nExecStart=/opt/theirs\n[Install]\nWantedBy=multi-user.target\n")
    world.systemd.enable("other.service")
    world.systemd.start("other.service")
    before = world.tree()
    attempt.bring(release_of((*a.parts, part(world, "other", "b"))))
    attempt.bring(a, "rollback")
    assert world.tree() == before
    assert "other.service" in world.systemd.up
