"""The built-in roles of Compose projects: real engines, a real router before them."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from headway.control.rendering.render import render
from headway.wire.resources import File, Pin
from tests.control.rendering.fleets import fleet, host
from tests.control.rendering.test_stack_roles import DIGEST, ROLES
from tests.lab.fleet import Fleet, Said, evidence
from tests.lab.lab import Lab
from tests.lab.projects import pushed
from tests.lab.proof import Proofs
from tests.lab.stacks import COMPOSE, Docked, Registry, completes, docked

pytestmark = [pytest.mark.lab, pytest.mark.stacks]

ENGINES = ("engine-a", "engine-b")
UPSTREAMS = [
    {"name": name, "url": f"http://127.0.0.1:{port}", "model": "copy"}
    for name, port in zip(ENGINES, (8001, 8002), strict=True)
]


@pytest.fixture(scope="module")
def boxes(lab: Lab) -> list[Docked]:
    """Give a host for the projects, and one for a registry."""
    return docked(lab, "routed", "routes", fresh=True)


@pytest.fixture(scope="module")
def registry(boxes: list[Docked]) -> Iterator[Registry]:
    """Give a registry that has an engine and a router."""
    registry = Registry(boxes[1].host)
    registry.start()
    for image in ("engine:v1", "router:v1"):
        pushed(boxes[1], registry, image)
    yield registry
    registry.stop()


def written(root: Path, registry: Registry) -> None:
    """Write the operator's own Compose file, and what a fleet says of the registry."""
    engines_alone = COMPOSE.partition("  router:")[0].replace("name: stack\n", "")
    texts = {
        "engines/compose.yaml": engines_alone,
        "inventory/group_vars/all.yaml": f"insecure_registries: [{registry.address}]\n",
    }
    for name, text in texts.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def engines(registry: Registry) -> dict[str, object]:
    """Describe the operator's own project: its files go out as they are."""
    owned = {
        name: {
            "listens": [port],
            "engine": "llama_cpp",
            "alias": "copy",
            "counters": False,
            "load_s": 30,
            "acceptance": {"needle": {"depths": [200]}},
        }
        for name, port in zip(ENGINES, (8001, 8002), strict=True)
    }
    return {
        "role": "vllm_stack",
        "folder": "engines",
        "files": ["compose.yaml"],
        "env": {"ENGINE_IMAGE": registry.name("engine:v1")},
        "engines": owned,
    }


def router(registry: Registry, **own: object) -> dict[str, object]:
    """Describe HAProxy before them."""
    image = registry.name("router:v1")
    common = {"role": "haproxy", "image": image, "upstreams": UPSTREAMS, "engine": "llama_cpp"}
    return {**common, "check_ms": 200, "load_s": 20, "stop_s": 5, **own}


def rolled(fleet_: Fleet, box: Docked, registry: Registry, **own: object) -> Said:
    """Describe both projects, pin and roll out."""
    fleet_.describe(box.host, chat=engines(registry), front=router(registry, **own))
    pinned = fleet_.invoke("pin", box.host)
    assert pinned.code == 0, pinned.stderr
    return fleet_.invoke("rollout", box.host)


def starts(box: Docked) -> Mapping[str, str]:
    """Give when each service of both projects was started."""
    found = {**box.containers("chat"), **box.containers("front")}
    return {name: one.started for name, one in found.items()}


def test_haproxy_before_two_engines(
    lab: Lab, boxes: list[Docked], registry: Registry, tmp_path: Path, prove: Proofs
) -> None:
    """Both are judged, the router by a completion that came through; then each changes alone."""
    box = boxes[0]
    ours = Fleet(lab, tmp_path)
    written(tmp_path, registry)

    first = rolled(ours, box, registry)

    assert first.code == 0, (first.sentence, first.stderr)
    assert completes(box, "The capital of France is")
    through = first.report("through")
    assert (through["part"], through["verdict"]) == ("front.router", "PASS")
    assert "one completion of copy" in evidence(through)
    before = starts(box)
    assert set(before) == {*ENGINES, "router"}

    second = rolled(ours, box, registry, balance="roundrobin")

    assert second.code == 0, (second.sentence, second.stderr)
    after = starts(box)
    assert {name for name in before if before[name] != after[name]} == {"router"}
    assert "balance roundrobin" in box.docker(
        "exec", "front-router-1", "cat", "/etc/headway/haproxy.cfg"
    )

    box.sh("headway-host compose front up -d && headway-host compose chat up -d")
    assert starts(box) == after

    nobody = [{"name": "gone", "url": "http://127.0.0.1:8009", "model": "copy"}]
    others = [{**one, "model": "other"} for one in UPSTREAMS]
    for upstreams, gate in ((nobody, "journal"), (others, "through")):
        failed = rolled(ours, box, registry, upstreams=upstreams, load_s=6)

        assert failed.code == 1, (failed.code, failed.sentence, failed.stderr)
        assert completes(box, "The capital of France is")
        assert {name: starts(box)[name] for name in ENGINES} == {
            name: before[name] for name in ENGINES
        }
        reports = [body["report"] for body in failed.bodies("reported")]
        wrong = [one for one in reports if one["verdict"] == "FAIL"]
        assert [one["gate"] for one in wrong] == [gate]
        assert failed.report("health")["verdict"] == "PASS"
        what = f"HAProxy is up and healthy; {gate}"
        prove("roles: a router before engines", what, "back", evidence(wrong[0]).splitlines()[0])


def test_a_variable_of_an_env_file_is_part_of_the_launch(
    lab: Lab, boxes: list[Docked], registry: Registry, tmp_path: Path
) -> None:
    """Unchanged, it recreates nothing, and Compose agrees; changed, its service is made anew."""
    box = boxes[0]
    ours = Fleet(lab, tmp_path)
    written(tmp_path, registry)
    first = rolled(ours, box, registry, env={"LLAMA_API_KEY": "one"})
    assert first.code == 0, (first.sentence, first.stderr)
    before = starts(box)

    same = ours.invoke("rollout", box.host)

    assert same.code == 0, same.stderr
    box.sh("headway-host compose front up -d")
    assert starts(box) == before

    second = rolled(ours, box, registry, env={"LLAMA_API_KEY": "two"})

    assert second.code == 0, (second.sentence, second.stderr)
    after = starts(box)
    assert {name for name in before if before[name] != after[name]} == {"router"}
    assert "LLAMA_API_KEY=two" in box.inspect("front-router-1")["Config"]["Env"]


@pytest.mark.parametrize("role", ROLES)
def test_compose_itself_takes_what_a_role_renders(
    role: str, boxes: list[Docked], tmp_path: Path
) -> None:
    """Its own answer has the image as pinned, the words as judged, and the variables of env."""
    box = boxes[0]
    own = {**ROLES[role], "env": {"ROUTER_KEY": "it's $HOME"}}
    made = render(fleet(tmp_path, {}), host({"main": role}, **own), pin=_pinned)
    files = {
        one.path.removeprefix("/srv/main/"): made.blobs[one.blob.sha256].decode()
        for part in made.release.parts
        for one in part.resources
        if isinstance(one, File)
    }
    box.write("/srv/main", files)

    words = ["--env-file", "main.env", "-f", "compose.yaml", "-f", "headway.pins.yaml"]
    said = json.loads(box.compose("/srv/main", *words, "config", "--format", "json"))

    services: dict[str, Any] = said["services"]
    for part in made.release.parts:
        if part.subject is None:
            continue
        service = services[part.name.partition(".")[2]]
        argv = [*(service.get("entrypoint") or ()), *(service.get("command") or ())]
        assert [word.replace("$$", "$") for word in argv] == [
            word for row in part.argv for word in row
        ]
        assert service["image"].endswith(DIGEST)
        assert service["stop_grace_period"] == "1m0s"
        assert service["environment"]["ROUTER_KEY"].replace("$$", "$") == "it's $HOME"
    if role == "haproxy":
        box.sh("haproxy -c -f /srv/main/haproxy.cfg")
    if role == "vllm_stack":
        [device] = services["chat"]["deploy"]["resources"]["reservations"]["devices"]
        assert device["device_ids"] == ["GPU-aa", "GPU-bb"]


def _pinned(ref: str, *_: str) -> Pin:
    return Pin(ref, digest=DIGEST)
