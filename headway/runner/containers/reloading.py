"""daemon-reload beside containers that hold cards: who could reach them before and cannot after.

systemd writes device rules anew that it did not make, and a running container loses its cards
("Failed to initialize NVML: Unknown Error"; NVIDIA/nvidia-container-toolkit#48, #1227, #251).
"""

from typing import Tuple

from headway.runner.containers import docker
from headway.runner.containers.docker import DockerError
from headway.runner.machine import Machine

_PROBE_S = 10


def reaching(machine: Machine) -> Tuple[str, ...]:
    """Name the running containers that hold cards and reach them now."""
    try:
        names = docker.with_cards(machine.disk)
    except DockerError:
        return ()  # no Docker runs here: nobody can be cut off
    return tuple(name for name in names if _reaches(machine, name))


def cut_off(machine: Machine, before: Tuple[str, ...]) -> Tuple[str, ...]:
    """Say of each container that reached its cards before and does not now what to do."""
    return tuple(
        f"daemon-reload cut container {name} off its cards (`docker exec {name} nvidia-smi -L`); "
        f"`docker restart {name}` gives them back, CDI or /dev/char links keep them"
        for name in before
        if not _reaches(machine, name)
    )


def _reaches(machine: Machine, name: str) -> bool:
    ran = machine.run(["docker", "exec", name, "nvidia-smi", "-L"], deadline_s=_PROBE_S)
    return ran.code == 0
