"""A host with a project that was accepted, for whoever looks at its containers."""

from collections.abc import Iterator

import pytest

from tests.runner.attempt import Attempt
from tests.runner.containers.world import StackWorld, short_folder


@pytest.fixture
def world() -> Iterator[StackWorld]:
    """Give a host that stands on `world.release()`, both services running."""
    with short_folder() as folder:
        world = StackWorld(folder / "h")
        assert Attempt(world).bring(world.release()).exit_code == 0
        yield world
        world.docker.close()
