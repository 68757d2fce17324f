"""Docker's proxy listens for a container; a daemon-reload must not take a container's cards."""

from headway.runner.containers import proxying, reloading
from headway.wire.tools import Ran
from tests.runner.containers.world import PROJECT, StackWorld

WORDS = (b"/usr/bin/docker-proxy", b"-proto", b"tcp", b"-container-ip", b"172.18.0.3")


def test_a_proxy_leads_to_the_container_behind_it(world: StackWorld) -> None:
    """By the address it forwards to: it says nothing else."""
    row = world.docker.one(PROJECT, "router")
    row["NetworkSettings"]["Networks"] = {"chat_default": {"IPAddress": "172.18.0.3"}}

    assert proxying.pid_behind(world.disk.root, WORDS) == row["State"]["Pid"]


def test_a_proxy_of_nobody_leads_nowhere(world: StackWorld) -> None:
    """An address that nobody has, no address at all, and a Docker that is down."""
    assert proxying.pid_behind(world.disk.root, WORDS) == 0
    assert proxying.pid_behind(world.disk.root, (b"docker-proxy", b"-container-ip")) == 0
    world.docker.close()
    assert proxying.pid_behind(world.disk.root, WORDS) == 0


def test_who_loses_its_cards_in_a_reload_is_named(world: StackWorld) -> None:
    """It reached them before and does not after; one that never did is not blamed on us."""
    for name in ("engine", "router"):
        world.docker.one(PROJECT, name)["HostConfig"]["Runtime"] = "nvidia"
    reaches = {"chat-engine-1": True, "chat-router-1": False}

    def run(argv: list[str], **_: object) -> Ran:
        assert argv[:2] == ["docker", "exec"]
        return Ran(tuple(argv), 0 if reaches[argv[2]] else 255, b"", b"", 0)

    machine = type(world.machine)(world.disk, run, world.machine.blobs)  # type: ignore[arg-type]
    before = reloading.reaching(machine)
    assert before == ("chat-engine-1",)
    assert reloading.cut_off(machine, before) == ()

    reaches["chat-engine-1"] = False

    [said] = reloading.cut_off(machine, before)
    assert "cut container chat-engine-1 off its cards" in said
    assert "`docker restart chat-engine-1` gives them back" in said


def test_without_docker_nobody_can_be_cut_off(world: StackWorld) -> None:
    """A reload goes on as ever."""
    world.docker.close()

    assert reloading.reaching(world.machine) == ()
