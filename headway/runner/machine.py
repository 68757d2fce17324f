"""What the runner works on: a disk, a way to run commands, and the blobs. Tests bring their own."""

from dataclasses import dataclass

from headway.runner.blobs import Blobs
from headway.runner.disk import Disk
from headway.wire.tools import Run


@dataclass(frozen=True)
class Machine:
    """The three seams between the runner and the host."""

    disk: Disk
    run: Run
    blobs: Blobs


def machine_of(disk: Disk, run: Run) -> Machine:
    """Put a machine together from its disk and its way to run commands."""
    return Machine(disk, run, Blobs(disk))
