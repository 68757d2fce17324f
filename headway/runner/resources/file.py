"""A file: bytes, mode, owner and group, whatever lay at its path before."""

import hashlib
from typing import List, Optional, Tuple

from headway.runner.disk import Seen
from headway.runner.machine import Machine
from headway.runner.resources import owner
from headway.runner.resources.error import ResourceError
from headway.runner.resources.place import before_of, clear, in_the_way, make_way, relabel
from headway.wire.record import Before
from headway.wire.resources import Blob, File

LARGEST_TEXT = 1024 * 1024  # bytes; more than that is no configuration to show in a plan


def diff(file: File, machine: Machine) -> Optional[str]:
    """Say what is not as wanted; None when bytes, mode, owner and group are."""
    seen = machine.disk.seen(file.path)
    if seen is None:
        return f"{file.path} is missing"
    if seen.kind != "file":
        return f"{file.path} is {called(seen)}, not a file"
    wrong = owned_otherwise(machine, seen, file.mode, file.owner, file.group)
    if not holds(machine, file.path, seen, file.blob):
        wrong.insert(0, "has other content")
    return f"{file.path} " + ", ".join(wrong) if wrong else None


def text_now(file: File, machine: Machine) -> Optional[str]:
    """Read what lies there as text; None where it is secret, missing, large or no text."""
    return None if file.blob.secret else text_at(machine, file.path)


def refusal(file: File, machine: Machine) -> Optional[str]:
    """Say why it cannot be applied here, before anything is touched."""
    if owner.ids(machine, file.owner, file.group) is None:
        return f"{file.path}: {owner.unknown(file.owner, file.group)}"
    return in_the_way(machine, file.path) or None


def apply(file: File, machine: Machine) -> None:
    """Write the file whole; a link in its place is replaced, what it pointed to is not touched."""
    ids = owner.ids(machine, file.owner, file.group)
    if ids is None:
        raise ResourceError(f"{file.path}: {owner.unknown(file.owner, file.group)}")
    make_way(machine, file.path)
    machine.disk.write(file.path, machine.blobs.read(file.blob), file.mode, *ids)
    relabel(machine, file.path)


def before(file: File, machine: Machine) -> Tuple[Before, ...]:
    """Record what lies there and which folders on the way are missing."""
    return before_of(machine, file.path)


def remove(file: File, machine: Machine) -> None:
    """Remove the file; a folder that took its place stays."""
    seen = machine.disk.seen(file.path)
    if seen is not None and seen.kind != "dir":
        clear(machine, file.path)


# --- shared with units, folders and sysctls ---------------------------------------------------


def holds(machine: Machine, path: str, seen: Seen, blob: Blob) -> bool:
    """Say whether a file has a blob's bytes; the size decides most of the time."""
    if seen.kind == "file" and seen.size != blob.size:
        return False
    return hashlib.sha256(machine.disk.read(path) or b"").hexdigest() == blob.sha256


def text_at(machine: Machine, path: str) -> Optional[str]:
    """Read a path as text; None where there is none to show."""
    seen = machine.disk.seen(path)
    if seen is None or seen.kind not in ("file", "link") or seen.size > LARGEST_TEXT:
        return None
    try:
        data = machine.disk.read(path)
        return None if data is None else data.decode()
    except (OSError, UnicodeDecodeError):
        return None


def called(seen: Seen) -> str:
    """Name what lies somewhere as people do."""
    names = {"file": "a file", "dir": "a folder", "link": "a symbolic link"}
    return names.get(seen.kind, "a device, pipe or socket")


def owned_otherwise(machine: Machine, seen: Seen, mode: int, user: str, group: str) -> List[str]:
    """Say how mode, owner and group differ from what is wanted."""
    wrong = []
    if seen.mode != mode:
        wrong.append(f"has mode {seen.mode:04o}, not {mode:04o}")
    ids = owner.ids(machine, user, group)
    if ids is None:
        wrong.append("cannot belong to anybody: " + owner.unknown(user, group))
    elif ids != (seen.uid, seen.gid):
        now = owner.owner_name(machine, seen.uid) + ":" + owner.group_name(machine, seen.gid)
        wrong.append(f"belongs to {now}, not {user}:{group}")
    return wrong
