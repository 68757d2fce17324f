"""What lies at a path, and putting it back: the before-images of files, folders and links."""

import os
from typing import List, Tuple, Union

from headway.runner.machine import Machine
from headway.runner.resources.error import ResourceError
from headway.wire.record import Absent, Before, WasDir, WasFile, WasLink
from headway.wire.resources import Blob

Lying = Union[Absent, WasFile, WasDir, WasLink]

_KERNEL = ("/proc/", "/sys/", "/dev/")
_OTHERS_READ = 0o004


def lying(machine: Machine, path: str) -> Lying:
    """Record what lies at a path, a file's bytes as a blob; devices and sockets are refused."""
    seen = machine.disk.seen(path)
    if seen is None:
        return Absent()
    if seen.kind == "dir":
        return WasDir(seen.mode, seen.uid, seen.gid)
    if seen.kind == "link":
        return WasLink(machine.disk.link(path))
    data = machine.disk.read(path) if seen.kind == "file" else None
    if data is None:
        raise ResourceError(f"{path} is a device, pipe or socket: headway leaves it alone")
    blob = Blob(machine.blobs.put(data), len(data), secret=not seen.mode & _OTHERS_READ)
    return WasFile(blob, seen.mode, seen.uid, seen.gid)


def before_of(machine: Machine, *paths: str) -> Tuple[Before, ...]:
    """Record what lies at these paths, and before them which folders on the way are missing."""
    found = {}
    for path in paths:
        for folder in missing_folders(machine, path):
            found[folder] = Before(folder, Absent())
        found[path] = Before(path, lying(machine, path))
    return tuple(found.values())


def missing_folders(machine: Machine, path: str) -> Tuple[str, ...]:
    """Name the folders that have to be made for a path, outermost first."""
    missing: List[str] = []
    folder = os.path.dirname(path)
    while folder != "/" and machine.disk.seen(folder) is None:
        missing.insert(0, folder)
        folder = os.path.dirname(folder)
    return tuple(missing)


def put_back(machine: Machine, path: str, state: Lying) -> None:
    """Make a path be as it was recorded; a folder that others have filled stays."""
    if isinstance(state, Absent):
        clear(machine, path)
    elif isinstance(state, WasDir):
        _put_dir(machine, path, state)
    elif isinstance(state, WasLink):
        _put_link(machine, path, state)
    else:
        _put_file(machine, path, state)


def clear(machine: Machine, path: str) -> bool:
    """Remove what lies at a path; a folder only when it is empty. Says whether nothing is left."""
    seen = machine.disk.seen(path)
    if seen is None:
        return True
    if seen.kind == "dir":
        return machine.disk.rmdir(path)
    machine.disk.remove(path)
    return True


def make_way(machine: Machine, path: str) -> None:
    """Let a file or link be written at a path: its folders exist and no folder is in its place."""
    machine.disk.mkdirs(os.path.dirname(path))
    seen = machine.disk.seen(path)
    if seen is not None and seen.kind == "dir" and not machine.disk.rmdir(path):
        raise ResourceError(f"{path} is a folder that is not empty; move it away by hand")


def in_the_way(machine: Machine, path: str) -> str:
    """Say why no file can be written at a path, "" when one can."""
    if path.startswith(_KERNEL):
        return f"{path} is the kernel's: use a sysctl, or a unit that sets it"
    seen = machine.disk.seen(path)
    if seen is None or seen.kind in ("file", "link"):
        return ""
    if seen.kind == "dir":
        full = machine.disk.names(path)
        return f"{path} is a folder that is not empty; move it away by hand" if full else ""
    return f"{path} is a device, pipe or socket; move it away by hand"


def _put_dir(machine: Machine, path: str, state: WasDir) -> None:
    seen = machine.disk.seen(path)
    if seen is not None and (seen.kind, seen.mode, seen.uid, seen.gid) == (
        "dir",
        state.mode,
        state.uid,
        state.gid,
    ):
        return
    if seen is not None and seen.kind != "dir":
        machine.disk.remove(path)
    machine.disk.mkdirs(os.path.dirname(path))
    machine.disk.mkdir(path, state.mode, state.uid, state.gid)


def _put_link(machine: Machine, path: str, state: WasLink) -> None:
    seen = machine.disk.seen(path)
    if seen is not None and seen.kind == "link" and machine.disk.link(path) == state.target:
        return
    make_way(machine, path)
    machine.disk.symlink(state.target, path)


def _put_file(machine: Machine, path: str, state: WasFile) -> None:
    seen = machine.disk.seen(path)
    data = machine.blobs.read(state.blob)
    if (
        seen is not None
        and (seen.kind, seen.mode, seen.uid, seen.gid) == ("file", state.mode, state.uid, state.gid)
        and machine.disk.read(path) == data
    ):
        return
    make_way(machine, path)
    machine.disk.write(path, data, state.mode, state.uid, state.gid)
    relabel(machine, path)


def relabel(machine: Machine, path: str) -> None:
    """Give a file its SELinux label; nothing is run on a host without SELinux."""
    if machine.disk.seen("/sys/fs/selinux/enforce") is not None:
        machine.run(["restorecon", path])
