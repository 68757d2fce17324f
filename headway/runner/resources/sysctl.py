"""A kernel setting: the running value, and a file of its own that brings it back at boot."""

from typing import Optional, Tuple

from headway.runner.machine import Machine
from headway.runner.resources.error import ResourceError
from headway.runner.resources.place import before_of, in_the_way, make_way, relabel
from headway.wire.record import Absent, Before, WasSysctl
from headway.wire.resources import Sysctl, sysctl_path

NAME = "sysctl:"
_MODE = 0o644


def proc_path(key: str) -> str:
    """Say where the kernel shows a setting, by sysctl's own rule for keys.

    When a dot comes first, dots separate and a slash stands for a dot (an interface `eth0.100`
    is written `eth0/100`); when a slash comes first, the key is a path already.
    """
    first = next((letter for letter in key if letter in "./"), ".")
    path = key if first == "/" else key.translate(str.maketrans("./", "/."))
    return "/proc/sys/" + path


def diff(sysctl: Sysctl, machine: Machine) -> Optional[str]:
    """Say what is not as wanted: the running value first, then the file."""
    now = running(machine, sysctl.key)
    if now is None:
        return f"{sysctl.key} does not exist in this kernel"
    if now.split() != sysctl.value.split():
        return f"{sysctl.key} is {now}, not {sysctl.value}"
    path = sysctl_path(sysctl.key)
    seen = machine.disk.seen(path)
    if seen is None or seen.kind != "file" or machine.disk.read(path) != _line(sysctl):
        return f"{sysctl.key} is {now}, but {path} does not keep it over a reboot"
    if (seen.mode, seen.uid, seen.gid) != (_MODE, *machine.disk.me()):
        return f"{path} has another mode or owner than root's {_MODE:04o}"
    return None


def running(machine: Machine, key: str) -> Optional[str]:
    """Read the running value; None where this kernel has no such setting."""
    try:
        data = machine.disk.read(proc_path(key))
    except OSError:
        return None
    return None if data is None else " ".join(data.decode(errors="replace").split())


def text_now(sysctl: Sysctl, machine: Machine) -> Optional[str]:
    """Read the running value."""
    return running(machine, sysctl.key)


def refusal(sysctl: Sysctl, machine: Machine) -> Optional[str]:
    """Say why it cannot be applied here."""
    if running(machine, sysctl.key) is None:
        return f"{sysctl.key} does not exist in this kernel; a module it belongs to is not loaded"
    return in_the_way(machine, sysctl_path(sysctl.key)) or None


def apply(sysctl: Sysctl, machine: Machine) -> None:
    """Set the running value, then write the file: a value the kernel refuses is never kept."""
    if running(machine, sysctl.key) is None:
        raise ResourceError(f"{sysctl.key} does not exist in this kernel; load its module first")
    _set(machine, sysctl.key, sysctl.value)
    path = sysctl_path(sysctl.key)
    make_way(machine, path)
    machine.disk.write(path, _line(sysctl), _MODE, *machine.disk.me())
    relabel(machine, path)


def before(sysctl: Sysctl, machine: Machine) -> Tuple[Before, ...]:
    """Record the running value and what lies at the file's path."""
    now = running(machine, sysctl.key)
    was = Absent() if now is None else WasSysctl(now)
    return (Before(NAME + sysctl.key, was), *before_of(machine, sysctl_path(sysctl.key)))


def put_back(machine: Machine, key: str, state: WasSysctl) -> None:
    """Set the running value that was recorded."""
    if running(machine, key) != state.value:
        _set(machine, key, state.value)


def remove(sysctl: Sysctl, machine: Machine) -> None:
    """Remove the file; the running value stays until a before-image or a reboot sets another."""
    machine.disk.remove(sysctl_path(sysctl.key))


def _set(machine: Machine, key: str, value: str) -> None:
    try:
        machine.disk.poke(proc_path(key), value.encode() + b"\n")
    except OSError as error:
        why = (error.strerror or "refused").lower()
        raise ResourceError(f"{key}: the kernel does not take {value!r}: {why}") from None


def _line(sysctl: Sysctl) -> bytes:
    return f"{sysctl.key} = {sysctl.value}\n".encode()
