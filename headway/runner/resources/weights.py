"""Weights of one revision in an immutable folder: fetched whole or not at all, never over another.

Fetched into a folder beside theirs, which is renamed when everything in it was hashed; its manifest
says when each file was last changed. Sizes and times are looked at, terabytes are not read. Engines
map these files into memory, so what was changed is named and stays: it is never fetched over.
"""

import fcntl
import hashlib
import os
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Callable, Dict, Iterable, Iterator, Optional, Tuple

from headway.runner.machine import Machine
from headway.runner.resources.error import ResourceError
from headway.wire.loader import WireError, loads
from headway.wire.marks import ROOT
from headway.wire.release import Release
from headway.wire.resources import Fetch, Weights

MANIFEST = ".headway-weights.json"
COMING = ".part"  # behind the name of a file that is not whole yet
_PARTIAL = ".headway-coming-"
_LINKS = ROOT + "/weights"
_NAMED = 3


@dataclass(frozen=True)
class Delivery:
    """How weights come: from where, who is told (done, total, bytes a second), who still listens.

    `tell` is called every few seconds; where nobody listens any more, the fetch ends.
    """

    how: Fetch
    tell: Callable[[int, int, int], None]
    listening: Callable[[], bool]


@dataclass(frozen=True)
class Folder:
    """A folder of weights that headway fetched, and its bytes."""

    path: str
    size: int


# --- looking ------------------------------------------------------------------------------------


def diff(wanted: Weights, machine: Machine) -> Optional[str]:
    """Say that they are missing, or which files are not as they were fetched."""
    told = machine.disk.read(f"{wanted.path}/{MANIFEST}")
    if told is None:
        if machine.disk.seen(wanted.path) is not None:
            return f"{wanted.path} is there, and headway did not fetch it"
        here, total = come(wanted, machine), sum(file.size for file in wanted.files)
        return f"{wanted.path} is missing" + (f" ({here} of {total} bytes are here)" * bool(here))
    try:
        times = loads(Dict[str, int], told)
    except WireError as error:
        return f"{wanted.path}/{MANIFEST} does not read: {error}"
    wrong = list(_wrong(wanted, times, machine))
    if not wrong:
        return None
    more = f", and {len(wrong) - _NAMED} more" if len(wrong) > _NAMED else ""
    return f"{wanted.path} was changed after it was fetched: {', '.join(wrong[:_NAMED])}{more}"


def text_now(wanted: Weights, machine: Machine) -> Optional[str]:
    """List what lies there by size and name, a line a file; None where nothing does."""
    if machine.disk.seen(wanted.path) is None:
        return None
    rows = []
    for name in names(machine, wanted.path):
        seen = machine.disk.seen(f"{wanted.path}/{name}")
        rows.append(f"{seen.size if seen else 0} {name}\n")
    return "".join(rows)


def refusal(wanted: Weights, machine: Machine) -> Optional[str]:
    """Say that what lies there was changed: something may run from it, so it stays as it is."""
    if machine.disk.seen(wanted.path) is None:
        return None
    wrong = diff(wanted, machine)
    if wrong is None:
        return None
    return f"{wrong}; stop what runs from it and remove the folder, it is fetched anew"


def come(wanted: Weights, machine: Machine) -> int:
    """Count the bytes that are here of weights that are not whole yet."""
    folder = partial_of(wanted.path)
    if machine.disk.seen(folder) is None:
        return 0
    paths = (f"{folder}/{file.name}{end}" for file in wanted.files for end in ("", COMING))
    found = (machine.disk.seen(path) for path in paths)
    return sum(seen.size for seen in found if seen is not None)


def names(machine: Machine, folder: str, within: str = "") -> Iterator[str]:
    """Name every file below a folder, sorted, by its path from there."""
    for name in machine.disk.names(f"{folder}/{within}".rstrip("/")):
        path = within + name
        if os.path.isdir(machine.disk.real(f"{folder}/{path}")):
            yield from names(machine, folder, path + "/")
        else:
            yield path


def _wrong(wanted: Weights, times: Dict[str, int], machine: Machine) -> Iterator[str]:
    for file in wanted.files:
        path = f"{wanted.path}/{file.name}"
        seen = machine.disk.seen(path)
        if seen is None:
            yield f"{file.name} is gone"
        elif seen.kind != "file":
            yield f"{file.name} is no file ({seen.kind})"
        elif seen.size != file.size:
            yield f"{file.name} has {seen.size} bytes, not {file.size}"
        elif os.lstat(machine.disk.real(path)).st_mtime_ns != times.get(file.name):
            yield f"{file.name} was written to"
    known = {file.name for file in wanted.files}
    for name in names(machine, wanted.path):
        if name not in known and name != MANIFEST:
            yield f"{name} was added"


# --- fetching -----------------------------------------------------------------------------------


def apply(wanted: Weights, machine: Machine, delivery: Optional[Delivery] = None) -> None:
    """Fetch them; what came stays when that fails, and the next try goes on from there."""
    if delivery is None:
        raise ResourceError(f"nothing says where {wanted.path} is fetched from; roll it out again")
    try:
        from headway.runner.fetching import fetch
    except ImportError:
        raise ResourceError(
            f"{wanted.path} is missing, and this runner came without what fetches weights; "
            "go on from the controller"
        ) from None
    fetch(wanted, machine, delivery)


def partial_of(path: str) -> str:
    """Say where weights lie until they are whole: beside their folder, on its file system."""
    folder, name = os.path.split(path)
    return f"{folder}/{_PARTIAL}{name}"


def note(machine: Machine, path: str) -> None:
    """Note that headway fetches a folder, so that it can be let go when no release names it."""
    machine.disk.mkdirs(_LINKS, 0o700)
    machine.disk.symlink(path, _link(path))


@contextmanager
def alone(machine: Machine, folder: str) -> Iterator[None]:
    """Hold a folder that is being filled; somebody else does: ResourceError."""
    fd = os.open(machine.disk.real(folder), os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ResourceError(
                f"{folder} is being filled by another order right now; wait for its end"
            ) from None
        yield
    finally:
        os.close(fd)


# --- letting go ---------------------------------------------------------------------------------


def unnamed(machine: Machine, releases: Iterable[Release]) -> Tuple[Folder, ...]:
    """Name the folders headway fetched, whole or not, that none of these releases names.

    What somebody put there instead is not headway's to let go.
    """
    kept = {
        resource.path
        for release in releases
        for part in release.parts
        for resource in part.resources
        if isinstance(resource, Weights)
    }
    paths = (machine.disk.link(f"{_LINKS}/{name}") for name in machine.disk.names(_LINKS))
    return tuple(
        Folder(folder, _size(machine, folder))
        for path in sorted(paths)
        if path not in kept
        for folder in (path, partial_of(path))
        if machine.disk.seen(folder if folder != path else f"{path}/{MANIFEST}") is not None
    )


def let_go(machine: Machine, folder: Folder) -> None:
    """Remove a folder of `unnamed`; ResourceError where it is being filled right now."""
    with alone(machine, folder.path):
        machine.disk.rmtree(folder.path)
    name = os.path.basename(folder.path)
    whole = f"{os.path.dirname(folder.path)}/{name[len(_PARTIAL) :]}"
    path = whole if name.startswith(_PARTIAL) else folder.path
    if all(machine.disk.seen(each) is None for each in (path, partial_of(path))):
        machine.disk.remove(_link(path))


def _link(path: str) -> str:
    return f"{_LINKS}/{hashlib.sha256(path.encode()).hexdigest()[:16]}"


def _size(machine: Machine, folder: str) -> int:
    found = (machine.disk.seen(f"{folder}/{name}") for name in names(machine, folder))
    return sum(seen.size for seen in found if seen is not None)
