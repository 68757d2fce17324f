"""An image that is here, by content, and kept by a tag of headway's own.

Pulled with Docker's own credentials, always by digest: a tag may have been moved since it was
pinned. One that no registry has cannot be pulled; it was streamed here, or it is missing.
"""

from typing import Optional

from headway.runner.containers import docker
from headway.runner.containers.docker import DockerError
from headway.runner.machine import Machine
from headway.runner.resources.error import ResourceError
from headway.runner.room import Need
from headway.wire.resources import Image, Pin

KEEP = "headway-keep"
PULL_S = 3600  # prefetch's deadline in DESIGN 4
_UNPACKED = 3  # a layer lies there compressed while it is unpacked to about twice its size
_BYTES_A_FILE = 50_000  # compressed; images of Python and CUDA have fewer files than that


def diff(image: Image, machine: Machine) -> Optional[str]:
    """Say that it is missing, or kept by no tag."""
    pin = image.pin
    try:
        seen = docker.image(machine.disk, pin.name())
    except DockerError as error:
        return f"image {pin.ref}: {error}"
    if seen is None:
        return f"image {pin.ref} ({pin.name()}) is not on this host"
    return None if keep_tag(pin) in seen.tags else f"image {pin.ref} is kept by no tag"


def text_now(image: Image, machine: Machine) -> Optional[str]:
    """Name the image that its tag leads to now; None where there is none."""
    try:
        seen = docker.image(machine.disk, image.pin.ref)
    except DockerError:
        return None
    return None if seen is None else f"{image.pin.ref} is {seen.id}\n"


def refusal(image: Image, machine: Machine) -> Optional[str]:
    """Say that it is missing and no registry is known to have it."""
    pin = image.pin
    try:
        if pin.digest or docker.image(machine.disk, pin.name()) is not None:
            return None
    except DockerError as error:
        return f"image {pin.ref}: {error}"
    return (
        f"image {pin.ref} ({pin.name()}) is not on this host, and no registry has it; "
        f"`docker load` it here, or say where it comes from (docs/stacks.md, images_from)"
    )


def apply(image: Image, machine: Machine) -> None:
    """Pull it by digest where it is missing, and tag it as kept."""
    pin = image.pin
    try:
        if docker.image(machine.disk, pin.name()) is None:
            platform = ["--platform", pin.platform] if pin.platform else []
            words = ["pull", "--quiet", *platform, pin.name()]
            docker.command(machine.run, words, f"{pin.ref} was not pulled", PULL_S)
        _right_platform(pin, machine)
        docker.command(machine.run, ["tag", pin.name(), keep_tag(pin)], f"{pin.ref} was not kept")
    except DockerError as error:
        raise ResourceError(str(error)) from None


def need(image: Image, machine: Machine) -> Optional[Need]:
    """Say what room a pull takes in Docker's folder; None where it is here or nobody knows."""
    pin = image.pin
    if not pin.size or docker.image(machine.disk, pin.name()) is not None:
        return None
    folder = str(docker.info(machine.disk).get("DockerRootDir") or "/var/lib/docker")
    return Need(folder + "/", pin.size * _UNPACKED, pin.size // _BYTES_A_FILE)


def keep_tag(pin: Pin) -> str:
    """Name the tag that keeps an image while a kept release names it."""
    return f"{KEEP}:{(pin.digest or pin.image_id).rpartition(':')[2][:16]}"


def _right_platform(pin: Pin, machine: Machine) -> None:
    seen, host = docker.image(machine.disk, pin.name()), docker.info(machine.disk)
    here = f"{host.get('OSType', '')}/{_ARCHITECTURES.get(host.get('Architecture', ''), '')}"
    if seen is not None and not here.endswith("/") and seen.platform != here:
        raise DockerError(f"{pin.ref} is for {seen.platform}, this host is {here}")


_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
"""What `uname -m` says against what images call it (OCI image spec)."""
