"""Compose projects go out as they are, service by service, and come back exactly."""

from collections.abc import Iterator, Mapping

import pytest

from tests.lab.fleet import Said
from tests.lab.lab import Lab
from tests.lab.projects import ENGINES, FOLDER, PROJECT, Projects, pushed
from tests.lab.proof import Proofs
from tests.lab.stacks import Docked, Registry, docked
from tests.lab.stacks import project as files

pytestmark = [pytest.mark.lab, pytest.mark.stacks]

RECORDED = f"headway-host compose {PROJECT}"


@pytest.fixture(scope="module")
def boxes(lab: Lab) -> list[Docked]:
    """Give a host for a project, and one for a registry."""
    return docked(lab, "stacked", "shop", fresh=True)


@pytest.fixture(scope="module")
def registry(boxes: list[Docked]) -> Iterator[Registry]:
    """Give a registry that has both versions of engine and router."""
    registry = Registry(boxes[1].host)
    registry.start()
    for image in ("engine:v1", "engine:v2", "router:v1", "router:v2"):
        pushed(boxes[1], registry, image)
    yield registry
    registry.stop()


@pytest.fixture
def project(
    lab: Lab, boxes: list[Docked], registry: Registry, tmp_path_factory: pytest.TempPathFactory
) -> Projects:
    """Give a fleet whose one host runs nothing yet and has none of the images."""
    [box] = docked(lab, "stacked", fresh=True)
    boxes[0] = box
    box.docker("image", "prune", "--all", "--force")
    return Projects(lab, tmp_path_factory.mktemp("fleet"), registry)


def accepted(said: Said) -> Said:
    """See that a call of headway ended well."""
    assert said.code == 0, (said.sentence if said.told("host_ended") else "", said.stderr)
    return said


def rolled_out(project: Projects, box: Docked, engine: str, router: str, **own: object) -> Said:
    """Describe, pin and roll out."""
    project.describe(box, engine, router, **own)
    accepted(project.pin(box))
    return accepted(project.rollout(box))


def launches(box: Docked) -> Mapping[str, tuple[str, str]]:
    """Give each service's container and when it was started."""
    return {name: (one.id, one.started) for name, one in box.containers(PROJECT).items()}


def images(box: Docked) -> Mapping[str, str]:
    """Give the id of the image that each service runs."""
    return {name: one.image for name, one in box.containers(PROJECT).items()}


def downtime(said: Said) -> Mapping[str, float]:
    """Add up, for each part that was stopped or started, the seconds from its stop to healthy."""
    found: dict[str, int] = {}
    for step in said.bodies("step_done"):
        if step["part"].startswith("chat.") and step["step"] in ("stop", "evict", "write", "start"):
            found[step["part"]] = found.get(step["part"], 0) + step["took_ms"]
    for report in (body["report"] for body in said.bodies("reported")):
        if report["kind"] in ("in_place", "health") and report["part"] in found:
            found[report["part"]] += report["took_ms"]
    return {part: ms / 1000 for part, ms in found.items()}


def told(said: Said) -> str:
    """Word the downtimes."""
    return ", ".join(f"{part} {seconds:.1f} s" for part, seconds in downtime(said).items())


def test_two_engines_and_a_router_service_by_service(
    project: Projects, boxes: list[Docked], registry: Registry, prove: Proofs
) -> None:
    """One after the other; a router's release leaves the engines; a bare `up` recreates nothing."""
    box = boxes[0]
    engine, router = registry.name("engine:v1"), registry.name("router:v1")

    first = rolled_out(project, box, engine, router)

    stepped = [one for one in first.bodies("step_done") if one["step"] == "start" and one["detail"]]
    assert [one["detail"] for one in stepped] == [f"stack/{name}" for name in (*ENGINES, "router")]
    before = launches(box)
    prove(
        "1 service by service",
        "roll a project out",
        "a, b, router one after the other",
        told(first),
    )

    second = rolled_out(project, box, engine, registry.name("router:v2"))

    after = launches(box)
    assert {name: after[name] for name in ENGINES} == {name: before[name] for name in ENGINES}
    assert after["router"][0] != before["router"][0]
    assert [one["part"] for one in second.bodies("step_done") if one["step"] == "start"] == [
        "chat",
        "chat.router",
    ]
    box.sh(f"{RECORDED} up -d")
    assert launches(box) == after
    policies = {one.policy for one in box.containers(PROJECT).values()}
    assert policies == {"unless-stopped"}
    saw = "engines' StartedAt is as it was; a bare up recreates nothing"
    prove("1 a router alone", "roll another router out", saw, told(second))


def test_a_mounted_file_and_a_shared_variable_restart_whom_they_concern(
    project: Projects, boxes: list[Docked], registry: Registry, prove: Proofs
) -> None:
    """The router's file restarts the router; a variable of one engine's command that engine."""
    box = boxes[0]
    rolled_out(project, box, registry.name("engine:v1"), registry.name("router:v1"))
    before = launches(box)

    project.change("project/haproxy/haproxy.cfg", "timeout connect 2s", "timeout connect 3s")
    accepted(project.rollout(box))

    between = launches(box)
    assert {name for name in before if before[name] != between[name]} == {"router"}
    assert "timeout connect 3s" in box.docker(
        "exec", "stack-router-1", "cat", "/etc/haproxy/haproxy.cfg"
    )

    project.change("project/compose.yaml", "--threads 1 --port 8002", "--threads 2 --port 8002")
    said = accepted(project.rollout(box))

    after = launches(box)
    assert {name for name in between if between[name] != after[name]} == {"engine-b"}
    assert "--threads 2" in box.sh(
        f"tr '\\0' ' ' < /proc/{box.container(PROJECT, 'engine-b').pid}/cmdline; ps -ef"
    )

    back = accepted(project.fleet.invoke("rollback", box.host))

    last = launches(box)
    assert {name for name in after if after[name] != last[name]} == {"engine-b"}
    figure = f"{told(said)}; back {told(back)}"
    prove("1 a shared file", "change one engine's command", "it restarts alone", figure)


def test_the_forgotten_image(
    project: Projects, boxes: list[Docked], registry: Registry, prove: Proofs
) -> None:
    """B moved both images, the tag and the world: a rollback brings router *and* engine of A."""
    box = boxes[0]
    old = {"engine": registry.digest("engine:v1"), "router": registry.digest("router:v1")}
    registry.point("engine", "now", old["engine"])
    registry.point("router", "now", old["router"])
    engine, router = registry.name("engine:now"), registry.name("router:now")
    rolled_out(project, box, engine, router)
    a = images(box)
    override = box.sh(f"cat {FOLDER}/headway.pins.yaml")
    variables = box.sh(f"cat {FOLDER}/stack.env")

    registry.point("engine", "now", registry.digest("engine:v2"))
    registry.point("router", "now", registry.digest("router:v2"))
    accepted(project.pin(box, "--repin"))
    project.change(
        "project/compose.yaml",
        "parallel 1 --threads 1 --port 8001",
        "parallel 1 --threads 2 --port 8001",
    )
    b = accepted(project.rollout(box))
    assert set(images(box).values()).isdisjoint(a.values())

    registry.stop()
    project.fleet.forget()
    box.sh("echo ENGINE_IMAGE=lab/engine:v2 > /root/.env")
    box.sh("echo COMPOSE_PROFILES=x >> /etc/environment")
    back = accepted(project.fleet.invoke("rollback", box.host))

    assert images(box) == a
    assert box.sh(f"cat {FOLDER}/headway.pins.yaml") == override
    assert box.sh(f"cat {FOLDER}/stack.env") == variables
    saw = "router and engine of A by id, override and variables byte for byte"
    figure = f"there {told(b)}; back {told(back)}"
    prove("2 the forgotten image", "roll back without registry and fleet", saw, figure)


def test_the_forgotten_image_on_the_host_alone(
    project: Projects, boxes: list[Docked], registry: Registry, prove: Proofs
) -> None:
    """The same with nothing but the host, whose shell has variables of Compose's own."""
    box = boxes[0]
    registry.start()
    registry.point("engine", "now", registry.digest("engine:v1"))
    registry.point("router", "now", registry.digest("router:v1"))
    engine, router = registry.name("engine:now"), registry.name("router:now")
    rolled_out(project, box, engine, router)
    a = images(box)
    registry.point("engine", "now", registry.digest("engine:v2"))
    registry.point("router", "now", registry.digest("router:v2"))
    accepted(project.pin(box, "--repin"))
    accepted(project.rollout(box))
    registry.stop()

    shell = "COMPOSE_FILE=/tmp/none.yaml COMPOSE_PROFILES=x ENGINE_IMAGE=lab/engine:v2"
    box.sh(f"cd /tmp && {shell} headway-host rollback")

    assert images(box) == a
    assert {one.running for one in box.containers(PROJECT).values()} == {True}
    box.sh(f"cd /tmp && {shell} {RECORDED} up -d")
    assert images(box) == a
    registry.start()
    saw = "router and engine of A by id"
    prove("2 the forgotten image", "headway-host rollback in a shell full of COMPOSE_*", saw)


def test_an_adopted_project_comes_back_as_it_was(
    project: Projects, boxes: list[Docked], registry: Registry, prove: Proofs
) -> None:
    """What ran by plain Compose is held, tag and all; what fails goes back to it."""
    box = boxes[0]
    engine, router = registry.name("engine:v1"), registry.name("router:v1")
    box.write(FOLDER, files(engine, router))
    box.compose(FOLDER, "up", "-d")
    a = images(box)
    project.describe(box, registry.name("engine:v2"), registry.name("router:v2"), health_s=4)
    accepted(project.pin(box))
    project.change(
        "project/compose.yaml",
        "--alias copy --ctx-size 2048 --parallel 1 --threads 1 --port 8002",
        "--alias copy --no-such-option",
    )

    said = project.rollout(box)

    assert said.code == 1, (said.code, said.sentence, said.stderr)
    assert images(box) == a
    found = box.containers(PROJECT)
    assert {one.policy for one in found.values()} == {"unless-stopped"}
    assert {one.running for one in found.values()} == {True}
    same = {name: (one.id, one.started) for name, one in found.items()}
    box.compose(FOLDER, "up", "-d")
    assert launches(box) == same
    saw = "its images and policies; a bare up recreates nothing"
    prove("2 what was there", "fail over an adopted project", saw, told(said))


def test_an_image_that_no_registry_has_is_brought(
    project: Projects, boxes: list[Docked], registry: Registry, prove: Proofs
) -> None:
    """Pinned by id on the host that has it, brought to the one that lacks it, and run there."""
    box, source = boxes
    source.docker("tag", "lab/router:v2", "acme/router:dev")
    wanted = source.inspect("acme/router:dev")["Id"]
    extra = "images_on_host: ['acme/*']\nimages_from: shop\n"
    path = "inventory/group_vars/all.yaml"
    project.write(path, (project.folder / path).read_text() + extra)
    project.fleet.describe(source.host)

    said = rolled_out(project, box, registry.name("engine:v1"), "acme/router:dev")

    assert images(box)["router"] == wanted
    [note] = [row["text"] for row in said.told("note") if row["text"].startswith("brought ")]
    assert note == "brought image acme/router:dev from shop"
    prove(
        "2 no registry", "roll out an image of another host", f"{note}; it runs by id", told(said)
    )


def test_what_no_kept_release_needs_is_shown_then_deleted(
    project: Projects, boxes: list[Docked], registry: Registry, prove: Proofs
) -> None:
    """A rejected release's image is nobody's; what a kept release names is never offered."""
    box = boxes[0]
    rolled_out(project, box, registry.name("engine:v1"), registry.name("router:v1"))
    project.describe(box, registry.name("engine:v1"), registry.name("router:v2"), health_s=3)
    accepted(project.pin(box))
    project.change("project/haproxy/haproxy.cfg", "bind :8080", "bind :8089")
    assert project.rollout(box).code == 1
    kept, lost = sorted(box.docker("images", "--quiet", registry.name("router")).split()), "router"
    assert len(kept) == 2, "the rejected release's image is still here"

    shown = accepted(project.fleet.invoke("prune", box.host))

    [row] = shown.told("host_pruned")
    assert [one["kind"] for one in row["unneeded"]] == ["image"]
    assert lost in row["unneeded"][0]["name"]
    assert sorted(box.docker("images", "--quiet", registry.name("router")).split()) == kept

    done = accepted(project.fleet.invoke("prune", box.host, "--delete"))

    assert done.told("host_pruned")[0]["unneeded"][0]["trouble"] == ""
    assert len(box.docker("images", "--quiet", registry.name("router")).split()) == 1
    again = accepted(project.fleet.invoke("prune", box.host))
    assert again.told("host_pruned")[0]["unneeded"] == []
    size = done.told("host_pruned")[0]["unneeded"][0]["size"]
    saw = f"one image of {size // 1_000_000} MB gone, the accepted ones stay"
    prove("3 prune", "delete what a rejected release left", saw)
