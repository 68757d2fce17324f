"""A host with containers is sealed by Docker's own files; whatever moves breaks the seal."""

from collections.abc import Callable
from pathlib import Path

import pytest

from headway.runner import observe, quick, seal
from headway.runner.containers import record
from headway.runner.records import Records
from headway.wire.gate import criteria_of
from headway.wire.loader import line
from headway.wire.record import Orders
from headway.wire.talk import Rollout
from tests.runner.containers.world import FOLDER, PROJECT, SERVICES, StackWorld

DOCKER = "/var/lib/docker"
TABLE = f"{DOCKER}/image/overlay2/repositories.json"


def _lay(world: StackWorld, path: str) -> Path:
    real = Path(world.disk.real(path))
    real.parent.mkdir(parents=True, exist_ok=True)
    real.write_text("{}")
    return real


def _files(world: StackWorld) -> None:
    """Lay what Docker would have written of its containers and images."""
    world.docker.info.update(DockerRootDir=DOCKER, Driver="overlay2")
    _lay(world, TABLE)
    _lay(world, "/proc/sys/kernel/random/boot_id")
    for service in SERVICES:
        one = world.docker.one(PROJECT, service)
        for name in ("config.v2.json", "hostconfig.json"):
            _lay(world, f"{DOCKER}/containers/{one['Id']}/{name}")
        hexadecimal = one["Image"].rpartition(":")[2]
        _lay(world, f"{DOCKER}/image/overlay2/imagedb/content/sha256/{hexadecimal}")


def _look(world: StackWorld) -> bool:
    """Look in full and seal; say whether the same order is answered by the seal."""
    release, judged = world.release(), criteria_of((), "checks")
    machine, witness = seal.witnessed(world.machine, release)
    state = Records(witness).state()
    assert observe.differences(release, machine) == ()
    seal.put(machine, seal.Look("abc", state, release, judged, None))
    return _holds(world)


def _holds(world: StackWorld) -> bool:
    order = Rollout(world.release(), criteria_of((), "checks"), Orders("somebody"))
    return quick.sealed(line(order), "/var/lib/headway/runner/abc", world.disk.root) is not None


def _container_file(name: str) -> Callable[[StackWorld], object]:
    def touch(world: StackWorld) -> None:
        made = record.read(world.disk, f"{PROJECT}/router")
        assert made is not None
        _lay(world, f"{DOCKER}/containers/{made.id}/{name}")

    return touch


MOVES: dict[str, Callable[[StackWorld], object]] = {
    "a container's state": _container_file("config.v2.json"),
    "its restart policy": _container_file("hostconfig.json"),
    "another container": lambda w: _lay(w, f"{DOCKER}/containers/other/config.v2.json"),
    "an image's name": lambda w: _lay(w, TABLE),
    "Compose itself": lambda w: _lay(w, "/usr/libexec/docker/cli-plugins/docker-compose"),
    "a file of the project": lambda w: _lay(w, f"{FOLDER}/stack.env"),
    "the record of a container": lambda w: record.drop(w.disk, f"{PROJECT}/router"),
    "what Compose is given": lambda w: _lay(w, f"/var/lib/headway/stacks/{PROJECT}.json"),
}


@pytest.mark.parametrize("name", MOVES)
def test_a_seal_over_containers_breaks_with_each_thing_it_stands_on(
    world: StackWorld, name: str
) -> None:
    """It holds, without a question to Docker or Compose, until this one thing moves."""
    _files(world)
    assert _look(world)
    asked, calls = len(world.docker.asked), len(world.docker.calls)
    assert _holds(world)
    assert (len(world.docker.asked), len(world.docker.calls)) == (asked, calls)

    MOVES[name](world)

    assert not _holds(world)


def test_another_store_of_images_is_looked_at_in_full(world: StackWorld) -> None:
    """Containerd's has no table that moves with names: nothing is sealed."""
    _files(world)
    Path(world.disk.real(TABLE)).unlink()

    assert not _look(world)


def test_a_container_without_a_file_is_looked_at_in_full(world: StackWorld) -> None:
    """Docker may keep its folder elsewhere: what cannot be compared is not sealed."""
    _files(world)
    world.docker.info.update(DockerRootDir="/elsewhere")

    assert not _look(world)


def test_a_docker_that_does_not_answer_seals_nothing(world: StackWorld) -> None:
    """The look goes on to say so itself."""
    _files(world)
    world.docker.answers["/info"] = (500, b"{}")

    assert not _look(world)
