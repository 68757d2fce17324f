"""An image is brought from one Docker to another, whole or not at all."""

import os
import shutil
from pathlib import Path

import pytest

from headway.control.errors import RefusedError
from headway.control.pins.docker import Held, held, lacking
from headway.control.pins.streaming import Left, bring
from headway.control.reaching.sudo import Sudo
from headway.control.secrets import Secret
from tests.control.pins.dockers import Docker

ID = "sha256:" + "77" * 32
SUDO = """\
#!/bin/sh
printf %s "$3" >&2
read -r word
test "$word" = lab-ops || exit 1
shift 4
exec "$@"
"""


@pytest.fixture
def ends(tmp_path: Path) -> tuple[Docker, Docker]:
    """Return the Docker that has the image, and one that has nothing."""
    source, target = Docker(tmp_path / "source"), Docker(tmp_path / "target")
    source.has(ID)
    return source, target


def carry(source: Docker, target: Docker) -> None:
    """Bring the image."""
    bring(ID, source.transport, "gpu1", target.transport, "gpu2")


def test_an_image_arrives_byte_for_byte(ends: tuple[Docker, Docker]) -> None:
    """Its progress is told, and it is looked for afterwards."""
    source, target = ends
    told: list[tuple[int, int]] = []
    assert lacking(target.transport, (ID,), "gpu2") == (ID,)
    bring(
        *(ID, source.transport, "gpu1", target.transport, "gpu2"),
        progress=lambda done, total: told.append((done, total)),
    )
    assert (target.images / ID / "bytes").read_bytes() == (
        source.images / ID / "bytes"
    ).read_bytes()
    assert told[-1] == (200_000 + len(ID) + 1, 150_000)
    assert lacking(target.transport, (ID,), "gpu2") == ()


@pytest.mark.parametrize(
    ("end", "what", "says"),
    [
        (0, "down", "gpu1: docker: Cannot connect to the Docker daemon"),
        (1, "down", "gpu2: docker: Cannot connect to the Docker daemon"),
        (0, "breaks", "gpu1: docker: unexpected EOF"),
        (1, "full", "gpu2: docker: no space left on device"),
    ],
)
def test_what_breaks_at_an_end_is_said_with_its_name(
    ends: tuple[Docker, Docker], end: int, what: str, says: str
) -> None:
    """The target has nothing of it."""
    ends[end].is_(what)
    with pytest.raises(RefusedError, match=says):
        carry(*ends)
    assert not (ends[1].images / ID).exists()


def test_an_image_that_the_source_has_not_is_said(ends: tuple[Docker, Docker]) -> None:
    """Somebody pruned it there."""
    shutil.rmtree(ends[0].images / ID)
    with pytest.raises(RefusedError, match=f"^gpu1 has no image {ID[:19]} to bring to gpu2$"):
        carry(*ends)


def test_another_image_than_was_wanted_is_no_success(ends: tuple[Docker, Docker]) -> None:
    """The containerd store names images by another hash than the older one."""
    (ends[0].images / ID / "bytes").write_text("sha256:other\n")
    with pytest.raises(RefusedError, match=r"^gpu2: what was loaded is not sha256:777"):
        carry(*ends)


def test_who_leaves_brings_nothing(ends: tuple[Docker, Docker]) -> None:
    """Ctrl-C, three times: nobody waits for the end of it."""
    source, target = ends
    with pytest.raises(Left):
        bring(*(ID, source.transport, "a", target.transport, "b"), leaving=lambda: True)
    assert not (target.images / ID).exists()


def test_an_image_is_looked_for_by_its_name(ends: tuple[Docker, Docker]) -> None:
    """A Docker that has not got it is told from one that does not answer."""
    source, _ = ends
    source.has(ID, "acme/router:dev")
    assert held(source.transport, "acme/router:dev", "gpu1") == Held(ID, 150_000, "linux/amd64")
    assert held(source.transport, "acme/router:v9", "gpu1") is None
    source.is_("down")
    with pytest.raises(RefusedError, match="gpu1: docker: Cannot connect"):
        held(source.transport, "acme/router:dev", "gpu1")


def test_sudo_has_its_password_before_the_image_goes(
    ends: tuple[Docker, Docker], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was sent too early sudo would read as the password; this double of it always asks."""
    program = tmp_path / "bin/sudo"
    program.parent.mkdir()
    program.write_text(SUDO)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    source, target = ends
    become = Sudo(target.transport, "ops@gpu2", Secret.of("lab-ops", "hosts.yaml:4"))
    bring(ID, source.transport, "gpu1", become, "gpu2")
    assert (target.images / ID / "bytes").read_bytes() == (
        source.images / ID / "bytes"
    ).read_bytes()
