"""Whoever starts, stops and knows the launches of a name: systemd of a unit, Docker of a container.

The name of a service's container is PROJECT/SERVICE. What speaks with Docker is loaded where such
a name comes up.
"""

from types import ModuleType
from typing import Iterable, Optional, Tuple

from headway.runner import subject, systemd
from headway.runner.machine import Machine
from headway.wire.gate import Subject
from headway.wire.resources import is_container
from headway.wire.verdict import Fate


def current(machine: Machine, name: str) -> Optional[Subject]:
    """Look at the present launch; None where it is not up."""
    if is_container(name):
        found: Optional[Subject] = _containers().current(machine, name)
        return found
    return subject.current(machine.run, name)


def fate(before: Subject, machine: Machine) -> Tuple[Fate, Optional[Subject], str]:
    """Say what became of a launch, who is there now, and how it ended in a few words."""
    if is_container(before.unit):
        found: Tuple[Fate, Optional[Subject], str] = _containers().fate(before, machine)
        return found
    return subject.fate(before, machine.run)


def absent(name: str, machine: Machine) -> Tuple[Fate, Optional[Subject], str]:
    """Say how the last launch of what is not up ended, and which one that was."""
    if is_container(name):
        found: Tuple[Fate, Optional[Subject], str] = _containers().absent(name, machine)
        return found
    return subject.absent(name, machine.run)


def start(machine: Machine, name: str, deadline_s: int) -> None:
    """Start it and wait until it is started, or raise SupervisorError."""
    if is_container(name):
        _containers().start(machine, name, deadline_s)
    else:
        systemd.reset_failed(machine.run, name)
        systemd.start(machine.run, name, deadline_s)


def stop(machine: Machine, name: str, deadline_s: int) -> str:
    """Stop it and see that it is down; says "stopped", "killed" or "was down"."""
    if is_container(name):
        how: str = _containers().stop(machine, name, deadline_s)
        return how
    return systemd.stop(machine.run, name, deadline_s)


def answers(machine: Machine, names: Iterable[str]) -> None:
    """See that whoever starts and stops these answers, or raise SupervisorError.

    systemd always does; Docker may be on its way up again.
    """
    if containers(names):
        _containers().answers(machine)


def units(names: Iterable[str]) -> Tuple[str, ...]:
    """Pick the names that are systemd's."""
    return tuple(name for name in names if not is_container(name))


def containers(names: Iterable[str]) -> Tuple[str, ...]:
    """Pick the names that are Docker's."""
    return tuple(name for name in names if is_container(name))


def _containers() -> ModuleType:
    from headway.runner.containers import launches

    return launches
