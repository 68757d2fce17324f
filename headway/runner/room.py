"""Room on file systems: what would be written, added up, against what is free; bytes and inodes."""

import os
from dataclasses import dataclass
from typing import Dict, Iterable, Iterator, List, Mapping, Optional

from headway.runner.disk import Room
from headway.wire.marks import ROOT
from headway.wire.release import Part, Release
from headway.wire.resources import Image, LockedVenv, Service, Stack, Weights, blobs_of

HEADROOM_BYTES = 64 * 1024 * 1024  # records, logs and a failed release's snapshot
HEADROOM_INODES = 256
_BLOCK = 4096
_UNPACKED = 4  # a wheel, copied, unpacked and compiled, takes up to four times its size
_VENV_INODES = 5000


@dataclass(frozen=True)
class Need:
    """What is to be written at a path."""

    path: str
    size: int
    inodes: int = 1


def needs(
    release: Release,
    wrong: Iterable[object],
    come: Mapping[str, int] = {},
) -> Iterator[Need]:
    """Name what a release writes where: the resources that are not as wanted, and the record.

    `come` says by path how many bytes of weights are here already.
    """
    changing = list(wrong)
    yield Need(ROOT + "/", 0)
    for part in release.parts:
        yield from _part_needs(part, changing, come)


def shortage(wanted: Iterable[Need], rooms: Dict[str, Room]) -> Optional[str]:
    """Say which file system has too little room for all that goes there; None when all have.

    `rooms` has an entry for the path of every need.
    """
    by_device: Dict[int, List[Need]] = {}
    for need in wanted:
        by_device.setdefault(rooms[need.path].device, []).append(need)
    for group in by_device.values():
        room = rooms[group[0].path]
        folder = os.path.dirname(group[0].path)
        size = sum(need.size for need in group) + HEADROOM_BYTES
        inodes = sum(need.inodes for need in group) + HEADROOM_INODES
        if room.free_bytes < size:
            return f"{folder}: {_mib(room.free_bytes)} free on its file system, {_mib(size)} needed"
        if room.inodes is not None and room.inodes < inodes:
            return f"{folder}: {room.inodes} inodes free on its file system, {inodes} needed"
    return None


def _part_needs(part: Part, changing: List[object], come: Mapping[str, int]) -> Iterator[Need]:
    for resource in part.resources:
        if resource not in changing or isinstance(resource, (Image, Service, Stack)):
            continue
        blobs = blobs_of(resource)
        if isinstance(resource, LockedVenv):
            wheels = sum(wheel.blob.size for wheel in resource.wheels)
            yield Need(resource.path, wheels * _UNPACKED, _VENV_INODES)
            continue
        if isinstance(resource, Weights):
            size = sum(_blocks(file.size) for file in resource.files)
            left = max(0, size - come.get(resource.path, 0))
            yield Need(resource.path, left, 2 * len(resource.files))
            continue
        path = getattr(resource, "path", "/etc/systemd/system/x")
        yield Need(path, sum(_blocks(blob.size) for blob in blobs), 1 + len(blobs))


def _blocks(size: int) -> int:
    return -(-size // _BLOCK) * _BLOCK


def _mib(size: int) -> str:
    return f"{size // (1024 * 1024)} MiB"
