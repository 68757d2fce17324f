"""On a full disk the ballast is given up so that a transition can be brought to its end."""

import errno
from pathlib import Path

import pytest

from headway.runner import ballast
from headway.runner.disk import Disk, Room
from headway.runner.records import Records
from headway.wire.phase import Phase
from headway.wire.record import State


class FullDisk(Disk):
    """A disk double without room, but for what the ballast takes."""

    def room(self, path: str) -> Room:
        """Say that nothing is left, or the ballast's room where it is gone."""
        free = 0 if self.seen(ballast.PATH) else ballast.SIZE - 1
        return Room(super().room(path).device, free, None)

    def write(self, path: str, data: bytes, mode: int = 0o600, uid: int = 0, gid: int = 0) -> None:
        """Fail while there is no room."""
        if not self.room(path).free_bytes:
            raise OSError(errno.ENOSPC, "No space left on device", path)
        super().write(path, data, mode, uid, gid)


@pytest.fixture
def disk(tmp_path: Path) -> FullDisk:
    """Give a full disk with a record's folders and ballast."""
    disk = FullDisk(str(tmp_path))
    Records(disk).prepare()
    (tmp_path / ballast.PATH[1:]).write_bytes(b"")
    return disk


def test_the_holder_of_a_transition_writes_its_state_all_the_same(disk: FullDisk) -> None:
    """Else it could not even write down that it goes back."""
    records = Records(disk, lambda: ballast.drop_if_full(disk))
    records.save(State(phase=Phase.RETURNING))
    assert records.state().phase is Phase.RETURNING
    assert disk.seen(ballast.PATH) is None


def test_nobody_else_takes_it(disk: FullDisk) -> None:
    """A rollout that has not begun ends on a full disk; there is nothing to go back from."""
    with pytest.raises(OSError, match="No space left"):
        Records(disk).save(State(phase=Phase.OPEN))
    assert disk.seen(ballast.PATH) is not None


def test_it_is_kept_where_there_is_room(tmp_path: Path) -> None:
    """What fails for another reason is no reason to give it up."""
    disk = Disk(str(tmp_path))
    Records(disk).prepare()
    (tmp_path / ballast.PATH[1:]).write_bytes(b"")
    assert not ballast.drop_if_full(disk)
    assert disk.seen(ballast.PATH) is not None
