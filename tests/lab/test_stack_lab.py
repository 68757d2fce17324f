"""The lab's Docker hosts are real: Compose, engines in containers, HAProxy, and a registry."""

from collections.abc import Iterator

import pytest

from tests.lab.lab import Lab
from tests.lab.stacks import (
    PASSWORD,
    USER,
    Docked,
    Registry,
    completes,
    docked,
    project,
)

pytestmark = pytest.mark.lab

FOLDER = "/srv/stack"
MARKER = "ZEBRA-3898-QUARTZ"
PROMPT = (
    f"Remember this. The secret marker is {MARKER}. "
    + "It was written on a page among other words that matter little to anybody. " * 12
    + "The secret marker is"
)


@pytest.fixture(scope="module")
def boxes(lab: Lab) -> list[Docked]:
    """Give a host for a project, and one for a registry."""
    return docked(lab, "box", "store")


@pytest.fixture
def box(boxes: list[Docked]) -> Iterator[Docked]:
    """Give a host on which a project lies, and nothing runs."""
    box = boxes[0]
    box.load()
    box.write(FOLDER, project())
    yield box
    box.compose(FOLDER, "down", "--timeout", "1")


@pytest.fixture
def registry(boxes: list[Docked]) -> Iterator[Registry]:
    """Give a registry that runs and asks nobody who he is."""
    registry = Registry(boxes[1].host)
    registry.start()
    yield registry
    registry.stop()


def test_docker_is_as_on_a_real_host(boxes: list[Docked]) -> None:
    """Layers are overlay2's, cgroups are version 2 in systemd's hands, Compose is a plugin."""
    box = boxes[0]
    asked = "{{.Driver}} {{.CgroupVersion}} {{.CgroupDriver}}"
    assert box.docker("info", "--format", asked).split() == ["overlay2", "2", "systemd"]
    assert box.docker("compose", "version", "--short").startswith("2.26.1")


def test_two_engines_answer_through_the_router(box: Docked) -> None:
    """A project comes up by plain Compose; its router leads to an engine that is right."""
    box.compose(FOLDER, "up", "-d")

    assert completes(box, PROMPT).startswith(f" {MARKER}.")
    assert completes(box, PROMPT, 8001) == completes(box, PROMPT, 8002)
    found = box.containers("stack")
    assert sorted(found) == ["engine-a", "engine-b", "router"]
    assert all(one.running and one.policy == "unless-stopped" for one in found.values())


def test_a_container_has_its_own_scope_and_journal(box: Docked) -> None:
    """Its processes are in a scope of its id; journald has its lines by its id, docker logs too."""
    box.compose(FOLDER, "up", "-d", "engine-a")
    completes(box, PROMPT, 8001)
    engine = box.container("stack", "engine-a")

    assert f"docker-{engine.id}.scope" in box.sh(f"cat /proc/{engine.pid}/cgroup")
    by_id = box.sh(f"journalctl --output=cat CONTAINER_ID_FULL={engine.id}")
    assert "listening on http://" in by_id
    assert "listening on http://" in box.sh(f"docker logs {engine.id} 2>&1")


def test_a_cpuset_holds_where_the_kernel_has_it(box: Docked) -> None:
    """Where cgroup v2 has no cpuset, Docker drops it with a warning and the container runs on."""
    box.compose(FOLDER, "up", "-d", "engine-b")
    engine = box.container("stack", "engine-b")

    allowed = box.sh(f"grep Cpus_allowed_list /proc/{engine.pid}/status").split()[1]
    if "cpuset" in box.sh("cat /sys/fs/cgroup/cgroup.controllers"):
        assert allowed == "1"
    else:
        assert box.inspect(engine.id)["HostConfig"]["CpusetCpus"] == ""
        assert "No cpuset support" in box.sh("docker info 2>&1; journalctl -u docker")


def test_the_operators_policy_comes_back_without_a_new_container(box: Docked) -> None:
    """Created, told not to restart, started: to Compose it is the container that it wants."""
    box.compose(FOLDER, "up", "--no-start", "--no-deps", "--pull", "never", "--no-build")
    made = box.containers("stack")
    ids = [one.id for one in made.values()]
    assert not any(one.running for one in made.values())
    box.docker("update", "--restart=no", *ids)
    box.docker("start", *ids)
    started = box.containers("stack")
    assert all(one.running and one.policy == "no" for one in started.values())

    box.compose(FOLDER, "up", "-d")
    assert box.containers("stack") == started

    box.docker("update", "--restart=unless-stopped", *ids)
    box.compose(FOLDER, "up", "-d")
    after = box.containers("stack")
    assert {name: (one.id, one.started) for name, one in after.items()} == {
        name: (one.id, one.started) for name, one in started.items()
    }


def test_an_override_of_the_router_leaves_the_engines(box: Docked) -> None:
    """Another image for one service recreates that service, and it alone."""
    box.compose(FOLDER, "up", "-d")
    before = box.containers("stack")
    image = box.inspect("lab/router:v2")["Id"]
    box.write(FOLDER, {"pins.yaml": f"services: {{router: {{image: '{image}'}}}}\n"})

    box.compose(FOLDER, "-f", "compose.yaml", "-f", "pins.yaml", "up", "-d", "--pull", "never")

    after = box.containers("stack")
    assert after["router"].image == image
    assert before["router"].image != image
    assert [after[name] for name in ("engine-a", "engine-b")] == [
        before[name] for name in ("engine-a", "engine-b")
    ]


def test_a_tag_moves_and_a_digest_stays(box: Docked, registry: Registry) -> None:
    """What was pinned by digest comes back by it after the tag went elsewhere."""
    name = registry.name("router:v1")
    old = box.push("lab/router:v1", name)
    new = box.push("lab/router:v2", registry.name("router:v2"))
    assert registry.digest("router:v1") == old
    registry.point("router", "v1", new)
    assert registry.digest("router:v1") == new
    box.remove_images(name, registry.name("router:v2"), "lab/router:v1", "lab/router:v2")

    box.docker("pull", name)
    box.docker("pull", registry.name(f"router@{old}"))

    by_tag, by_digest = box.inspect(name), box.inspect(registry.name(f"router@{old}"))
    assert by_tag["Config"]["Labels"]["lab.version"] == "v2"
    assert by_tag["RepoDigests"] == [registry.name(f"router@{new}")]
    assert by_digest["Config"]["Labels"]["lab.version"] == "v1"
    assert by_digest["RepoTags"] == []
    assert by_digest["RepoDigests"] == [registry.name(f"router@{old}")]

    registry.stop()
    refused = box.host.ssh(["docker", "pull", name])
    assert refused.returncode == 1
    assert "connection refused" in refused.stderr


def test_an_index_gives_each_platform_its_own(box: Docked, registry: Registry) -> None:
    """A tag on an index is known by the index's digest; without this platform it is refused."""
    here = box.push("lab/router:v1", registry.name("both:here"))
    there = box.push("lab/foreign:v1", registry.name("both:there"))
    both = registry.index("both", "v1", [here, there])
    other = registry.index("both", "other", [there])
    box.remove_images(registry.name("both:here"), registry.name("both:there"))

    box.docker("pull", registry.name("both:v1"))

    found = box.inspect(registry.name("both:v1"))
    assert found["Architecture"] == "amd64"
    assert registry.name(f"both@{both}") in found["RepoDigests"]
    assert registry.name(f"both@{here}") not in found["RepoDigests"]
    assert registry.digest("both:v1") == both
    refused = box.host.ssh(["docker", "pull", registry.name(f"both@{other}")])
    assert refused.returncode == 1
    assert "no matching manifest for linux/amd64" in refused.stderr


def test_a_manifest_that_is_gone_is_unknown(box: Docked, registry: Registry) -> None:
    """What was deleted cannot be pulled, by its digest either."""
    digest = box.push("lab/router:v1", registry.name("gone:v1"))
    registry.delete("gone", digest)
    box.remove_images(registry.name("gone:v1"), "lab/router:v1")

    for name in ("gone:v1", f"gone@{digest}"):
        refused = box.host.ssh(["docker", "pull", registry.name(name)])
        assert refused.returncode == 1
        assert "manifest unknown" in refused.stderr


def test_a_disk_of_its_own_can_be_full(lab: Lab, box: Docked, registry: Registry) -> None:
    """Docker says so, and has nothing of an image that did not fit."""
    name = registry.name("large:v1")
    box.push("lab/engine:v1", name)
    [small] = docked(lab, "small", disk="size=100m")
    small.remove_images("lab/engine:v1", "lab/engine:v2")
    small.host.ssh("head -c 100M /dev/zero >/var/lib/docker/filler")
    small.sh("truncate --size=-20M /var/lib/docker/filler")

    refused = small.host.ssh(["docker", "pull", name])

    assert refused.returncode == 1
    assert "no space left on device" in refused.stderr
    assert small.host.ssh(["docker", "image", "inspect", name]).returncode == 1


def test_a_login_that_is_refused_is_refused(box: Docked, registry: Registry) -> None:
    """A registry with a password gives nothing without it, and to a wrong one, no login."""
    name = registry.name("private:v1")
    box.push("lab/router:v1", name)
    registry.start(login=True)

    pulled = box.host.ssh(["docker", "pull", name])
    assert pulled.returncode == 1
    assert "no basic auth credentials" in pulled.stderr
    login = ["docker", "login", "--username", USER, "--password-stdin", registry.address]
    assert "401" in box.host.ssh(login, stdin="wrong").stderr

    box.sh(f"docker login -u {USER} --password-stdin {registry.address}", stdin=PASSWORD)
    box.docker("pull", name)
    box.docker("logout", registry.address)


def test_docker_survives_a_power_cut(box: Docked) -> None:
    """Images and containers are there again, and what is to run by itself does."""
    box.compose(FOLDER, "up", "-d", "engine-a")
    before = box.container("stack", "engine-a")

    box.host.power_cut()
    box.host.boot()

    assert completes(box, PROMPT, 8001).startswith(f" {MARKER}.")
    after = box.container("stack", "engine-a")
    assert after.id == before.id
    assert after.started != before.started


def test_a_fresh_host_knows_nothing_of_the_one_before(lab: Lab, box: Docked) -> None:
    """It has the lab's images and its settings, and no container."""
    box.compose(FOLDER, "up", "--no-start")

    [box] = docked(lab, "box", fresh=True)

    assert box.containers("stack") == {}
    assert box.inspect("lab/engine:v1")["RepoTags"] == ["lab/engine:v1"]
    asked = "{{.RegistryConfig.InsecureRegistryCIDRs}}"
    assert "10.77.0.0/24" in box.docker("info", "--format", asked)
    box.write(FOLDER, project())


def test_a_bridge_network_publishes_a_port(box: Docked) -> None:
    """Containers need not share the host's network: Docker's own bridge works, too."""
    box.docker(
        *("run", "--detach", "--rm", "--name", "bridged", "--publish", "9000:8000"),
        *("--volume", "/opt/models:/models:ro", "lab/engine:v1", "--host", "0.0.0.0"),  # noqa: S104
        *("--port", "8000", "--model", "/models/copy.gguf", "--ctx-size", "2048", "--threads", "1"),
    )
    assert completes(box, PROMPT, 9000).startswith(f" {MARKER}.")
    box.docker("rm", "--force", "bridged")
