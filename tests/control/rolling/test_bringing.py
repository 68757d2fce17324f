"""Images that no registry has are brought when a host has its turn, before it is let begin.

The hosts are doubles: folders of this machine, with a scripted runner and a double of Docker.
"""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from headway.control.errors import ConfigError
from headway.control.inventory.model import Host, Value
from headway.control.reaching.reach import Reach
from headway.control.rolling.bringing import Bringing
from headway.control.rolling.crew import Crew
from headway.control.rolling.visit import Task, Visit
from headway.control.telling.story import HostEnded, Note, Told
from headway.wire.gate import criteria_of
from headway.wire.phase import Exit
from headway.wire.record import Orders
from headway.wire.release import Part, release_of
from headway.wire.resources import Image, Pin, Resource, Service
from headway.wire.talk import Rollout
from tests.control.doubles import LocalTransport, installed, scripted
from tests.control.pins.dockers import Docker

ID = "sha256:" + "77" * 32
PIN = Pin("acme/router:dev", image_id=ID)
WAITS = """
import os
hear()
say({"missing": {"blobs": [], "changed": ["chat"], "running": "empty"}})
hear()
images = os.listdir(os.getcwd() + "/images")
say({"done": {"exit_code": 0, "sentence": " ".join(images)}})
"""
Bring = Callable[..., tuple[int, str]]


@pytest.fixture
def roll(tmp_path: Path) -> Bring:
    """Return `roll(resource, images_from)`: roll out to gpu2, and give its code and last word."""
    dockers = {name: Docker(tmp_path / name) for name in ("gpu1", "gpu2")}
    dockers["gpu1"].has(ID)
    pack = scripted(WAITS)
    installed(pack, tmp_path / "gpu2")

    def dial(host: Host) -> LocalTransport:
        return Docker.at(tmp_path / host.name)

    def run(resource: Resource, images_from: str = "gpu1") -> tuple[int, str]:
        told: list[Told] = []
        own = {"images_from": Value(images_from, "hosts.yaml:4")} if images_from else {}
        hosts = [Host("gpu1", "gpu1", (), {}), Host("gpu2", "gpu2", (), own)]
        release = release_of((Part("chat", "stack", (resource,)),))
        task = Task(hosts[1], Rollout(release, criteria_of((), "c"), Orders("op")))
        reach = Reach(pack, dial)
        bring = Bringing(reach, hosts, told.append)
        bring.refuse([task])
        crew = Crew(told.append, "op")
        crew.one_by_one([Visit(task, reach, told.append, bring=bring, moved=crew.moved)])
        (ended,) = (each for each in told if isinstance(each, HostEnded))
        notes = [each.text for each in told if isinstance(each, Note)]
        return ended.exit_code, " ".join([*notes, ended.sentence])

    return run


@pytest.mark.parametrize("resource", [Image(PIN), Service("chat", "router", PIN)])
def test_what_the_host_lacks_is_there_before_it_begins(roll: Bring, resource: Resource) -> None:
    """It is brought once: the second rollout finds it."""
    assert roll(resource) == (0, f"brought image acme/router:dev from gpu1 {ID}")
    assert roll(resource) == (0, ID)


def test_this_machine_brings_it_as_a_host_does(
    roll: Bring, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own Docker saves it."""
    monkeypatch.setenv("PATH", f"{tmp_path}/gpu1:{os.environ['PATH']}")
    said = roll(Image(PIN), "controller")
    assert said == (0, f"brought image acme/router:dev from controller {ID}")


@pytest.mark.parametrize(
    ("resource", "source"),
    [(Image(PIN), ""), (Image(PIN), "gpu2"), (Image(Pin("a/b:v1", "sha256:1")), "gpu1")],
)
def test_nothing_is_brought_where_nobody_asked_for_it(
    roll: Bring, resource: Resource, source: str
) -> None:
    """No source, the host itself, or an image that a registry has: staging says what is missing."""
    assert roll(resource, source) == (0, "")


def test_a_source_that_has_it_no_more_refuses_the_host(roll: Bring, tmp_path: Path) -> None:
    """It was never let begin."""
    (tmp_path / "gpu1/images/down").touch()
    code, said = roll(Image(PIN))
    assert code == Exit.REFUSED
    assert said.startswith("gpu1: docker: Cannot connect")


def test_a_source_that_nobody_knows_stops_all_of_it(roll: Bring) -> None:
    """Before any host is called."""
    with pytest.raises(ConfigError, match=r"^hosts.yaml:4: images_from: there is no host 'gpu11';"):
        roll(Image(PIN), "gpu11")
