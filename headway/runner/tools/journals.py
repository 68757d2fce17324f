"""The lines of one launch, wherever its kind of subject writes them: the journal, Docker's log."""

from typing import Optional

from headway.runner.machine import Machine
from headway.runner.tools.journal import RealJournals
from headway.wire.gate import Subject
from headway.wire.resources import is_container
from headway.wire.tools import Journal, Journals


def journals_of(machine: Machine) -> Journals:
    """Give what reads the lines of any launch on this machine."""
    return _Either(machine)


class _Either:
    """Asks the journal for a unit's lines and Docker for a container's."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._units = RealJournals(machine.run)
        self._containers: Optional[Journals] = None

    def of(self, subject: Subject) -> Journal:
        """Read every line of this launch and say whether the record is whole."""
        if not is_container(subject.unit):
            return self._units.of(subject)
        if self._containers is None:
            from headway.runner.containers.logs import ContainerLogs

            self._containers = ContainerLogs(self._machine)
        return self._containers.of(subject)
