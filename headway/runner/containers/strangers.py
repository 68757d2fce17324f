"""Containers of a project that no file of it knows: somebody added a service by hand.

Nothing of the release is wrong with that, so nothing is repaired; `docker compose down` or
`up --remove-orphans` by hand would take them along, and they may hold cards or ports.
"""

from typing import Iterator

from headway.runner.containers import compose, docker
from headway.runner.machine import Machine
from headway.wire.resources import Stack, container_name


def strangers(machine: Machine, stack: Stack) -> Iterator[str]:
    """Say of each such container whose it is not; DockerError where nobody answers."""
    if compose.recorded(machine.disk, stack.project) != stack:
        return
    known = compose.hashes(machine, stack)
    for service, container in docker.services(machine.disk, stack.project):
        if service not in known:
            name = container_name(stack.project, service)
            yield (
                f"{name}: container {container[:12]} is of no service in "
                f"{', '.join(stack.files)}; somebody added it (`docker rm -f {container[:12]}`)"
            )
