"""The guard: nothing unproven starts by itself, not after a crash and not after a power cut.

A drop-in on every unit of the changed parts during a transition: Restart=no, and a condition on
a token under /run, which is gone after a boot (DESIGN 1; tried in LAB.md). `put` and `off` only
write: the transition reloads systemd afterwards. The guard of a container is its restart policy,
"no" until the transition is decided (containers/guarding.py).
"""

from typing import Iterable, List

from headway.runner import supervisor
from headway.runner.disk import Disk
from headway.runner.machine import Machine
from headway.wire.marks import RUN
from headway.wire.resources import dropin_path, unit_path

NAME = "zz-headway-guard.conf"  # drop-ins count in order of their names: this one comes last
_UNITS = "/etc/systemd/system"


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
    names = tuple(units)
    if supervisor.containers(names):
        from headway.runner.containers import guarding  # where there are some

        guarding.put(machine, supervisor.containers(names))
    for unit in supervisor.units(names):
        path = dropin_path(unit, NAME)
        wanted = _text(unit, transition)
        if machine.disk.read(path) != wanted:
            machine.disk.mkdirs(unit_path(unit) + ".d")
            machine.disk.write(path, wanted, 0o644, *machine.disk.me())


def off(machine: Machine, units: Iterable[str]) -> None:
    """Take the guard off these units, and its folder when nothing else lies there.

    An empty folder of drop-ins says nothing to systemd: a cut may have left it, or a unit that
    had drop-ins before.
    """
    names = tuple(units)
    if supervisor.containers(names):
        from headway.runner.containers import guarding  # where there are some

        guarding.off(machine, supervisor.containers(names))
    for unit in supervisor.units(names):
        machine.disk.remove(dropin_path(unit, NAME))
        machine.disk.rmdir(unit_path(unit) + ".d")


def guarded(machine: Machine) -> List[str]:
    """Name the units that carry a guard now."""
    return [name[:-2] for name in machine.disk.names(_UNITS) if _has_guard(machine.disk, name)]


def _has_guard(disk: Disk, name: str) -> bool:
    return name.endswith(".d") and disk.seen(f"{_UNITS}/{name}/{NAME}") is not None


def _text(unit: str, transition: str) -> bytes:
    lines = [
        f"# headway guards this unit while transition {transition} is not decided.",
        "[Unit]",
        f"ConditionPathExists={token(transition)}",
        *(["[Service]", "Restart=no"] if unit.endswith(".service") else []),
    ]
    return ("\n".join(lines) + "\n").encode()
