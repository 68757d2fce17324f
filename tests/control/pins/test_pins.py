"""pins.yaml: what is pinned stays, and what is not is said with the command that pins it."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.control.errors import ConfigError
from headway.control.fleet import Fleet
from headway.control.pins.pins import Entry, Pins, write
from headway.wire.resources import Pin

DIGEST = "sha256:" + "0c" * 32
OTHER = "sha256:" + "77" * 32
PINNED = f"""\
ghcr.io/acme/engine:v1:
  digest: {DIGEST}
  platforms: [linux/amd64, linux/arm64]
acme/router:dev:
  image_id: {OTHER}
"""


def fleet(folder: Path, text: str) -> Fleet:
    """Make a fleet with this pins.yaml."""
    (folder / "pins.yaml").write_text(text)
    return Fleet(folder)


def of(pins: Pins, ref: str, platform: str = "linux/amd64") -> Pin:
    """Ask for the image of a service."""
    where = "roles/a/role.yaml:3"
    return pins.of(ref, where, service="chat/engine", host="gpu1", platform=platform)


def test_a_pinned_image_is_named_by_its_content(tmp_path: Path) -> None:
    """By digest in its registry; by id where no registry has it."""
    pins = fleet(tmp_path, PINNED).pins
    engine = of(pins, "ghcr.io/acme/engine:v1", "linux/arm64")
    assert engine == Pin("ghcr.io/acme/engine:v1", DIGEST, platform="linux/arm64")
    assert engine.name() == f"ghcr.io/acme/engine@{DIGEST}"
    assert of(pins, "acme/router:dev").name() == OTHER


def test_an_image_that_is_not_pinned_names_the_command(tmp_path: Path) -> None:
    """A fleet without the file has nothing pinned."""
    with pytest.raises(ConfigError) as caught:
        of(Fleet(tmp_path).pins, "acme/engine:v1")
    assert str(caught.value) == (
        "roles/a/role.yaml:3: image acme/engine:v1 of service chat/engine is not pinned"
    )
    assert caught.value.hint == "invoke pin --host gpu1"


def test_an_image_for_other_machines_is_an_error(tmp_path: Path) -> None:
    """The registry said at the time what it is for: nobody has to try it out on a host."""
    with pytest.raises(ConfigError, match="is not for linux/s390x: it is for linux/amd64, linux/"):
        of(fleet(tmp_path, PINNED).pins, "ghcr.io/acme/engine:v1", "linux/s390x")


def test_what_names_its_content_itself_needs_no_pin() -> None:
    """A digest or an id says it all."""
    assert of(Pins(), f"acme/engine:v1@{DIGEST}").digest == DIGEST
    assert of(Pins(), OTHER).image_id == OTHER


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a/b:v1: {}", r"pins\.yaml:1: a/b:v1: wants a digest or an image_id"),
        (f"a/b:v1: {{digest: '{DIGEST}', image_id: '{OTHER}'}}", "wants a digest or an image_id"),
        ("\na/b:v1:\n  digest: v2", r"pins\.yaml:3: a/b:v1/digest: 'v2' is no sha256:"),
        (f"\na/b:v1:\n  digets: '{DIGEST}'", r"pins\.yaml:3: .*digets"),
        (f"a/b@{OTHER}: {{digest: '{DIGEST}'}}", "another image than it names itself"),
        ("A/b:v1: {image_id: 'sha256:" + "7" * 64 + "'}", r"pins\.yaml:1: image 'A/b:v1'"),
        ("[]", "wants a mapping"),
    ],
)
def test_a_misfit_is_an_error_at_its_line(tmp_path: Path, text: str, says: str) -> None:
    """A hand that edits it is told what it did."""
    with pytest.raises(ConfigError, match=says):
        _ = fleet(tmp_path, text).pins


def test_an_empty_file_pins_nothing(tmp_path: Path) -> None:
    """Only the comment may stand there."""
    assert fleet(tmp_path, "# nothing yet\n").pins == Pins()


_TAGS = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,20}", fullmatch=True)


@given(tags=st.lists(_TAGS, unique=True), size=st.integers(0, 10**12))
def test_what_is_written_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, tags: list[str], size: int
) -> None:
    """A tag of digits, `yes` or a date stays what it is; a digest of digits, too."""
    entry = Entry(digest="sha256:" + "1" * 64, size=size, resolved_at="2026-11-30T04:00:00Z")
    pins = Pins({f"a/b:{tag}": entry for tag in tags})
    folder = tmp_path_factory.mktemp("pins")
    write(folder / "pins.yaml", pins)
    assert Fleet(folder).pins == pins
    assert (folder / "pins.yaml").read_text().startswith("# What each image is.")
