"""The exit code that speaks for several hosts."""

from itertools import combinations

import pytest

from headway.wire.phase import Exit, worst


def test_the_order_is_the_documented_one() -> None:
    """Of any two, the one that stands first here speaks: docs/exit-codes.md, DESIGN 4."""
    order = [Exit(code) for code in (7, 6, 1, 5, 2, 8, 3, 4, 10, 0)]
    for worse, better in combinations(order, 2):
        assert worst((better, worse)) is worse


@pytest.mark.parametrize("code", list(Exit))
def test_every_code_has_its_place(code: Exit) -> None:
    """One that had none ended a restart of an unknown part in a traceback, with exit code 6."""
    assert worst([code]) is code


def test_no_host_is_no_trouble() -> None:
    """Nothing was asked of anybody."""
    assert worst([]) is Exit.ACCEPTED
