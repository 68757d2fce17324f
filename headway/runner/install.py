"""What headway puts on a host at first contact beside its record: recovery at boot, a command.

They belong to no release: a host that came back after a power cut needs them with no controller.
"""

import os

from headway.runner import ballast, launch, systemd
from headway.runner.machine import Machine
from headway.runner.records import Records
from headway.wire.resources import unit_path

RECOVER = "headway-recover.service"
COMMAND = "/usr/local/sbin/headway-host"


def install(machine: Machine, records: Records, *, going_back: bool = False) -> None:
    """Have the record's folders, the ballast, the recovery unit and `headway-host` in place.

    Going back takes no ballast aboard: a full disk may be the reason for it.
    """
    records.prepare()
    if not going_back:
        ballast.put(machine.disk)
    launch.use(machine)
    if _put(machine, RECOVER, unit_path(RECOVER), 0o644):
        systemd.daemon_reload(machine.run)
        systemd.enable(machine.run, [RECOVER])
    machine.disk.mkdirs(os.path.dirname(COMMAND))
    _put(machine, "headway-host", COMMAND, 0o755)


def _put(machine: Machine, name: str, path: str, mode: int) -> bool:
    """Write a file that travelled with the runner, where it is not there as it should be."""
    with open(os.path.join(launch.runner_folder(), "host", name), "rb") as file:
        data = file.read()
    seen = machine.disk.seen(path)
    if seen is not None and seen.mode == mode and machine.disk.read(path) == data:
        return False
    machine.disk.write(path, data, mode, *machine.disk.me())
    return True
