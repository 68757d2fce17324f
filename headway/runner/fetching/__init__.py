"""Fetches weights over HTTP: file after file, each hashed before it gets its name.

Travels apart, with the releases that have weights to fetch.
"""

import hashlib
import os
import time
from typing import Callable, Dict

from headway.runner.fetching.download import Download, FetchError
from headway.runner.fetching.pace import Pace
from headway.runner.machine import Machine
from headway.runner.resources.error import ResourceError
from headway.runner.resources.weights import (
    COMING,
    MANIFEST,
    Delivery,
    alone,
    come,
    note,
    partial_of,
)
from headway.wire.loader import dumps
from headway.wire.resources import Weights, WeightsFile

_READ = 1 << 20
MODE = 0o444


def fetch(
    wanted: Weights,
    machine: Machine,
    delivery: Delivery,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Fetch what is not here yet, and give the whole its name in one step; or ResourceError."""
    folder = partial_of(wanted.path)
    machine.disk.mkdirs(os.path.dirname(wanted.path))
    note(machine, wanted.path)
    machine.disk.mkdirs(folder)
    with alone(machine, folder):
        if machine.disk.seen(wanted.path) is not None:
            return  # another order made it meanwhile
        total = sum(file.size for file in wanted.files)
        pace = Pace(delivery, total, come(wanted, machine), sleep)
        download = Download(delivery.how, _token(machine, delivery), pace)
        for file in wanted.files:
            if machine.disk.seen(f"{folder}/{file.name}") is None:
                _fetch(machine, folder, file, download)
        _finish(wanted, machine, folder)


def _fetch(machine: Machine, folder: str, file: WeightsFile, download: Download) -> None:
    path = f"{folder}/{file.name}"
    machine.disk.mkdirs(os.path.dirname(path))
    real = machine.disk.real(path)
    try:
        download.fill(file.name, real + COMING, file.size)
    except FetchError as error:
        raise ResourceError(f"{download.url(file.name)}: {error}") from None
    now = _hash(real + COMING, file)
    if now != (file.sha256 or file.blob_id):
        os.unlink(real + COMING)
        raise ResourceError(
            f"{download.url(file.name)}: what came hashes to {now[:12]}, and "
            f"{(file.sha256 or file.blob_id)[:12]} is pinned; it was thrown away"
        )
    os.chmod(real + COMING, MODE)
    os.rename(real + COMING, real)


def _hash(real: str, file: WeightsFile) -> str:
    """Hash a file as its pin does: plainly, or as git hashes a blob."""
    digest = hashlib.sha256()
    if not file.sha256:
        digest = hashlib.sha1(f"blob {file.size}\0".encode())  # noqa: S324 # git's own
    with open(real, "rb") as opened:
        while True:
            data = opened.read(_READ)
            if not data:
                os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
                return digest.hexdigest()
            digest.update(data)


def _finish(wanted: Weights, machine: Machine, folder: str) -> None:
    """Write the manifest, sync every folder, and give the whole its name."""
    times: Dict[str, int] = {}
    folders = {folder}
    for file in wanted.files:
        path = f"{folder}/{file.name}"
        times[file.name] = os.stat(machine.disk.real(path)).st_mtime_ns
        above = os.path.dirname(path)
        while above not in folders:
            folders.add(above)
            above = os.path.dirname(above)
    for each in sorted(folders):
        _sync(machine.disk.real(each))
    data = dumps(times).encode() + b"\n"
    machine.disk.write(f"{folder}/{MANIFEST}", data, MODE, *machine.disk.me())
    os.rename(machine.disk.real(folder), machine.disk.real(wanted.path))
    _sync(machine.disk.real(os.path.dirname(wanted.path)))


def _sync(real: str) -> None:
    fd = os.open(real, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _token(machine: Machine, delivery: Delivery) -> str:
    blob = delivery.how.token
    return "" if blob is None else machine.blobs.read(blob).decode().strip()
