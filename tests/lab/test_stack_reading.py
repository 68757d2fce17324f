"""A Compose project as whoever is on call reads it: logs of a launch, releases, status."""

import pytest

from tests.lab.lab import Lab
from tests.lab.projects import Projects, pushed
from tests.lab.proof import Proofs
from tests.lab.stacks import Registry, docked

pytestmark = [pytest.mark.lab, pytest.mark.oncall]

ENGINE = "chat.engine-a"


def test_a_project_is_read_like_anything_else(
    lab: Lab, tmp_path_factory: pytest.TempPathFactory, prove: Proofs
) -> None:
    """Lines of the launch that runs, and of none before it; digests that moved; engines."""
    box, shop = docked(lab, "stacked", "shop", fresh=True)
    registry = Registry(shop.host)
    registry.start()
    for image in ("engine:v1", "router:v1", "router:v2"):
        pushed(shop, registry, image)
    project = Projects(lab, tmp_path_factory.mktemp("fleet"), registry)
    box.docker("image", "prune", "--all", "--force")
    for router in ("router:v1", "router:v2"):
        project.describe(box, registry.name("engine:v1"), registry.name(router))
        assert project.pin(box).code == 0
        assert project.rollout(box).code == 0
    fleet, host = project.fleet, box.host

    box.docker("restart", "stack-engine-a-1")
    now = fleet.invoke("logs", host, "--part", ENGINE, "--last", "0")
    routers = [
        fleet.invoke("logs", host, "--part", "chat.router", "--launch", launch)
        for launch in ("current", "previous")
    ]
    ids = [row["release"] for row in fleet.invoke("history", host).told("host_history")]
    diff = fleet.invoke("diff", host, ids[1], ids[0])
    status = fleet.invoke("status", host)
    registry.stop()

    assert now.code == 0, now.stderr
    lines = [row["line"]["text"] for row in now.told("host_line")]
    assert sum("listening" in text for text in lines) == 1, lines
    assert [said.code for said in routers] == [0, 0], [said.stderr for said in routers]
    launches = [{row["launch"] for row in said.told("host_line")} for said in routers]
    assert len(launches[0] | launches[1]) == 2, "the container was made anew; journald has both"
    [found] = diff.told("release_diff")
    moved = [one for one in found["resources"] if one["name"] == "stack/router"]
    assert any("pin/digest: sha256:" in field for one in moved for field in one["fields"]), found
    [row] = status.told("host_status")
    assert set(row["serving"]) >= {ENGINE, "chat.engine-b"}
    prove(
        "a project",
        "an engine that was restarted, a router of another image",
        "this launch's lines only, the digest that moved, engines by service",
        f"{len(lines)} lines",
    )
