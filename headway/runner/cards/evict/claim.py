"""Who may be ended, pure: ours, a neighbour's, a stranger's, or one that is never ended.

A process is ours by its whole cgroup path or by a launch that was recorded, pid and start time;
never by a name, never by who its parent is. Names only protect. Where two rules speak, the one
that spares the process wins.
"""

import re
from dataclasses import dataclass
from enum import Enum
from typing import FrozenSet, Tuple

from headway.runner.cards.evict.process import COMM, Key, Process, lies_in

SPARED = (
    *("Xorg", "X", "Xwayland", "gnome-shell", "kwin_wayland", "kwin_x11", "plasmashell", "mutter"),
    *("weston", "sway", "cosmic-comp", "gdm-x-session", "gdm-wayland-session", "sddm", "lightdm"),
    *("nvidia-persistenced", "nvidia-powerd", "nvidia-imex", "nv-fabricmanager", "nvlsm"),
    *("nv-hostengine", "dcgm", "dcgm-exporter", "dcgmi", "nvidia-smi"),
    *("nvidia-cuda-mps-control", "nvidia-cuda-mps-server"),
    *("systemd", "init", "sshd", "dockerd", "containerd", "containerd-shim-runc-v2", "lxc-start"),
)
"""Never ended, whoever asks: displays, the driver's own services, and what carries a machine."""

_SPARED = frozenset(name[:COMM] for name in SPARED)
_ONE_S_OWN = re.compile(
    r".*/[^/]+\.(service|scope)|/docker/[0-9a-f]{64}|/lxc.*/docker/[0-9a-f]{64}"
)


class Side(Enum):
    """Whose a process is."""

    OURS = "ours"
    NEIGHBOUR = "a neighbour's"
    SPARED = "never ended"
    FOREIGN = "not ours"


@dataclass(frozen=True)
class Claim:
    """What is ours of a part: cgroups of its units that are down, and processes once recorded.

    `units` are what systemd calls those. `neighbours` are cgroups of living subjects: whatever
    lies in one of them is not touched, recorded or not.
    """

    cgroups: Tuple[str, ...] = ()
    launched: FrozenSet[Key] = frozenset()
    neighbours: Tuple[str, ...] = ()
    units: Tuple[str, ...] = ()

    def side(self, process: Process) -> Side:
        """Say whose a process is."""
        if process.kernel or process.pid <= 1 or _is_spared(process):
            return Side.SPARED
        if any(lies_in(process.cgroup, cgroup) for cgroup in self.neighbours):
            return Side.NEIGHBOUR
        if any(lies_in(process.cgroup, own) for own in self.cgroups if is_one_s_own(own)):
            return Side.OURS
        return Side.OURS if process.key in self.launched else Side.FOREIGN

    def is_ours(self, process: Process) -> bool:
        """Say whether a process may be ended without being named."""
        return self.side(process) is Side.OURS

    def reached_by_unit(self, process: Process) -> bool:
        """Say whether a process lies in a claimed cgroup, where systemd reaches all at once."""
        return any(lies_in(process.cgroup, own) for own in self.cgroups)


def is_one_s_own(cgroup: str) -> bool:
    """Say whether a cgroup is one unit's or container's; a slice or a root is never claimed."""
    words = cgroup.split("/")
    return _ONE_S_OWN.fullmatch(cgroup) is not None and not {"..", "init.scope"} & set(words)


def cgroup_of(slice_: str, unit: str) -> str:
    """Say where systemd puts a unit: `system-engine.slice` lies in `system.slice`.

    A unit that is down has no ControlGroup any more, and what outlived it still lies there.
    """
    if not slice_.endswith(".slice"):
        return ""
    words = [] if slice_ == "-.slice" else slice_[: -len(".slice")].split("-")
    above = ("-".join(words[: n + 1]) + ".slice" for n in range(len(words)))
    return "/" + "/".join((*above, unit))


def guest_cgroups(vmid: int, cgroup: str) -> Tuple[str, ...]:
    """Name a guest's cgroup as its node sees it, in each way LXC lays a container out.

    Proxmox: /lxc/129/ns/...; without a namespace folder, and as LXC itself does it, too.
    """
    if vmid <= 0 or not is_one_s_own(cgroup):
        return ()
    return tuple(
        f"/{top}{cgroup}" for top in (f"lxc/{vmid}/ns", f"lxc/{vmid}", f"lxc.payload.{vmid}")
    )


def _is_spared(process: Process) -> bool:
    program = process.command.rpartition("/")[2]
    return process.name[:COMM] in _SPARED or program[:COMM] in _SPARED
