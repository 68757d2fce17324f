"""Fixtures of the lab tests: hosts that boot when a test asks for them and end with the run."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.lab.fleet import Fleet
from tests.lab.host import Host, HostSpec
from tests.lab.lab import Lab
from tests.lab.stand import Stand, stand

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Cheap tests first, then the lab's own, which clear the machine, then all that stand on it."""

    def turn(item: pytest.Item) -> int:
        if HERE not in item.path.parents:
            return 0
        return 1 if item.path.name == "test_lab.py" else 2

    items.sort(key=turn)


@pytest.fixture(scope="session")
def lab() -> Iterator[Lab]:
    """Return the lab of this run; without root its tests are skipped, and say so."""
    if os.geteuid() != 0:
        pytest.skip("the lab needs root")
    with Lab() as lab:
        yield lab


@pytest.fixture
def hosts(lab: Lab) -> Callable[..., list[Host]]:
    """Return `hosts("gpu1", HostSpec("old", "bullseye"), fresh=False)`: booted at once.

    A host of a name is shared by every test that asks for the same; `fresh=True` takes it as new.
    """

    def boot(*wanted: str | HostSpec, fresh: bool = False) -> list[Host]:
        specs = [HostSpec(want) if isinstance(want, str) else want for want in wanted]
        return lab.up(specs, fresh=fresh)

    return boot


@pytest.fixture(scope="session")
def stands(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> list[Stand]:
    """Return hosts that stand on release A and know B; a test leaves them as they come."""
    hosts = lab.up([HostSpec(f"stand{n}") for n in (1, 2, 3)])
    fleets = [Fleet(lab, tmp_path_factory.mktemp(host.name)) for host in hosts]
    with ThreadPoolExecutor() as pool:
        return list(pool.map(stand, fleets, hosts))
