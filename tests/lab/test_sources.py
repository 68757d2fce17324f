"""The mirror comes from this machine's own apt sources, in whichever format they are written."""

from pathlib import Path

import pytest

from tests.lab.command import LabError
from tests.lab.sources import apt_line, codename

DEB822 = """\
# our mirror
Types: deb
URIs: http://mirror.example/debian
Suites: {suite} {suite}-updates
Components: main
Signed-By: /usr/share/keyrings/ours.gpg
"""
ONE_LINE = (
    "deb [arch=amd64 signed-by=/usr/share/keyrings/ours.gpg]"
    " http://mirror.example/debian {suite} main\n"
)
WANTED = "deb [signed-by=/usr/share/keyrings/ours.gpg] http://mirror.example/debian trixie main"


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """Return an os-release of a Debian."""
    file = tmp_path / "os-release"
    file.write_text('ID=debian\nVERSION_CODENAME="bookworm"\n')
    return file


@pytest.mark.parametrize(
    ("name", "text"),
    [("sources.list.d/debian.sources", DEB822), ("sources.list", ONE_LINE)],
)
def test_another_suite_comes_from_the_same_mirror(
    tmp_path: Path, here: Path, name: str, text: str
) -> None:
    """The lab's Debians are older and newer than the machine; its mirror has them all."""
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(text.format(suite="bookworm"))
    assert apt_line("trixie", codename(here), tmp_path) == WANTED


def test_a_machine_without_a_debian_source_is_told_so(tmp_path: Path, here: Path) -> None:
    """A disabled or foreign source is none."""
    (tmp_path / "sources.list.d").mkdir()
    disabled = DEB822.format(suite="bookworm") + "Enabled: no\n"
    (tmp_path / "sources.list.d/debian.sources").write_text(disabled)
    with pytest.raises(LabError, match="no apt source offers bookworm"):
        apt_line("trixie", codename(here), tmp_path)


def test_another_distribution_is_told_what_works(here: Path) -> None:
    """Its tools would build no Debian."""
    here.write_text("ID=fedora\n")
    with pytest.raises(LabError, match="unit tests run anywhere"):
        codename(here)
