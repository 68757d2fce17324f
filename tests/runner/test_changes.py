"""What a change takes away: what only the old side brought, and nothing that was there before."""

import pytest

from headway.runner.changes import ADOPTED_ROLE, leaving
from headway.wire.release import EMPTY, Part, Release, release_of
from headway.wire.resources import Blob, File, Unit

BLOB = Blob("0" * 64, 1)
UNIT = Unit("web.service", BLOB)
SCRIPT, CONFIG = File("/opt/engine.py", BLOB, 0o755), File("/etc/web.env", BLOB, 0o600)


def test_what_the_target_does_not_own_goes() -> None:
    """A release leaves nothing behind, and takes nothing that the next one writes anyway."""
    old = Part("web", "service", (CONFIG, SCRIPT, UNIT))
    target = release_of((Part("web", "service", (CONFIG, UNIT)),))
    assert leaving(old, target) == (SCRIPT,)
    assert leaving(None, target) == ()


@pytest.mark.parametrize("target", [EMPTY, release_of((Part("web", "service", (CONFIG,)),))])
def test_of_what_was_adopted_only_units_go(target: Release) -> None:
    """The script of an adopted command line was deleted once: the new engine needed it, too."""
    old = Part("web", ADOPTED_ROLE, (CONFIG, SCRIPT, UNIT))
    assert leaving(old, target) == (UNIT,)
