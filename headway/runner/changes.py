"""What has to be done to get from one release to another, pure: which parts, in which order."""

import os
from dataclasses import dataclass
from typing import Iterable, Iterator, Optional, Set, Tuple

from headway.wire.marks import ROOT
from headway.wire.release import Part, Release
from headway.wire.resources import (
    ADDITIVE,
    Dir,
    File,
    Resource,
    Service,
    Stack,
    Sysctl,
    Unit,
    container_name,
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
        """Name the units and containers of both sides, each once; all are guarded and stopped."""
        names = [name for part in (self.new, self.old) for name in launched(part)]
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


def launched(part: Optional[Part]) -> Tuple[str, ...]:
    """Name what of a part can be started and stopped: units, and containers as PROJECT/SERVICE."""
    return tuple(
        container_name(res.project, res.service) if isinstance(res, Service) else res.name
        for res in switching(part)
        if isinstance(res, (Unit, Service))
    )


def started_units(part: Optional[Part]) -> Tuple[str, ...]:
    """Name what runs when a part runs: its subject, every enabled unit, every container."""
    if part is None:
        return ()
    subject = part.subject.unit if part.subject else None
    idle = {unit.name for unit in units_of(part) if not unit.enabled and unit.name != subject}
    return tuple(name for name in launched(part) if name not in idle)


def stacks_first(changes: Iterable[Change]) -> Tuple[Change, ...]:
    """Put what Compose is given before the services made of it: on the way back, too."""
    given = tuple(changes)
    stacks = [change for change in given if _has_stack(change)]
    return (*stacks, *(change for change in given if change not in stacks))


def _has_stack(change: Change) -> bool:
    held = (*switching(change.old), *switching(change.new))
    return any(isinstance(resource, Stack) for resource in held)


def has_stack(release: Release) -> bool:
    """Say whether a release holds a Compose project."""
    return any(isinstance(res, Stack) for part in release.parts for res in part.resources)


def paths(resource: Resource) -> Tuple[str, ...]:
    """Name what a switching resource owns: paths, `sysctl:KEY`, a container's PROJECT/SERVICE."""
    if isinstance(resource, (File, Dir)):
        return (resource.path,)
    if isinstance(resource, Unit):
        dropins = (dropin_path(resource.name, dropin.name) for dropin in resource.dropins)
        return (unit_path(resource.name), *dropins)
    if isinstance(resource, Sysctl):
        return (sysctl_path(resource.key), "sysctl:" + resource.key)
    if isinstance(resource, Stack):
        return (f"{ROOT}/stacks/{resource.project}.json",)
    if isinstance(resource, Service):
        return (container_name(resource.project, resource.service),)
    return ()


def owned(release: Release) -> Set[str]:
    """Name everything a release owns."""
    return {path for part in release.parts for res in switching(part) for path in paths(res)}


def leaving(old: Optional[Part], target: Release) -> Tuple[Resource, ...]:
    """Name what goes with an old side: all it switches that the target does not own.

    Of an adopted part only units and containers go. The files they named lay there before headway,
    and what comes may read them: a script of a command line was deleted once under the new engine.
    """
    adopted = old is not None and old.role == ADOPTED_ROLE
    going = tuple(res for res in switching(old) if not (adopted and isinstance(res, (File, Dir))))
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
