"""Units and files that change parts between two releases. Each of these was a fault once."""

from dataclasses import replace
from pathlib import Path

import pytest

from headway.wire.phase import Exit
from headway.wire.release import Part, release_of
from headway.wire.resources import Dir, Unit
from tests.runner.attempt import Attempt, part
from tests.runner.drawn import moved, standing
from tests.runner.world import World


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A bare host."""
    return World(tmp_path / "host")


def holding(part: Part, other: Part) -> Part:
    """Give a part the units of another one, too."""
    units = tuple(each for each in other.resources if isinstance(each, Unit))
    return replace(part, resources=(*part.resources, *units))


def test_what_a_failed_part_took_from_a_later_one_comes_back(world: World) -> None:
    """The first part took the second one's file and unit, and failed before the second's turn.

    The second had not been tried, so it was not taken back: it kept the failed release's bytes.
    """
    attempt = Attempt(world)
    one, two = part(world, "one", "a"), part(world, "two", "a", {"/etc/two/env": "A=1\n"})
    attempt.bring(release_of((one, two)))
    before = standing(world)
    taken = part(world, "two", "b", {"/etc/two/env": "A=2\n"})
    failing = replace(holding(part(world, "one", "WRONG-health"), taken), role="x")
    env = taken.resources[1]
    failing = replace(failing, resources=(*failing.resources, env))

    rested = attempt.bring(release_of((failing, part(world, "rest", "b"))))
    again = attempt.bring(release_of((failing, Part("two", "service"))))

    assert (rested.exit_code, again.exit_code) == (Exit.WENT_BACK, Exit.WENT_BACK)
    assert moved(standing(world), before) == {}


def test_a_unit_that_its_new_part_launched_is_not_stopped_with_its_old_part(world: World) -> None:
    """It was: what had been judged was gone, and another launch that nobody judged ran instead."""
    attempt = Attempt(world)
    two = part(world, "two", "a")
    attempt.bring(release_of((part(world, "one", "a"), two)))
    judged: dict[str, str] = {}

    def look() -> None:
        judged.setdefault("two.service", world.systemd.up["two.service"])

    world.on_judge = look
    mover = holding(part(world, "one", "b"), two)
    rested = attempt.bring(release_of((mover, Part("two", "service"))))

    assert rested.exit_code == Exit.ACCEPTED
    assert world.systemd.up["two.service"] == judged["two.service"]


def test_an_empty_folder_of_dropins_is_not_left_behind(world: World) -> None:
    """A unit lost its drop-ins while the guard lay beside them: the folder stayed, and B had it."""
    attempt = Attempt(world)
    folder = Path(world.disk.real("/etc/systemd/system/one.service.d"))
    folder.mkdir()
    (folder / "theirs.conf").write_text("[Unit]\n")

    attempt.bring(release_of((part(world, "one", "a"),)))

    assert not folder.exists()


def test_a_folder_that_an_earlier_part_took_away_comes_back_as_it_was(world: World) -> None:
    """The first part writes below a folder of the second one, which B does not want any more.

    The folder was uncovered, made anew with another mode, and its part was not taken back.
    """
    attempt = Attempt(world)
    keeper = Part("two", "service", (Dir("/opt/two", 0o700),))
    attempt.bring(release_of((part(world, "one", "a"), keeper)))
    before = standing(world)

    failing = part(world, "one", "WRONG-health", {"/opt/two/file": "x"})
    rested = attempt.bring(release_of((failing, Part("two", "service"))))

    assert rested.exit_code == Exit.WENT_BACK
    assert moved(standing(world), before) == {}
