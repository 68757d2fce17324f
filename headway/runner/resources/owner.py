"""Users and groups by name, as this host knows them."""

import grp
import pwd
from typing import Optional, Tuple

from headway.runner.machine import Machine


def ids(machine: Machine, owner: str, group: str) -> Optional[Tuple[int, int]]:
    """Look up user and group; None where this host lacks one of them.

    "root" is whoever runs the runner: root on a host, a person in a test. A number names itself.
    """
    try:
        mine = machine.disk.me()
        uid = mine[0] if owner == "root" else _uid(owner)
        gid = mine[1] if group == "root" else _gid(group)
    except KeyError:
        return None
    return uid, gid


def owner_name(machine: Machine, uid: int) -> str:
    """Name a user, by its number where it has no name."""
    if uid == machine.disk.me()[0]:
        return "root"
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def group_name(machine: Machine, gid: int) -> str:
    """Name a group, by its number where it has no name."""
    if gid == machine.disk.me()[1]:
        return "root"
    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)


def unknown(owner: str, group: str) -> str:
    """Say that one of them is not known here, and what to do."""
    return f"user {owner!r} or group {group!r} does not exist on this host; create it first"


def _uid(name: str) -> int:
    return int(name) if name.isdigit() else pwd.getpwnam(name).pw_uid


def _gid(name: str) -> int:
    return int(name) if name.isdigit() else grp.getgrnam(name).gr_gid
