"""The parts of the runner that travel apart: what is here, what is not, and how it is unpacked."""

import functools
import os
import shutil
import sys
from typing import Dict, NoReturn, Optional

from headway.runner.disk import Disk
from headway.runner.launch import runner_folder
from headway.wire.loader import load, parse
from headway.wire.marks import RUN
from headway.wire.resources import Blob
from headway.wire.satchels import FILE

_DRIVER = (
    "/dev/nvidiactl",
    "/proc/driver/nvidia",
    *(f"/usr/lib/{arch}-linux-gnu/libnvidia-ml.so.1" for arch in ("x86_64", "aarch64")),
    "/usr/lib64/libnvidia-ml.so.1",
)


@functools.cache
def _known() -> Dict[str, Blob]:
    with open(os.path.join(runner_folder(), FILE), "rb") as file:
        return load(Dict[str, Blob], parse(file.read()), (FILE,))


def lacking(name: str) -> Optional[Blob]:
    """Give what a satchel is sent as where it is not here yet; None where it is."""
    return None if os.path.exists(_mark(name)) else _known()[name]


def has_cards(disk: Disk) -> bool:
    """Say whether this machine shows an NVIDIA driver, or any part of one that is broken."""
    return any(disk.seen(path) is not None for path in _DRIVER)


def may_share_cards(disk: Disk) -> bool:
    """Say whether containers may hold cards here, which a daemon-reload may cut them off."""
    return has_cards(disk) and disk.seen("/run/docker.sock") is not None


def unpack(name: str, data: bytes) -> None:
    """Put a satchel's files beside the runner's own: whole folders first, the mark last.

    Cut in the middle, it is unpacked again; what is there already has the same bytes.
    """
    import bz2  # once a host: zipfile is a tenth of what every other order would load
    import io
    import zipfile

    folder = runner_folder()
    new = f"{folder}/.{name}-{os.getpid()}"
    try:
        with zipfile.ZipFile(io.BytesIO(bz2.decompress(data))) as archive:
            archive.extractall(new)
            for path in archive.namelist():
                os.makedirs(os.path.dirname(f"{folder}/{path}"), mode=0o700, exist_ok=True)
                _sync(f"{new}/{path}")
                os.replace(f"{new}/{path}", f"{folder}/{path}")
        with open(_mark(name), "wb") as file:
            os.fsync(file.fileno())
        _sync(folder)
    finally:
        shutil.rmtree(new, ignore_errors=True)


def go_on_from_memory() -> NoReturn:
    """Become a copy of this runner under /run: its own folder takes nothing more.

    It says hello again and is given its order again. OSError: there is no room in memory either.
    """
    folder = runner_folder()
    place = f"{RUN}/runner/{os.path.basename(folder)}"
    if folder == place:
        raise OSError(f"{place} takes nothing more either")
    if not os.path.exists(place + "/__main__.py"):
        new = f"{place}-{os.getpid()}"
        os.makedirs(os.path.dirname(new), mode=0o700, exist_ok=True)
        shutil.copytree(folder, new, ignore=shutil.ignore_patterns("__pycache__", ".*"))
        os.rename(new, place)
    argv = [sys.executable, "-I", "-S", place + "/__main__.py", "serve"]
    os.execv(argv[0], argv)  # noqa: S606 # it becomes the copy


def _mark(name: str) -> str:
    return f"{runner_folder()}/satchel-{name}"


def _sync(path: str) -> None:
    fd = os.open(path, os.O_RDONLY)
    os.fsync(fd)
    os.close(fd)
