"""Satchels: parts of the runner that come when they are needed, whole or not at all."""

import bz2
import io
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from headway.control.fleet import Fleet
from headway.control.reaching.pack import Pack, pack
from headway.wire.satchels import SATCHELS, satchels_for

SCRIPT = """
import sys
sys.path.insert(0, sys.argv[1])
from headway.runner import satchels
blob = satchels.lacking("cards")
print("lacks" if blob else "has", blob.size if blob else 0)
if len(sys.argv) > 2:
    satchels.unpack("cards", open(sys.argv[2], "rb").read())
    import pynvml
    print("has" if satchels.lacking("cards") is None else "lacks", pynvml.__name__)
"""


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Pack:
    """Return the runner of a fleet without checks of its own."""
    return pack(Fleet(tmp_path_factory.mktemp("fleet")))


def runner(packed: Pack, folder: Path) -> Path:
    """Unpack a runner as a host does, without its satchels."""
    zipfile.ZipFile(io.BytesIO(bz2.decompress(packed.data))).extractall(folder / "runner")
    return folder / "runner"


def ask(folder: Path, *words: str) -> list[str]:
    """Ask a runner on disk what it lacks, and have it unpack what is given."""
    argv = [sys.executable, "-I", "-S", "-c", SCRIPT, str(folder), *words]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.splitlines()


def test_a_runner_lacks_its_satchels_until_they_are_unpacked(packed: Pack, tmp_path: Path) -> None:
    """Then they lie beside its own files, and it knows them for good."""
    folder = runner(packed, tmp_path)
    sent = tmp_path / "cards"
    sent.write_bytes(packed.satchels["cards"])

    assert not (folder / "pynvml.py").exists()
    assert ask(folder, str(sent)) == [f"lacks {sent.stat().st_size}", "has pynvml"]
    assert ask(folder) == ["has 0"]
    assert not list(folder.glob(".*"))


def test_one_that_was_cut_off_is_asked_for_again(packed: Pack, tmp_path: Path) -> None:
    """The mark comes last: files without it are no satchel."""
    folder = runner(packed, tmp_path)
    (folder / "pynvml.py").write_text("half of ")
    sent = tmp_path / "cards"
    sent.write_bytes(packed.satchels["cards"])

    assert ask(folder, str(sent))[-1] == "has pynvml"
    assert (folder / "pynvml.py").read_bytes() == packed.files["pynvml.py"]


def test_every_file_travels_once(packed: Pack) -> None:
    """With the runner or in one satchel; the runner knows what each satchel is sent as."""
    zips = [packed.data, *packed.satchels.values()]
    names = [
        name
        for data in zips
        for name in zipfile.ZipFile(io.BytesIO(bz2.decompress(data))).namelist()
    ]
    assert sorted(names) == sorted([*packed.files, "satchels.json"])


def test_a_gate_names_the_satchel_its_check_travels_in() -> None:
    """A kind that goes with the runner, or is the operator's own, needs none."""
    assert satchels_for(("health", "needle", "vibes", "nccl", "burst")) == ("acceptance", "cards")
    names = {"acceptance", "cards", "diagnosis", "reading", "stacks", "weights"}
    assert set(SATCHELS) == names
