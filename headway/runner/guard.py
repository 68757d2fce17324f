"""The guard: nothing unproven starts by itself, not after a crash and not after a power cut.

A drop-in on every unit of the changed parts during a transition: Restart=no, and a condition on
a token under /run, which is gone after a boot (DESIGN 1; tried in LAB.md). `put` and `off` only
write: the transition reloads systemd afterwards.
"""

from typing import Iterable, List, Optional

from headway.runner.disk import Disk
from headway.runner.machine import Machine
from headway.wire.marks import RUN
from headway.wire.resources import dropin_path, unit_path

NAME = "zz-headway-guard.conf"  # drop-ins count in order of their names: this one comes last
_UNITS = "/etc/systemd/system"
_OURS = "# headway made this folder for the guard"


def token(transition: str) -> str:
    """Say which file lets the guarded units of a transition start."""
    return f"{RUN}/{transition}"


def token_on(machine: Machine, transition: str) -> None:
    """Let guarded units start, until the next boot or `token_off`."""
    machine.disk.mkdirs(RUN)
    machine.disk.write(token(transition), b"", 0o644, *machine.disk.me())


def token_off(machine: Machine, transition: str) -> None:
    """Let no guarded unit start any more."""
    machine.disk.remove(token(transition))


def put(machine: Machine, transition: str, units: Iterable[str]) -> None:
    """Guard these units, whether they exist already or not; a guard of another transition goes."""
    for unit in units:
        folder = unit_path(unit) + ".d"
        path = dropin_path(unit, NAME)
        old = machine.disk.read(path)
        made = machine.disk.mkdirs(folder)
        ours = bool(made) or _made_folder(old) or not machine.disk.names(folder)
        wanted = _text(unit, transition, ours=ours)
        if old != wanted:
            machine.disk.write(path, wanted, 0o644, *machine.disk.me())


def off(machine: Machine, units: Iterable[str]) -> None:
    """Take the guard off these units; a folder that was made for it goes when it is empty.

    A cut can fall between the folder and the guard: an empty folder without a guard goes, too.
    """
    for unit in units:
        path = dropin_path(unit, NAME)
        old = machine.disk.read(path)
        if old is not None:
            machine.disk.remove(path)
        if old is None or _made_folder(old):
            machine.disk.rmdir(unit_path(unit) + ".d")


def guarded(machine: Machine) -> List[str]:
    """Name the units that carry a guard now."""
    return [name[:-2] for name in machine.disk.names(_UNITS) if _has_guard(machine.disk, name)]


def _has_guard(disk: Disk, name: str) -> bool:
    return name.endswith(".d") and disk.seen(f"{_UNITS}/{name}/{NAME}") is not None


def _text(unit: str, transition: str, *, ours: bool) -> bytes:
    lines = [
        f"# headway guards this unit while transition {transition} is not decided.",
        *([_OURS] if ours else []),
        "[Unit]",
        f"ConditionPathExists={token(transition)}",
        *(["[Service]", "Restart=no"] if unit.endswith(".service") else []),
    ]
    return ("\n".join(lines) + "\n").encode()


def _made_folder(text: Optional[bytes]) -> bool:
    return text is not None and _OURS.encode() in text
