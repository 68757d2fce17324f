"""What headway knows of the containers it made: which one, its restart policy, whether guarded.

    /var/lib/headway/containers/PROJECT.SERVICE.json

A guarded container starts at no boot and after no crash: its policy is "no" until the transition
is decided. The file's own policy is kept here meanwhile, so that Compose finds nothing to recreate.
"""

from dataclasses import dataclass
from typing import Optional

from headway.runner.disk import Disk
from headway.wire.loader import WireError, dumps, loads
from headway.wire.marks import ROOT

FOLDER = ROOT + "/containers"


@dataclass(frozen=True)
class Made:
    """A service's container: its full id ("" before there is one) and the operator's policy."""

    id: str = ""
    policy: str = "no"
    guarded: bool = False


def path(name: str) -> str:
    """Say where the record of PROJECT/SERVICE lies."""
    return f"{FOLDER}/{name.replace('/', '.')}.json"


def read(disk: Disk, name: str) -> Optional[Made]:
    """Read it; None where headway made no container for this service."""
    data = disk.read(path(name))
    try:
        return loads(Made, data) if data else None
    except WireError:
        return None


def write(disk: Disk, name: str, made: Made) -> None:
    """Replace it, whole or not at all."""
    disk.mkdirs(FOLDER, 0o700)
    disk.write(path(name), dumps(made).encode() + b"\n", 0o600, *disk.me())


def drop(disk: Disk, name: str) -> None:
    """Forget it."""
    disk.remove(path(name))
