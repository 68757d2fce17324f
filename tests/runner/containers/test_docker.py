"""What Docker's socket says, read into values; what it does not say is one sentence."""

import pytest

from headway.runner.containers import docker
from headway.runner.containers.docker import DockerError
from headway.wire.tools import Ran
from tests.runner.containers.world import PROJECT, StackWorld


def test_a_container_is_read_as_inspect_shows_it(world: StackWorld) -> None:
    """Image by id, argv of entrypoint and command, names of variables but never their values."""
    row = world.docker.one(PROJECT, "engine")
    row["Args"] = ["--port", "8001"]
    row["Config"]["Env"] = ["TOKEN=secret", "EMPTY="]
    row["HostConfig"]["RestartPolicy"] = {"Name": "on-failure", "MaximumRetryCount": 3}

    [seen] = docker.containers(world.disk, PROJECT, "engine")

    assert (seen.project, seen.service, seen.image) == (PROJECT, "engine", row["Image"])
    assert seen.argv == ("/serve", "--port", "8001")
    assert seen.env_names == ("TOKEN", "EMPTY")
    assert seen.policy == "on-failure:3"
    assert seen.running()
    assert "secret" not in repr(seen)


def test_one_that_waits_for_its_restart_does_not_run(world: StackWorld) -> None:
    """Docker calls it running in some versions: without a process it does not."""
    row = world.docker.one(PROJECT, "engine")
    row["State"].update(Status="running", Pid=0)

    [seen] = docker.containers(world.disk, PROJECT, "engine")

    assert not seen.running()


def test_what_compose_ran_once_is_no_container_of_a_service(world: StackWorld) -> None:
    """`docker compose run` makes containers with the service's label, too."""
    once = world.docker.add(PROJECT, "engine", "x", name="once")
    once["Config"]["Labels"]["com.docker.compose.oneoff"] = "True"

    assert len(docker.containers(world.disk, PROJECT, "engine")) == 1
    assert {service for service, _ in docker.services(world.disk, PROJECT)} == {"engine", "router"}


def test_what_is_not_there_is_none(world: StackWorld) -> None:
    """A container or image that Docker does not know is no error."""
    assert docker.container(world.disk, "none") is None
    assert docker.image(world.disk, "none:v1") is None


def test_a_docker_that_is_down_is_one_sentence(world: StackWorld) -> None:
    """It names the command that tells more."""
    world.docker.close()

    with pytest.raises(DockerError, match=r"is not running here .*systemctl status docker"):
        docker.container(world.disk, "x")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ((500, b'{"message": "driver failed"}'), "docker answers 500: driver failed"),
        ((200, b"<html>"), "docker answers /info with no JSON"),
        ((0, b""), "docker answers /info with no JSON"),
    ],
)
def test_an_answer_that_is_none_is_one_sentence(
    world: StackWorld, answer: tuple[int, bytes], said: str
) -> None:
    """Docker's own message where it has one."""
    world.docker.answers["/info"] = answer

    with pytest.raises(DockerError) as raised:
        docker.info(world.disk)

    assert str(raised.value) == said


def test_a_log_that_docker_does_not_give_is_an_error(world: StackWorld) -> None:
    """An empty log would be judged; one that was not given must not be."""
    world.docker.answers["/containers/x/logs"] = (501, b"no reading")

    with pytest.raises(DockerError, match="gives no log of x: no reading"):
        docker.logs(world.disk, "x", "", 100)


def test_cards_are_seen_whichever_way_they_were_given(world: StackWorld) -> None:
    """By --gpus, by the runtime, and as plain devices."""
    engine, router = (world.docker.one(PROJECT, name) for name in ("engine", "router"))
    other = world.docker.add("other", "plain", "x")
    for one in (engine, router, other):
        world.docker.start(one)
    assert docker.with_cards(world.disk) == ()
    engine["HostConfig"]["DeviceRequests"] = [{"Driver": "", "Capabilities": [["gpu"]]}]
    router["HostConfig"]["Runtime"] = "nvidia"
    other["HostConfig"]["Devices"] = [{"PathOnHost": "/dev/nvidia0"}]

    names = docker.with_cards(world.disk)

    assert names == ("chat-engine-1", "chat-router-1", "other-plain-1")


def test_cards_by_cdi_survive_a_reload(world: StackWorld) -> None:
    """Nothing has to be looked after there."""
    row = world.docker.one(PROJECT, "engine")
    row["HostConfig"]["DeviceRequests"] = [{"Driver": "cdi", "DeviceIDs": ["nvidia.com/gpu=0"]}]

    assert docker.with_cards(world.disk) == ()


def test_an_address_leads_to_the_container_that_has_it(world: StackWorld) -> None:
    """Docker's proxy knows nothing but that."""
    row = world.docker.one(PROJECT, "router")
    row["NetworkSettings"]["Networks"] = {"chat_default": {"IPAddress": "172.18.0.3"}}

    assert docker.pid_at(world.disk, "172.18.0.3") == row["State"]["Pid"]
    assert docker.pid_at(world.disk, "172.18.0.4") == 0


@pytest.mark.parametrize(
    ("at", "seconds"),
    [
        ("2026-01-01T00:00:01.5Z", "1767225601.500000000"),
        ("2026-01-01T00:00:01Z", "1767225601.000000000"),
        ("2026-01-01T00:00:01.123456789Z", "1767225601.123456789"),
        ("", "0"),
    ],
)
def test_dockers_time_in_seconds(at: str, seconds: str) -> None:
    """Nanoseconds are kept: two lines may lie closer than a float tells apart."""
    assert docker.seconds(at) == seconds


def test_a_command_that_fails_gives_dockers_own_last_line() -> None:
    """Without the prefix that every line of it has."""
    said = b"some\nError response from daemon: conflict: image is in use\n"

    with pytest.raises(DockerError, match=r"^x was not removed: conflict: image is in use$"):
        docker.command(
            lambda argv, **_: Ran(tuple(argv), 1, b"", said, 0), ["rm", "x"], "x was not removed"
        )
    with pytest.raises(DockerError, match="x was not removed: docker did not answer within 7 s"):
        docker.command(
            lambda argv, **_: Ran(tuple(argv), None, b"", b"", 0), ["rm"], "x was not removed", 7
        )
