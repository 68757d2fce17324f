"""What Compose is given for a project, as a record on the host: its files are resources beside it.

`headway-host compose PROJECT` and every step of a transition go by this record alone.
"""

from typing import Optional, Tuple

from headway.runner.containers import compose
from headway.runner.machine import Machine
from headway.runner.resources.place import before_of
from headway.wire.record import Before
from headway.wire.resources import Stack


def diff(stack: Stack, machine: Machine) -> Optional[str]:
    """Say that something else is recorded for the project."""
    now = compose.recorded(machine.disk, stack.project)
    if now == stack:
        return None
    return f"stack {stack.project}: " + ("is not recorded" if now is None else _other(stack, now))


def text_now(stack: Stack, machine: Machine) -> Optional[str]:
    """Give what is recorded now."""
    now = machine.disk.read(compose.path(stack.project))
    return None if now is None else now.decode(errors="replace")


def refusal(stack: Stack, machine: Machine) -> Optional[str]:
    """Say nothing: the record lies in headway's own folder."""
    del stack, machine
    return None


def apply(stack: Stack, machine: Machine) -> None:
    """Record what Compose is given from now on."""
    machine.disk.mkdirs(compose.FOLDER, 0o700)
    path, text = compose.path(stack.project), compose.record_text(stack)
    machine.disk.write(path, text, 0o600, *machine.disk.me())


def before(stack: Stack, machine: Machine) -> Tuple[Before, ...]:
    """Record what Compose was given before."""
    return before_of(machine, compose.path(stack.project))


def remove(stack: Stack, machine: Machine) -> None:
    """Forget the project; its containers are services of their own."""
    machine.disk.remove(compose.path(stack.project))


def _other(stack: Stack, now: Stack) -> str:
    names = ("directory", "files", "env_file", "profiles", "owns", "reads")
    differing = [name for name in names if getattr(stack, name) != getattr(now, name)]
    return "what is recorded differs in " + ", ".join(differing)
