"""What has to be done to get from one release to another, pure: which parts, in which order."""

import os
from dataclasses import dataclass
from typing import Iterable, Iterator, Optional, Set, Tuple

from headway.wire.release import Part, Release
from headway.wire.resources import (
    ADDITIVE,
    Dir,
    File,
    Resource,
    Sysctl,
    Unit,
    dropin_path,
    sysctl_path,
    unit_path,
)

ADOPTED_ROLE = "adopted"


@dataclass(frozen=True)
class Change:
    """One part on its way: `old` is None where it is new, `new` is None where it goes."""

    name: str
    old: Optional[Part]
    new: Optional[Part]

    def units(self) -> Tuple[str, ...]:
        """Name the units of both sides, each once; all of them are guarded and stopped."""
        names = [unit.name for part in (self.new, self.old) for unit in units_of(part)]
        return tuple(dict.fromkeys(names))


def changes(start: Release, target: Release, relaunch: Iterable[str] = ()) -> Tuple[Change, ...]:
    """Say which parts restart: parts that go first (they hold what others need), then in order.

    A part restarts when anything in it differs, or when `relaunch` names it (drift, a restart).
    """
    wanted = {part.name for part in target.parts}
    again = set(relaunch)
    going = [Change(part.name, part, None) for part in start.parts if part.name not in wanted]
    coming = [
        Change(part.name, start.part(part.name), part)
        for part in target.parts
        if start.part(part.name) != part or part.name in again
    ]
    return tuple(going + coming)


def switching(part: Optional[Part]) -> Tuple[Resource, ...]:
    """Name the resources of a part that are changed only inside a transition."""
    if part is None:
        return ()
    return tuple(res for res in part.resources if not isinstance(res, ADDITIVE))


def units_of(part: Optional[Part]) -> Tuple[Unit, ...]:
    """Name the units a part holds."""
    return tuple(res for res in switching(part) if isinstance(res, Unit))


def started_units(part: Optional[Part]) -> Tuple[str, ...]:
    """Name the units that run when a part runs: its subject and every enabled unit."""
    if part is None:
        return ()
    subject = part.subject.unit if part.subject else None
    return tuple(unit.name for unit in units_of(part) if unit.enabled or unit.name == subject)


def paths(resource: Resource) -> Tuple[str, ...]:
    """Name what a switching resource owns on the host: paths, and `sysctl:KEY`."""
    if isinstance(resource, (File, Dir)):
        return (resource.path,)
    if isinstance(resource, Unit):
        dropins = (dropin_path(resource.name, dropin.name) for dropin in resource.dropins)
        return (unit_path(resource.name), *dropins)
    if isinstance(resource, Sysctl):
        return (sysctl_path(resource.key), "sysctl:" + resource.key)
    return ()


def owned(release: Release) -> Set[str]:
    """Name everything a release owns."""
    return {path for part in release.parts for res in switching(part) for path in paths(res)}


def leaving(old: Optional[Part], target: Release) -> Tuple[Resource, ...]:
    """Name what goes with an old side: all it switches that the target does not own.

    Of an adopted part only the units go. The files they named lay there before headway, and what
    comes may read them, too: a script of a command line was deleted once under the new engine.
    """
    adopted = old is not None and old.role == ADOPTED_ROLE
    going: Tuple[Resource, ...] = units_of(old) if adopted else switching(old)
    kept = owned(target)
    return tuple(resource for resource in going if not kept.intersection(paths(resource)))


def touched(changes: Tuple[Change, ...], tried: Iterable[str]) -> Tuple[Change, ...]:
    """Name the changes to take back: those tried, and those whose old side one of them may touch.

    A file or unit that moves from one part to another is overwritten before its old part's turn,
    and a folder that nobody wants any more goes as soon as it is empty.
    """
    begun = set(tried)
    reached = {path for change in changes if change.name in begun for path in _with_folders(change)}

    def is_touched(change: Change) -> bool:
        mine = (path for resource in switching(change.old) for path in paths(resource))
        return change.name in begun or not reached.isdisjoint(mine)

    return tuple(change for change in changes if is_touched(change))


def _with_folders(change: Change) -> Iterator[str]:
    for resource in (*switching(change.old), *switching(change.new)):
        for path in paths(resource):
            while len(path) > 1:
                yield path
                path = os.path.dirname(path)  # noqa: PLW2901 # up to the root


_WAYS_IN = (
    "/etc/ssh/",
    "/etc/pam.d/",
    "/etc/network/",
    "/etc/netplan/",
    "/etc/NetworkManager/",
    "/etc/systemd/network/",
    "/etc/nftables",
    "/etc/iptables/",
    "/etc/ufw/",
    "/etc/firewalld/",
    "/etc/sudoers",
    "/etc/hosts.",
    "/etc/resolv.conf",
)
_DOORMEN = (
    "ssh.",
    "sshd",
    "networking.",
    "systemd-networkd",
    "NetworkManager",
    "nftables",
    "iptables",
    "ufw.",
    "firewalld",
    "wg-quick",
    "tailscaled",
)


def touches_way_in(change: Change) -> bool:
    """Say whether a change could cut the operator off: ssh, network, firewall, net sysctls."""
    old, new = set(switching(change.old)), set(switching(change.new))
    for resource in old.symmetric_difference(new):
        if isinstance(resource, Sysctl) and resource.key.startswith("net."):
            return True
        if isinstance(resource, Unit) and resource.name.startswith(_DOORMEN):
            return True
        if any(path.startswith(_WAYS_IN) for path in paths(resource)):
            return True
    return False
