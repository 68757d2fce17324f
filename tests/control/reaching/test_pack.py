"""The runner travels whole, under a name that its content alone decides."""

import bz2
import io
import os
import subprocess
import sys
import zipfile
from pathlib import Path

from headway.control.fleet import Fleet
from headway.control.reaching.pack import Pack, pack


def opened(packed: Pack) -> zipfile.ZipFile:
    """Open what is sent, as the receiver does."""
    return zipfile.ZipFile(io.BytesIO(bz2.decompress(packed.data)))


def test_it_is_small_and_the_same_at_any_time(tmp_path: Path) -> None:
    """At most 100 kB; the same bytes from the same files, whatever their dates."""
    first = pack(Fleet(tmp_path))
    assert len(first.data) <= 100_000
    again = Pack(dict(reversed(list(first.files.items()))))
    assert (again.sha256, again.data) == (first.sha256, first.data)
    names = opened(first).namelist()
    assert names == sorted(names)
    assert {"__main__.py", "headway/wire/loader.py", "headway/runner/disk.py"} <= set(names)
    assert not any("control" in name or "__pycache__" in name for name in names)


def test_a_check_of_the_fleet_goes_before_the_built_in_one(tmp_path: Path) -> None:
    """Its code changes the name of the checks, and with it the criteria; nothing is imported."""
    plain = pack(Fleet(tmp_path))
    (tmp_path / "checks").mkdir()
    (tmp_path / "checks/mine.py").write_text("raise SystemExit('a check was imported')\n")
    mine = pack(Fleet(tmp_path))
    assert mine.checks_sha256 != plain.checks_sha256
    assert mine.sha256 != plain.sha256
    assert mine.files["headway_checks/mine.py"].startswith(b"raise")
    (tmp_path / "checks/mine.py").write_text("# another\n")
    assert pack(Fleet(tmp_path)).checks_sha256 != mine.checks_sha256


def test_a_byte_anywhere_changes_the_name() -> None:
    """Neither moving a byte between files nor renaming one goes unseen."""
    packs = [
        Pack({"a": b"xy", "b": b"z"}),
        Pack({"a": b"x", "b": b"yz"}),
        Pack({"a": b"xy", "c": b"z"}),
        Pack({"ab": b"xyz"}),
    ]
    assert len({one.sha256 for one in packs}) == len(packs)


def test_the_runner_starts_from_its_folder_without_site(tmp_path: Path) -> None:
    """`python3 -I -S FOLDER` finds headway and headway_checks inside, and nothing of the host."""
    packed = pack(Fleet(tmp_path / "fleet"))
    opened(packed).extractall(tmp_path / "runner")
    probe = "import sys; sys.path.insert(0, sys.argv[1]); import headway.wire.talk, headway_checks"
    argv = [sys.executable, "-I", "-S", "-c", probe, str(tmp_path / "runner")]
    ran = subprocess.run(argv, env={**os.environ, "PYTHONPATH": "/nowhere"}, check=False)
    assert ran.returncode == 0
