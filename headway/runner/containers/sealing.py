"""What a look at containers depended on, as files of Docker's own that change with it.

Docker writes a container's state and its host settings to disk whenever they change, and its table
of image names: as long as those files are what they were, Docker would say the same, and Compose's
hashes are the same as long as its files and its program are. Docker with another store of images
(containerd's) has no such table: there a host is looked at in full each time.
"""

from typing import Iterator

from headway.runner.containers import docker, record
from headway.runner.containers.docker import DockerError
from headway.runner.seal import Witness
from headway.wire.release import Release
from headway.wire.resources import Image, Service, container_name

_PROGRAMS = tuple(
    folder + "/cli-plugins/docker-compose"
    for folder in (
        "/root/.docker",
        "/usr/local/lib/docker",
        "/usr/local/libexec/docker",
        "/usr/lib/docker",
        "/usr/libexec/docker",
    )
)
"""Where Docker's program looks for Compose, in its order (cli-plugins/manager)."""


def note(witness: Witness, release: Release) -> None:
    """Note what the look that follows depends on, and which containers can be sealed by it."""
    try:
        said = docker.info(witness)
        root = str(said.get("DockerRootDir") or "/var/lib/docker")
        images = f"{root}/image/{said.get('Driver', '')}"
        if witness.seen(f"{images}/repositories.json") is None:
            return
        for path in (root + "/containers", *_PROGRAMS, *_images(witness, images, release)):
            witness.note(path)
    except DockerError:
        return
    for part in release.parts:
        for one in (each for each in part.resources if isinstance(each, Service)):
            name = container_name(one.project, one.service)
            made = record.read(witness, name)
            folder = f"{root}/containers/{made.id}" if made is not None and made.id else ""
            if folder and witness.seen(folder + "/config.v2.json") is not None:
                witness.note(folder + "/hostconfig.json")
                witness.launches.add(name)


def _images(witness: Witness, images: str, release: Release) -> Iterator[str]:
    pins = {one.pin for p in release.parts for one in p.resources if isinstance(one, Image)}
    for pin in sorted(pins, key=lambda one: one.name()):
        seen = docker.image(witness, pin.name())
        if seen is not None:
            yield f"{images}/imagedb/content/sha256/{seen.id.rpartition(':')[2]}"
