"""Docker, or the whole host, is started anew under a project: what is unproven stays down."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.lab.fleet import Said
from tests.lab.lab import Lab
from tests.lab.looks import AT_REST, events, state, until
from tests.lab.projects import PROJECT, Projects, pushed
from tests.lab.proof import Proofs
from tests.lab.stacks import COMPOSE, Docked, Registry, docked

pytestmark = [pytest.mark.lab, pytest.mark.stacks]

ALWAYS = COMPOSE.replace("restart: unless-stopped", "restart: always")
# The router in a network of its own: Docker's proxy listens for it on the host.
PUBLISHED = ALWAYS.replace(
    """v1}
    network_mode: host
    restart: always
    stop_grace_period: 5s
    volumes: [./haproxy""",
    """v1}
    ports: ["9000:8080"]
    restart: always
    stop_grace_period: 5s
    volumes: [./haproxy""",
)


@pytest.fixture(scope="module")
def registry(lab: Lab) -> Iterator[Registry]:
    """Give a registry with both versions of engine and router."""
    [store] = docked(lab, "store2", fresh=True)
    registry = Registry(store.host)
    registry.start()
    for image in ("engine:v1", "engine:v2", "router:v1", "router:v2"):
        pushed(store, registry, image)
    yield registry
    registry.stop()


@pytest.fixture(scope="module")
def stood(
    lab: Lab, registry: Registry, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Projects, Docked]:
    """Give a host on A, whose services are always restarted; the router's port is published."""
    [box] = docked(lab, "restarted", fresh=True)
    project = Projects(lab, tmp_path_factory.mktemp("fleet"), registry)
    project.write("project/compose.yaml", PUBLISHED)
    project.change("project/haproxy/haproxy.cfg", "bind :8080", "bind :8080\n  monitor-uri /health")
    describe(project, box, registry, "v1")
    said = project.rollout(box)
    assert said.code == 0, (said.told("host_ended"), said.stderr)
    return project, box


def describe(project: Projects, box: Docked, registry: Registry, version: str) -> None:
    """Describe and pin the project in a version."""
    owns = {
        "engine-a": {"listens": [8001]},
        "engine-b": {"listens": [8002]},
        "router": {"listens": [9000]},
    }
    images = (registry.name(f"{name}:{version}") for name in ("engine", "router"))
    project.describe(box, *images, owns=owns)
    said = project.pin(box)
    assert said.code == 0, said.stderr


def looks(box: Docked) -> dict[str, tuple[str, bool, str]]:
    """Give image, whether it runs, and policy of each service."""
    found = box.containers(PROJECT)
    return {name: (one.image, one.running, one.policy) for name, one in found.items()}


def comes_through(box: Docked, part: str, step: str) -> None:
    """Return as soon as the transition in hand did a step of a part; "" is all of them."""

    def there() -> bool:
        done = [one["step_done"] for one in _told(box) if "step_done" in one]
        return (part, step) in [(one["part"], one["step"]) for one in done]

    until(f"{step} of {part}", there)


def _told(box: Docked) -> list[dict[str, Any]]:
    return events(box.host, state(box.host)["transition"] or "")


def _container(row: dict[str, Any]) -> tuple[str, bool]:
    return row["HostConfig"]["RestartPolicy"]["Name"], row["State"]["Running"]


def proxied(said: Said) -> str:
    """Give the evidence of the router's health gate about its port."""
    return str(said.report("front")["evidence"][0])


def test_a_published_port_is_the_containers_own(
    stood: tuple[Projects, Docked], registry: Registry, prove: Proofs
) -> None:
    """Docker's proxy listens on the host: health knows whose that is."""
    project, box = stood
    describe(project, box, registry, "v2")

    said = project.rollout(box)

    assert said.code == 0, (said.told("host_ended"), said.stderr)
    steps = [one["step"] for one in said.bodies("step_done")]
    assert "stage" in steps[: steps.index("guard")], "pulled before any deadline of a start"
    assert "stage" not in steps[steps.index("guard") :]
    assert "docker-proxy" in box.sh("ss -ltnp 'sport = :9000'")
    evidence = proxied(said)
    assert "port 9000" in evidence
    prove("1 a published port", "roll a router out in a network of its own", evidence)
    assert project.fleet.invoke("rollback", box.host).code == 0


def test_the_power_goes_while_services_that_always_restart_are_tried(
    stood: tuple[Projects, Docked], registry: Registry, prove: Proofs
) -> None:
    """Docker starts what says `always` at boot: nothing unproven says so, and A comes back."""
    project, box = stood
    a = looks(box)
    v2 = registry.digest("engine:v2")
    describe(project, box, registry, "v2")
    with project.fleet.begin("rollout", box.host, "--again") as controller:
        comes_through(box, "chat.engine-a", "start")
        b = _container(box.inspect("stack-engine-a-1"))
        controller.kill()
        box.host.power_cut()

    box.host.boot()

    seen = set()
    while state(box.host)["phase"] not in AT_REST:
        seen |= set(box.sh("docker ps --no-trunc --format '{{.Image}}'").split())
    assert b == ("no", True)
    assert not any("engine@" + v2 in image for image in seen), "B was not started at boot"
    assert looks(box) == a
    assert state(box.host)["phase"] == "IDLE"
    saw = f"engine-a of B had policy {b[0]} and stayed down; A runs whole, policies are back"
    prove("4 power cut", "kill -9 of PID 1 while B's first engine is tried", saw)


@pytest.mark.parametrize("step", ["stop", "write", "start"])
def test_dockerd_is_restarted_under_a_transition(
    stood: tuple[Projects, Docked], registry: Registry, prove: Proofs, step: str
) -> None:
    """Whatever comes of it is whole: A or B with the operator's policies, or a person is asked."""
    project, box = stood
    a = looks(box)
    describe(project, box, registry, "v2")
    with project.fleet.begin("rollout", box.host, "--again") as controller:
        comes_through(box, "chat.engine-a", step)
        box.sh("systemctl reset-failed docker; systemctl restart docker")  # so often, so fast
        said = controller.said(120)

    word = said.sentence
    assert said.code in (0, 1, 3), word
    if said.code == 3:
        assert project.fleet.invoke("rollback", box.host).code == 0
    until("A or B runs whole", lambda: all(one[1] for one in looks(box).values()))
    now = looks(box)
    assert {one[2] for one in now.values()} == {"always"}
    if said.code != 0:
        assert {name: one[0] for name, one in now.items()} == {k: one[0] for k, one in a.items()}
    assert state(box.host)["phase"] == "IDLE", word
    prove("4 dockerd", f"restart it after {step}", f"code {said.code}: {word}")
    if said.code == 0:
        assert project.fleet.invoke("rollback", box.host).code == 0
