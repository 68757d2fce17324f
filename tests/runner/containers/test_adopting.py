"""A project that runs without headway: held with its files, images by id; the rest is named."""

import pytest

from headway.runner.containers import adopting, compose, record
from headway.runner.machine import Machine
from headway.wire.release import Part
from headway.wire.resources import File, Service, Stack
from tests.runner.containers.world import FOLDER, PROJECT, STACK, StackWorld

FILES = "com.docker.compose.project.config_files"
PLACE = "com.docker.compose.project.working_dir"
NAMES = (f"{PROJECT}/engine", f"{PROJECT}/router")


@pytest.fixture
def plain(world: StackWorld) -> StackWorld:
    """Give a host whose project headway knows nothing of, brought up by its operator."""
    for name in NAMES:
        record.drop(world.disk, name)
    world.disk.remove(compose.path(PROJECT))
    for one in world.docker.containers.values():
        one["Config"]["Labels"].update({FILES: ",".join(STACK.files), PLACE: FOLDER})
        one["Config"]["Labels"]["com.docker.compose.project.environment_file"] = STACK.env_file
    return world


def held(machine: Machine, *names: str) -> tuple[dict[str, Part], tuple[str, ...]]:
    """Adopt; the parts by name, and what is named."""
    parts, unheld = adopting.parts_of(machine, names or NAMES, {})
    return {part.name: part for part in parts}, unheld


def test_a_project_is_held_with_files_images_and_policies(plain: StackWorld) -> None:
    """Its file list in order, its variables, each image by the id that runs."""
    parts, unheld = held(plain.machine)

    assert unheld == ()
    assert set(parts) == {PROJECT, f"{PROJECT}.engine", f"{PROJECT}.router"}
    [stack] = [one for one in parts[PROJECT].resources if isinstance(one, Stack)]
    assert (stack.files, stack.env_file) == (STACK.files, STACK.env_file)
    paths = {one.path for one in parts[PROJECT].resources if isinstance(one, File)}
    assert paths == {*STACK.files, STACK.env_file}
    [service] = [r for r in parts[f"{PROJECT}.router"].resources if isinstance(r, Service)]
    assert service.pin.image_id == plain.docker.one(PROJECT, "router")["Image"]
    made = record.read(plain.disk, NAMES[1])
    assert made is not None
    assert (made.policy, made.guarded) == ("always", False)


def test_what_compose_would_make_otherwise_is_said(plain: StackWorld) -> None:
    """A variable of somebody's shell is nowhere: going back would make another container."""
    plain.docker.one(PROJECT, "router")["Config"]["Labels"]["com.docker.compose.config-hash"] = "x"

    _, unheld = held(plain.machine)

    assert unheld == ("chat/router: Compose would make another container of its files by now",)


def test_two_containers_of_a_service_cannot_be_held(plain: StackWorld) -> None:
    """One container is one launch."""
    plain.docker.add(PROJECT, "router", "x")

    parts, unheld = held(plain.machine)

    assert parts == {}
    assert any("2 containers of one service" in sentence for sentence in unheld)


def test_mounted_settings_are_held_and_weights_are_named(plain: StackWorld) -> None:
    """A small file is settings; a large one gets a fingerprint."""
    small, large = "/etc/router/router.cfg", "/srv/models/w.gguf"
    plain.disk.mkdirs("/etc/router")
    plain.disk.mkdirs("/srv/models")
    plain.disk.write(small, b"bind :80\n", 0o644, *plain.disk.me())
    plain.disk.write(large, b"w" * (256 * 1024 + 1), 0o644, *plain.disk.me())
    row = plain.docker.one(PROJECT, "router")
    row["Mounts"] = [{"Type": "bind", "Source": "/etc/router"}, {"Type": "bind", "Source": large}]

    parts, unheld = held(plain.machine)

    assert small in {one.path for one in parts[PROJECT].resources if isinstance(one, File)}
    assert [sentence.split(":")[0] for sentence in unheld] == [large]


def test_a_project_whose_files_are_gone_is_named(plain: StackWorld) -> None:
    """It runs, and nobody could make it again."""
    plain.disk.remove(f"{FOLDER}/compose.yaml")

    parts, unheld = held(plain.machine)

    assert parts == {}
    assert all("compose.yaml" in sentence for sentence in unheld)
    assert len(unheld) == len(NAMES)


def test_what_headway_manages_is_not_adopted_again(world: StackWorld) -> None:
    """Only what runs under a name that the release uses, and that nobody owns yet."""
    release = world.release()
    assert adopting.unmanaged(world.machine, release, NAMES) == {}
    assert adopting.unmanaged(world.machine, release, NAMES[:1]) == {NAMES[1]: f"{PROJECT}.router"}
