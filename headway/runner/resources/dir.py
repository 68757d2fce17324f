"""A directory with its mode and owner; what lies in it is not its own."""

from typing import Optional, Tuple

from headway.runner.machine import Machine
from headway.runner.resources import owner
from headway.runner.resources.error import ResourceError
from headway.runner.resources.file import called, owned_otherwise
from headway.runner.resources.place import before_of, in_the_way, make_way
from headway.wire.record import Before
from headway.wire.resources import Dir


def diff(folder: Dir, machine: Machine) -> Optional[str]:
    """Say what is not as wanted; None when the folder is there with this mode and owner."""
    seen = machine.disk.seen(folder.path)
    if seen is None:
        return f"{folder.path} is missing"
    if seen.kind != "dir":
        return f"{folder.path} is {called(seen)}, not a folder"
    wrong = owned_otherwise(machine, seen, folder.mode, folder.owner, folder.group)
    return f"{folder.path} " + ", ".join(wrong) if wrong else None


def text_now(_: Dir, __: Machine) -> Optional[str]:
    """Give None: a folder has no text."""
    return None


def refusal(folder: Dir, machine: Machine) -> Optional[str]:
    """Say why it cannot be applied here: a link may lead to data, so it is never replaced."""
    if owner.ids(machine, folder.owner, folder.group) is None:
        return f"{folder.path}: {owner.unknown(folder.owner, folder.group)}"
    seen = machine.disk.seen(folder.path)
    if seen is not None and seen.kind == "link":
        target = machine.disk.link(folder.path)
        return f"{folder.path} is a symbolic link to {target}; name that folder in the role instead"
    if seen is not None and seen.kind == "dir":
        return None
    return in_the_way(machine, folder.path) or None


def apply(folder: Dir, machine: Machine) -> None:
    """Make the folder, or give the one that is there this mode and owner."""
    why_not = refusal(folder, machine)
    ids = owner.ids(machine, folder.owner, folder.group)
    if why_not is not None or ids is None:
        raise ResourceError(why_not or owner.unknown(folder.owner, folder.group))
    seen = machine.disk.seen(folder.path)
    if seen is None or seen.kind != "dir":
        make_way(machine, folder.path)
        machine.disk.remove(folder.path)
    machine.disk.mkdir(folder.path, folder.mode, *ids)


def before(folder: Dir, machine: Machine) -> Tuple[Before, ...]:
    """Record what lies there and which folders on the way are missing."""
    return before_of(machine, folder.path)


def remove(folder: Dir, machine: Machine) -> None:
    """Remove the folder when it is empty; data that was put into it stays."""
    machine.disk.rmdir(folder.path)
