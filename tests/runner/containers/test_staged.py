"""Compose's own answer before anything is touched: is it what the release says."""

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from headway.runner.containers import staged
from headway.runner.containers.docker import DockerError
from headway.wire.release import Release, release_of
from headway.wire.resources import FILES_LABEL, File
from tests.runner.attempt import blob
from tests.runner.containers.world import FOLDER, STACK, StackWorld, pin


def with_service(world: StackWorld, release: Release, service: str, **own: object) -> Release:
    """Give the release with other words of a service in compose.yaml."""

    def changed(file: File) -> File:
        if not file.path.endswith("compose.yaml"):
            return file
        whole = json.loads(world.machine.blobs.read(file.blob))
        whole["services"][service].update(own)
        return replace(file, blob=blob(world, json.dumps(whole)))

    first, *rest = release.parts
    resources = tuple(changed(r) if isinstance(r, File) else r for r in first.resources)
    return release_of((replace(first, resources=resources), *rest))


def refused(world: StackWorld, release: Release) -> str:
    """Say why a release is refused; it is."""
    with pytest.raises(DockerError) as raised:
        staged.relaunched(world.machine, release, world.release())
    return str(raised.value)


def test_the_same_release_relaunches_nothing(world: StackWorld) -> None:
    """And nothing of the scratch folder is left."""
    assert staged.relaunched(world.machine, world.release(), world.release()) == ()
    assert world.disk.seen(staged.BELOW) is None


def test_a_shared_variable_relaunches_the_unchanged_service(world: StackWorld) -> None:
    """The engine's own part is the same: only Compose knows that its command is another."""
    target = world.release(command="serve --threads 2")

    assert staged.relaunched(world.machine, target, world.release()) == ("chat.engine",)


def test_what_compose_leaves_out_of_its_hash_relaunches_nobody(world: StackWorld) -> None:
    """A profile or depends_on recreates no container."""
    target = with_service(world, world.release(), "engine", depends_on=["router"])

    assert staged.relaunched(world.machine, target, world.release()) == ()


CHANGES: dict[str, tuple[dict[str, object], str]] = {
    "a log driver nobody can read": (
        {"logging": {"driver": "syslog"}},
        "log driver syslog cannot be read back",
    ),
    "two containers": ({"deploy": {"replicas": 2}}, "it wants 2 containers"),
    "two containers by scale": ({"scale": 3}, "it wants 3 containers"),
    "a mounted file": (
        {"volumes": [{"type": "bind", "source": FOLDER}]},
        "write it in used_by",
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_would_come_out_otherwise_is_refused(world: StackWorld, name: str) -> None:
    """It names the service and what to do."""
    own, words = CHANGES[name]

    said = refused(world, with_service(world, world.release(), "engine", **own))

    assert said.startswith("chat/engine: ")
    assert words in said


def test_the_daemons_own_log_driver_counts_where_files_name_none(world: StackWorld) -> None:
    """daemon.json says `none`: a file that names journald is all right all the same."""
    world.docker.info["LoggingDriver"] = "none"
    assert "log driver none" in refused(world, world.release())

    journald = {"logging": {"driver": "journald"}}
    target = with_service(world, world.release(), "engine", **journald)
    target = with_service(world, target, "router", **journald)
    assert staged.relaunched(world.machine, target, world.release()) is not None


def test_a_mount_that_is_labelled_is_the_releases(world: StackWorld) -> None:
    """The generated override put the label there: Compose makes it anew by itself."""
    own: dict[str, object] = {
        "volumes": [{"type": "bind", "source": FOLDER}],
        "labels": {FILES_LABEL: "x"},
    }
    target = with_service(world, world.release(), "engine", **own)

    assert staged.relaunched(world.machine, target, world.release()) == ("chat.engine",)


def _without_pins(world: StackWorld) -> Release:
    """Give the release without its override: Compose would run what the file says."""
    first, *rest = world.release().parts
    stack = replace(STACK, files=STACK.files[:1])
    kept = tuple(r for r in first.resources if isinstance(r, File))
    return release_of((replace(first, resources=(*kept, stack)), *rest))


def _renamed(world: StackWorld) -> Release:
    world.docker.one("chat", "engine")["Name"] = "/aside"
    world.docker.add("other", "engine", "x", name="chat-engine-1")
    return world.release(engine="v2")


def _no_yaml(world: StackWorld) -> Release:
    first, *rest = world.release().parts
    text = blob(world, "{{")
    files = tuple(replace(r, blob=text) if isinstance(r, File) else r for r in first.resources)
    return release_of((replace(first, resources=files), *rest))


WORLDS: dict[str, tuple[Callable[[StackWorld], Release], str]] = {
    "no override": (_without_pins, f"reg/engine, and {pin('engine', 'v1').name()} is pinned"),
    "a name that is taken": (_renamed, "of service engine of project other; `docker rm` it first"),
    "no YAML": (_no_yaml, f"Compose would not take chat: yaml: {FOLDER}/compose.yaml"),
}


@pytest.mark.parametrize("name", WORLDS)
def test_what_compose_or_the_host_has_against_it_is_refused(world: StackWorld, name: str) -> None:
    """In Compose's own words, with the paths that files will have."""
    make, words = WORLDS[name]

    assert words in refused(world, make(world))


def test_a_file_that_the_release_does_not_hold_is_found_out(world: StackWorld) -> None:
    """It lies on the host today; after a rollback somewhere else it would not."""
    first, *rest = world.release().parts
    stack = replace(STACK, files=(*STACK.files, f"{FOLDER}/extra.yaml"))
    kept = tuple(r for r in first.resources if isinstance(r, File))
    world.disk.write(f"{FOLDER}/extra.yaml", b'{"services": {}}', 0o600, *world.disk.me())

    said = refused(world, release_of((replace(first, resources=(*kept, stack)), *rest)))

    assert f"open {FOLDER}/extra.yaml: no such file" in said


def test_what_lies_there_broken_does_not_keep_a_release_away(world: StackWorld) -> None:
    """Somebody edited the file in place into no YAML: it is written anew by this very rollout."""
    world.disk.write(f"{FOLDER}/compose.yaml", b"{{", 0o600, *world.disk.me())

    assert staged.relaunched(world.machine, world.release(engine="v2"), world.release()) == ()
