"""Images are pinned by a real registry's word and by real daemons', and brought over real SSH."""

import base64
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
import yaml

from headway.control.desk import Desk
from headway.control.inventory.model import Host
from headway.control.pins.pin import pin
from headway.control.pins.pins import Entry
from headway.control.pins.wanted import Wanted
from headway.control.rolling.bringing import Bringing
from headway.control.rolling.visit import Task, Visit
from headway.control.telling.story import Note, Sending, Told
from headway.wire.gate import criteria_of
from headway.wire.phase import Exit
from headway.wire.record import Orders
from headway.wire.release import Part, release_of
from headway.wire.resources import Image, Pin
from headway.wire.talk import Rollout
from tests.lab.lab import Lab
from tests.lab.stacks import PASSWORD, USER, Docked, Registry, docked
from tests.lab.tokens import ISSUER, SERVICE, Signer, tokens

pytestmark = [pytest.mark.lab, pytest.mark.stacks]


@pytest.fixture(scope="module")
def boxes(lab: Lab) -> list[Docked]:
    """Return hosts of their own with Docker: what is pushed here would show on another test's."""
    return docked(lab, "pinbox", "pinstore")


@pytest.fixture
def registry(boxes: list[Docked]) -> Iterator[Registry]:
    """Return a registry that runs and asks nobody who he is."""
    registry = Registry(boxes[1].host)
    registry.start()
    yield registry
    registry.stop()


class Place:
    """A fleet of the two hosts; what their services run is the test's to say."""

    def __init__(self, lab: Lab, folder: Path, boxes: list[Docked]) -> None:
        self.lab = lab
        self.folder = folder
        self.boxes = boxes
        (folder / "inventory").mkdir()
        self.says()

    def says(self, **variables: object) -> None:
        """Write the inventory with these variables for all."""
        hosts = {box.host.name: self.lab.connection(box.host) for box in self.boxes}
        told = {"all": {"hosts": hosts, "vars": variables}}
        (self.folder / "inventory/hosts.yaml").write_text(yaml.safe_dump(told))

    def pin(self, *refs: str, repin: bool = False) -> Exit:
        """Run the verb for the first host, whose services run these images."""

        def images(_host: Host) -> Sequence[Wanted]:
            return [
                Wanted("stack", f"s{n}", ref, f"compose.yaml:{n}") for n, ref in enumerate(refs)
            ]

        with Desk(verb="pin", host=("pinbox",)) as desk:
            return pin(desk, images, repin=repin)

    def entry(self, ref: str) -> Entry:
        """Give what is pinned."""
        with Desk(verb="pin", host=("pinbox",)) as desk:
            return desk.fleet.pins.entries[ref]


@pytest.fixture
def place(lab: Lab, boxes: list[Docked], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """Return a fleet with nothing pinned, as the current folder; nobody is logged in."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    return Place(lab, tmp_path, boxes)


Said = Callable[[], str]


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Said:
    """Return what was printed since the last look, both streams as one."""
    return lambda: "".join(capsys.readouterr())


def test_a_tag_is_what_docker_pushed_until_a_person_says_otherwise(
    place: Place, boxes: list[Docked], registry: Registry, said: Said
) -> None:
    """The digest is Docker's own; the tag that is pointed elsewhere moves by --repin alone."""
    box, ref = boxes[0], registry.name("router:v1")
    v1 = box.push("lab/router:v1", ref)
    v2 = box.push("lab/router:v2", registry.name("router:v2"))
    place.says(insecure_registries=[registry.address])

    assert place.pin(ref) is Exit.ACCEPTED
    pinned = place.entry(ref)
    assert (pinned.digest, pinned.platforms) == (v1, ("linux/amd64",))
    assert registry.name(f"router@{v1}") in box.inspect(ref)["RepoDigests"]
    assert 100_000 < pinned.size < box.inspect(ref)["Size"]

    registry.point("router", "v1", v2)
    assert place.pin(ref) is Exit.ACCEPTED
    assert place.entry(ref) == pinned
    said()
    assert place.pin(ref, repin=True) is Exit.ACCEPTED
    assert f"{v1[:19]}  {v2[:19]}" in said()
    assert place.entry(ref).digest == v2


def test_the_digest_is_that_of_the_index(
    place: Place, boxes: list[Docked], registry: Registry
) -> None:
    """An image for two platforms has three digests: the one of both is pinned."""
    digests = [
        boxes[0].push(f"lab/{name}:v1", registry.name(f"both:{name}"))
        for name in ("router", "foreign")
    ]
    index = registry.index("both", "v1", digests)
    place.says(insecure_registries=[registry.address])
    ref = registry.name("both:v1")
    assert place.pin(ref) is Exit.ACCEPTED
    found = place.entry(ref)
    assert (found.digest, found.platforms) == (index, ("linux/amd64", "linux/arm64"))


def test_a_registry_that_wants_a_login_is_shown_dockers(
    place: Place, boxes: list[Docked], registry: Registry, said: Said
) -> None:
    """None, a wrong one, the right one: the password is never said."""
    ref = registry.name("router:v1")
    digest = boxes[0].push("lab/router:v1", ref)
    registry.start(login=True)
    place.says(insecure_registries=[registry.address])
    config = place.folder / "config.json"

    assert place.pin(ref) is Exit.USAGE
    assert f"{registry.address} refuses us: there is no login for it in {config}" in said()
    for word, code in (("wrong-word", Exit.USAGE), (PASSWORD, Exit.ACCEPTED)):
        auth = base64.b64encode(f"{USER}:{word}".encode()).decode()
        config.write_text(json.dumps({"auths": {registry.address: {"auth": auth}}}))
        assert place.pin(ref) is code
        heard = said()
        assert ("does not take the login of lab" in heard) is (code is Exit.USAGE)
        assert word not in heard
    assert place.entry(ref).digest == digest


def test_a_token_is_had_with_dockers_login_and_shown_to_the_registry(
    place: Place, boxes: list[Docked], registry: Registry, said: Said
) -> None:
    """As Docker Hub and GHCR want it: the registry itself never sees the password."""
    ref, signer = registry.name("router:v1"), Signer()
    digest = boxes[0].push("lab/router:v1", ref)
    config = place.folder / "config.json"
    place.says(insecure_registries=[registry.address])
    bundle = "/etc/docker/registry/tokens.pem"
    registry.host.path(bundle).write_text(signer.bundle)
    with tokens(signer, USER, PASSWORD) as (url, asked):
        told = {"realm": url, "service": SERVICE, "issuer": ISSUER, "rootcertbundle": bundle}
        registry.start(auth={"token": told})
        assert place.pin(ref) is Exit.USAGE
        assert f"{registry.address} refuses us: there is no login for it" in said()
        auth = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        config.write_text(json.dumps({"auths": {registry.address: {"auth": auth}}}))
        assert place.pin(ref) is Exit.ACCEPTED
    assert place.entry(ref).digest == digest
    assert asked == ["repository:router:pull"] * 2


def test_what_cannot_be_pinned_is_a_line_with_what_to_do(
    place: Place, boxes: list[Docked], registry: Registry, said: Said
) -> None:
    """No such tag, a deleted manifest, another platform, TLS where none is spoken, nobody there."""
    gone, foreign = registry.name("gone:v1"), registry.name("foreign:v1")
    registry.delete("gone", boxes[0].push("lab/router:v2", gone))
    boxes[0].push("lab/foreign:v1", foreign)
    place.says(insecure_registries=[registry.address])
    assert place.pin(registry.name("gone:v9"), gone, foreign) is Exit.USAGE
    lines = [line for line in said().splitlines() if line.startswith("headway: ")]
    assert [line.removeprefix("headway: ") for line in lines] == [
        f"compose.yaml:0: {registry.address} has no gone v9",
        f"compose.yaml:1: {registry.address} has no gone v1",
        f"compose.yaml:2: image {foreign} is not for linux/amd64: it is for linux/arm64",
    ]
    place.says()
    assert place.pin(foreign) is Exit.UNREACHABLE
    assert f"{registry.address}: it does not speak TLS" in said()
    registry.stop()
    place.says(insecure_registries=[registry.address])
    assert place.pin(foreign) is Exit.UNREACHABLE
    assert f"{registry.address}: connection refused" in said()
    assert not (place.folder / "pins.yaml").exists()


def test_an_image_that_no_registry_has_is_pinned_by_id_and_brought(
    place: Place, boxes: list[Docked], said: Said
) -> None:
    """One host has it, and another one gets it whole, by its id, without a name."""
    box, store = boxes
    box.docker("tag", "lab/engine:v2", "own/engine:dev")
    store.remove_images("lab/engine:v1", "lab/engine:v2")
    place.says(images_on_host=["own/*"], images_from="pinbox")
    assert place.pin("own/engine:dev", "own/router:dev") is Exit.USAGE
    assert "compose.yaml:1: image own/router:dev is on none of: pinbox" in said()
    image_id = box.inspect("own/engine:dev")["Id"]
    assert place.entry("own/engine:dev").image_id == image_id

    told: list[Told] = []
    with Desk(verb="rollout", host=("all",)) as desk:
        target = desk.inventory.host("pinstore")
        pinned = Image(Pin("own/engine:dev", image_id=image_id))
        release = release_of((Part("stack.engine", "stack", (pinned,)),))
        task = Task(target, Rollout(release, criteria_of((), "c"), Orders("ops")))
        bring = Bringing(desk.reach, desk.hosts, told.append)
        visit = Visit(task, desk.reach, told.append)
        bring(visit)
        assert [each.text for each in told if isinstance(each, Note)] == [
            "brought image own/engine:dev from pinbox"
        ]
        bring(visit)
        assert sum(isinstance(each, Note) for each in told) == 1
    found = store.inspect(image_id)
    assert (found["Id"], found["RepoTags"]) == (image_id, [])
    assert found["RootFS"] == box.inspect(image_id)["RootFS"]
    assert all(each.done_bytes < each.total_bytes for each in told if isinstance(each, Sending))
