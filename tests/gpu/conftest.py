"""The same tests under pytest; where there is no card they are skipped, and say so."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.gpu.bench import Bench, SkipTestError, card_names


@pytest.fixture(scope="session")
def _cards() -> list[str]:
    return card_names()


@pytest.fixture
def bench(_cards: list[str], tmp_path: Path) -> Bench:
    """Return what a test on a real card is handed."""
    if not _cards:
        pytest.skip("needs a real NVIDIA card")
    return Bench(tmp_path)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Iterator[None]:
    """Skip what this machine has too few cards for, as run.py does."""
    try:
        yield
    except SkipTestError as reason:
        pytest.skip(str(reason))
