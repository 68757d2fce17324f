"""Docker's own proxy listens for a container whose ports are published: which one that is."""

from typing import Sequence

from headway.runner.containers import docker
from headway.runner.containers.docker import DockerError
from headway.runner.disk import Disk

_ADDRESS = b"-container-ip"


def pid_behind(root: str, words: Sequence[bytes]) -> int:
    """Give the main process of the container that a proxy forwards to; 0 where nobody knows."""
    if _ADDRESS not in words[:-1]:
        return 0
    address = words[words.index(_ADDRESS) + 1].decode(errors="replace")
    try:
        return docker.pid_at(Disk(root), address)
    except DockerError:
        return 0
