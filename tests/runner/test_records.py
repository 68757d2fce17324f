"""A record that is damaged is refused in a line that says which file, and what to do."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from headway.runner.blobs import Blobs
from headway.runner.disk import Disk
from headway.runner.records import RecordError, Records
from headway.wire.record import SCHEMA, State
from headway.wire.release import Part, Release, release_of
from headway.wire.resources import Blob, File

MEND = "put it back from a backup, or move it away and `invoke adopt` what runs"


@pytest.fixture
def records(tmp_path: Path) -> Records:
    """Give an empty record below a folder."""
    made = Records(Disk(str(tmp_path)))
    made.prepare()
    return made


def _release(blob: Blob) -> Release:
    return release_of((Part("web", "service", (File("/etc/web", blob, 0o600),)),))


def test_a_state_of_a_newer_headway_is_left_alone(records: Records, tmp_path: Path) -> None:
    """What it means is not known here: to rewrite it would lose what the newer one wrote."""
    records.save(replace(State(), schema=SCHEMA + 1))
    with pytest.raises(RecordError, match=r"written by a newer headway .*; use that one"):
        records.state()
    kept = json.loads((tmp_path / "var/lib/headway/state.json").read_text())
    assert kept["schema"] == SCHEMA + 1


def test_a_release_that_was_edited_is_refused(records: Records, tmp_path: Path) -> None:
    """Its name is its hash."""
    release = _release(Blob("0" * 64, 1))
    records.keep_release(release)
    path = tmp_path / f"var/lib/headway/releases/{release.id}.json"
    path.write_text(path.read_text().replace("/etc/web", "/etc/wex"))
    with pytest.raises(RecordError, match="no longer hashes to its name") as raised:
        records.release(release.id)
    assert str(raised.value).endswith(MEND)


@pytest.mark.parametrize("damage", [lambda path: path.unlink(), lambda path: path.write_text("x")])
def test_a_blob_that_is_not_itself_is_refused(
    records: Records, tmp_path: Path, damage: Callable[[Path], object]
) -> None:
    """A way back that would write other bytes is no way back."""
    blobs = Blobs(records.disk)
    sha256 = blobs.put(b"a secret")
    release = _release(Blob(sha256, 8))
    records.keep_release(release)
    damage(tmp_path / blobs.path(sha256).lstrip("/"))
    with pytest.raises(RecordError, match=f"blob {sha256[:12]} of release") as raised:
        records.whole_release(release.id, blobs)
    assert str(raised.value).endswith(MEND)
