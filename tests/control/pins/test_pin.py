"""`invoke pin`: tags are resolved once, and what moves is said.

Hosts are doubles with a double of Docker; the registry is a double, served on loopback.
"""

import json
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from headway.control.desk import Desk
from headway.control.errors import ConfigError, RefusedError
from headway.control.fleet import Fleet
from headway.control.inventory.model import Host
from headway.control.pins.pin import pin
from headway.control.pins.pins import Pins
from headway.control.pins.wanted import Wanted
from headway.control.reaching.reach import Reach
from headway.control.reaching.transport import Transport
from headway.wire.phase import Exit
from tests.control.doubles import scripted
from tests.control.pins.dockers import Docker
from tests.control.pins.registries import Double, image

HOSTS = """\
all:
  hosts: {gpu1: {}, gpu2: {}}
  vars: {VARS}
"""
ID, OTHER = "sha256:" + "77" * 32, "sha256:" + "88" * 32


@pytest.fixture
def registry() -> Iterator[tuple[str, Double]]:
    """Serve an empty registry; gives its address."""
    double = Double()

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            got = double(self.command, self.path, {})
            self.send_response(got.status)
            for name, value in got.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(got.body)

        do_GET = do_HEAD  # noqa: N815 # http.server's name

        def log_message(self, *_words: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"127.0.0.1:{server.server_address[1]}", double
    server.shutdown()
    thread.join()
    server.server_close()


class Place:
    """A fleet of two hosts and what their services run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "inventory").mkdir()
        self.says("{}")
        self.dockers = {name: Docker(folder / name) for name in ("gpu1", "gpu2")}
        self.wanted: dict[str, list[str]] = {}

    def says(self, variables: str) -> None:
        """Write the inventory."""
        (self.folder / "inventory/hosts.yaml").write_text(HOSTS.replace("{VARS}", variables))

    def images(self, host: Host) -> Sequence[Wanted]:
        """Name the images of a host's services: engine, then router."""
        services = zip(("engine", "router"), self.wanted.get(host.name, ()), strict=False)
        return [Wanted("chat", name, ref, f"{name}.yaml:3") for name, ref in services]

    def pin(
        self, *, repin: bool = False, on_host: Sequence[str] = (), as_json: bool = False
    ) -> Exit:
        """Run the verb for all hosts."""

        def dial(host: Host) -> Transport:
            return Docker.at(self.folder / host.name)

        with Desk(verb="pin", host=("all",), json=as_json) as desk:
            desk.__dict__["reach"] = Reach(scripted(""), dial)
            return pin(desk, self.images, repin=repin, on_host=on_host)

    @property
    def pins(self) -> Pins:
        """Read what is pinned."""
        return Fleet(self.folder).pins


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """Return a fleet with nothing pinned, as the current folder; nobody is logged in."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    return Place(tmp_path)


Printed = Callable[[], str]


@pytest.fixture
def out(capsys: pytest.CaptureFixture[str]) -> Printed:
    """Return what was printed to stdout since the last look."""
    return lambda: capsys.readouterr().out


def test_a_tag_is_pinned_once_and_moves_when_a_person_says_so(
    place: Place, registry: tuple[str, Double], out: Printed
) -> None:
    """The tag moves in the registry; --repin says from where to where."""
    at, double = registry
    (first, config), (second, other) = image(layer=1), image(layer=2)
    old = double.push(first, "v1")
    double.push(config)
    place.wanted = {name: [f"{at}/a/engine:v1"] for name in ("gpu1", "gpu2")}

    assert place.pin() is Exit.ACCEPTED
    table = out().splitlines()
    assert table[0].split() == ["SERVICE", "HOSTS", "IMAGE", "OLD", "NEW"]
    ref = f"{at}/a/engine:v1"
    assert table[1].split() == ["chat.engine", "gpu1,", "gpu2", ref, "-", old[:19]]
    assert table[2] == "wrote pins.yaml; commit it"
    assert place.pins.entries[ref].digest == old

    new = double.push(second, "v1")
    double.push(other)
    asked = len(double.asked)
    assert place.pin() is Exit.ACCEPTED
    assert "as pinned\npins.yaml stays as it is" in out()
    assert (place.pins.entries[ref].digest, len(double.asked)) == (old, asked)

    assert place.pin(repin=True, as_json=True) is Exit.ACCEPTED
    assert json.loads(out())["pin"] == {
        "ref": ref,
        "services": ["chat.engine"],
        "hosts": ["gpu1", "gpu2"],
        "old": old,
        "new": new,
    }
    assert place.pins.entries[ref].digest == new


def test_what_cannot_be_resolved_keeps_nothing_else_from_it(
    place: Place, registry: tuple[str, Double], capsys: pytest.CaptureFixture[str]
) -> None:
    """It is said with its line, and the exit code says that it is not all of it."""
    at, double = registry
    body, config = image()
    double.push(body, "v1")
    double.push(config)
    place.wanted = {"gpu1": [f"{at}/a/engine:v9", f"{at}/a/router:v1"]}
    assert place.pin() is Exit.USAGE
    said = capsys.readouterr()
    assert "not resolved" in said.out
    assert f"headway: engine.yaml:3: {at} has no a/engine v9\n" in said.err
    assert list(place.pins.entries) == [f"{at}/a/router:v1"]


@pytest.mark.parametrize("way", ["variable", "flag"])
def test_an_image_that_no_registry_has_is_pinned_by_id(
    place: Place, out: Printed, way: str
) -> None:
    """Where the operator says so; the table says on which host it was read."""
    place.dockers["gpu1"].has(ID, "acme/router:dev")
    place.wanted = {"gpu1": ["acme/router:dev"]}
    if way == "variable":
        place.says("{images_on_host: ['acme/*']}")
    assert place.pin(on_host=() if way == "variable" else ("acme/router:*",)) is Exit.ACCEPTED
    assert f"-    {ID[:19]} on gpu1" in out()
    entry = place.pins.entries["acme/router:dev"]
    assert (entry.image_id, entry.read_on, entry.size) == (ID, "gpu1", 150_000)
    place.dockers["gpu1"].has(OTHER, "acme/router:dev")
    assert place.pin(repin=True, on_host=("acme/*",)) is Exit.ACCEPTED
    assert f"{ID[:19]}  {OTHER[:19]} on gpu1" in out()


def test_two_images_of_one_name_are_never_one_pin(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each host built its own: one of them has to be the source."""
    place.says("{images_on_host: ['acme/*']}")
    place.wanted = {name: ["acme/router:dev"] for name in ("gpu1", "gpu2")}
    place.dockers["gpu1"].has(ID, "acme/router:dev")
    place.dockers["gpu2"].has(OTHER, "acme/router:dev")
    assert place.pin() is RefusedError.exit_code
    assert "router:dev is another one on gpu2 than on gpu1" in capsys.readouterr().err
    place.says("{images_on_host: ['acme/*'], images_from: gpu2}")
    assert place.pin() is Exit.ACCEPTED
    assert place.pins.entries["acme/router:dev"].image_id == OTHER


@pytest.mark.parametrize(
    ("variables", "platform", "says"),
    [
        ("{images_on_host: ['acme/*']}", "", "image acme/router:dev is on none of: gpu1"),
        (
            "{images_on_host: ['acme/*']}",
            "linux/arm64",
            "router:dev on gpu1 is for linux/arm64, and not for linux/amd64",
        ),
        ("{images_on_host: 'acme/*'}", "", "hosts.yaml:3: images_on_host: wants a list of words"),
        (
            "{images_on_host: ['acme/*'], images_from: gpu11}",
            "",
            "hosts.yaml:3: images_from: .*gpu11",
        ),
    ],
)
def test_a_host_that_cannot_serve_it_is_said(
    place: Place,
    capsys: pytest.CaptureFixture[str],
    variables: str,
    platform: str,
    says: str,
) -> None:
    """Nothing is pinned, and nothing is written."""
    place.says(variables)
    place.wanted = {"gpu1": ["acme/router:dev"]}
    if platform:
        place.dockers["gpu1"].has(ID, "acme/router:dev", platform)
    try:
        code, said = place.pin(), capsys.readouterr().err
    except ConfigError as error:
        code, said = error.exit_code, str(error)
    assert code is Exit.USAGE
    assert re.search(says, said)
    assert not (place.folder / "pins.yaml").exists()


def test_an_image_by_its_id_needs_no_pin(place: Place, out: Printed) -> None:
    """It says itself what it is; and a host without services has nothing to pin."""
    place.wanted = {"gpu1": [ID]}
    assert place.pin() is Exit.ACCEPTED
    assert out() == "these hosts have no owned services: nothing to pin\n"
