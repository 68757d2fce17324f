"""A transition that does not start says why in one line."""

from pathlib import Path

import pytest

from headway.runner import launch
from headway.runner.disk import Disk
from headway.runner.machine import machine_of
from headway.runner.records import Records
from headway.runner.systemd import SystemdError
from tests.runner.resources.scripted import Scripted


def test_a_runner_that_ends_at_once_is_quoted(tmp_path: Path) -> None:
    """A runner that could not even be imported was told as `systemd-run ended with code 1`.

    systemd-run is quiet about a unit that failed; the reason lies in the runner's own log.
    """
    disk = Disk(str(tmp_path), "t1")
    machine = machine_of(disk, Scripted({"systemd-run": (1, "", "")}))
    records = Records(disk)
    disk.mkdirs(records.folder("t1"))
    disk.write(
        records.folder("t1") + "/runner.log",
        b"  File ...\nImportError: no ROOT\n",
        0o600,
        *disk.me(),
    )

    with pytest.raises(SystemdError, match=r"could not be started: ImportError: no ROOT$"):
        launch.launch(machine, records, "t1")
