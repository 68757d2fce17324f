"""Images that are kept by a tag of headway's own, and which of them no kept release names.

A tag falls off by itself only where the image has another one, of somebody else. Without it nobody
would know any more that headway brought the image here: that is `prune`'s to delete, told before.
"""

from dataclasses import dataclass
from typing import Iterable, Iterator, Set, Tuple

from headway.runner.containers import docker
from headway.runner.containers.docker import DockerError
from headway.runner.machine import Machine
from headway.runner.resources.image import KEEP, keep_tag
from headway.wire.release import Release
from headway.wire.resources import Image

_RM_S = 120


@dataclass(frozen=True)
class Kept:
    """A tag of headway's that no kept release needs; `names` are all names its image has."""

    tag: str
    names: Tuple[str, ...]
    size: int

    def is_last(self) -> bool:
        """Say whether nobody else has a tag on the image: it goes with this one."""
        return all(name == self.tag or "@" in name for name in self.names)


def unnamed(machine: Machine, releases: Iterable[Release]) -> Tuple[Kept, ...]:
    """Name the tags that none of these releases needs; () where no Docker answers."""
    wanted = _wanted(releases)
    try:
        rows = docker.images(machine.disk)
    except DockerError:
        return ()
    found = []
    for row in rows:
        digests = [name for name in row.get("RepoDigests") or () if "<none>" not in name]
        names = (*(row.get("RepoTags") or ()), *digests)
        mine = [name for name in names if name.startswith(KEEP + ":") and name not in wanted]
        found += [Kept(tag, names, int(row.get("Size") or 0)) for tag in mine]
    return tuple(found)


def let_go(machine: Machine, releases: Iterable[Release]) -> None:
    """Take the tags off that nobody needs, from images that somebody else has tagged, too."""
    for kept in unnamed(machine, releases):
        if not kept.is_last():
            machine.run(["docker", "image", "rm", kept.tag], deadline_s=_RM_S)


def delete(machine: Machine, kept: Kept) -> None:
    """Take an image's tag off, and the image with it, or raise DockerError.

    All names go that are its digest's: nothing but headway pulled it under those.
    """
    for name in _deleted(kept):
        docker.command(machine.run, ["image", "rm", name], f"{name} was not deleted", _RM_S)


def _deleted(kept: Kept) -> Iterator[str]:
    yield kept.tag
    if kept.is_last():
        yield from (name for name in kept.names if "@" in name)


def _wanted(releases: Iterable[Release]) -> Set[str]:
    return {
        keep_tag(one.pin)
        for release in releases
        for part in release.parts
        for one in part.resources
        if isinstance(one, Image)
    }
