"""A node as Proxmox has it: real LXC containers on a lab host, and stand-ins for pct and qm.

    pve = node(lab)                       # cards, containers 129 and 130, "VM" 201
    pve.host.ssh("pct exec 129 --keep-env 0 -- hostname")
    pve.guests[129].ssh("hostname")       # by its own sshd, on the lab's network

Containers have systemd and sshd of their own, the node's cards in /dev and NVML, and the cgroup
lxc/129/ns on the node. The "VM" is a container too (see proxmox/standin_pve.py), with cards of its
own that the node does not see; unlike a real one's, its processes show on the node.
"""

import shutil
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess

from tests.lab.cards import STATE, Cards, cards
from tests.lab.command import LabError
from tests.lab.host import Host, HostSpec
from tests.lab.lab import Lab

DEVICES = ("nvidiactl", "nvidia-uvm", *(f"nvidia{index}" for index in range(8)))
PVE = Path(__file__).parent / "proxmox/standin_pve.py"
BRIDGE_UNIT = """\
[Unit]
Description=Address of this lab host, on the bridge of its guests
DefaultDependencies=no
Before=network.target ssh.service
[Service]
Type=oneshot
RemainAfterExit=yes
PassEnvironment=LAB_ADDR
ExecStart=/bin/sh -ec 'ip link set lo up; ip link add vmbr0 type bridge; \\
  ip link set host0 master vmbr0 up; ip addr add $LAB_ADDR/24 dev vmbr0; ip link set vmbr0 up'
[Install]
WantedBy=sysinit.target
"""
# What Proxmox makes of a configuration; cgroup.dir as there: lxc/129 on the node, ns within.
LXC = """\
lxc.rootfs.path = dir:/var/lib/lxc/{vmid}/rootfs
lxc.uts.name = {name}
lxc.environment = LAB_ADDR={address}
lxc.net.0.type = veth
lxc.net.0.link = vmbr0
lxc.net.0.name = host0
lxc.net.0.veth.pair = veth{vmid}i0
lxc.net.0.hwaddr = {hardware}
lxc.apparmor.profile = unconfined
lxc.mount.auto = proc:mixed sys:mixed cgroup:mixed
lxc.cgroup.dir.monitor = lxc.monitor/{vmid}
lxc.cgroup.dir.container = lxc/{vmid}
lxc.cgroup.dir.container.inner = ns
"""
# The node's cards in a container: as the files in /dev and /proc that its configuration passes on.
SHARED = "".join(
    f"lxc.mount.entry = {entry} 0 0\n"
    for entry in (
        *(f"/dev/{name} dev/{name} none bind,optional,create=file" for name in DEVICES),
        "/proc/driver proc/driver none bind,optional",
        f"{STATE} {STATE.lstrip('/')} none rbind,create=dir",
    )
)
NAMES = {"lxc": "ct", "qemu": "vm"}
FOLDERS = {"lxc": "lxc", "qemu": "qemu-server"}


@dataclass(frozen=True)
class Guest:
    """A guest that the lab reaches over SSH as it reaches a host."""

    vmid: int
    kind: str  # lxc or qemu
    disk: Host
    node: Host

    @property
    def name(self) -> str:
        """Its name, also in ssh_config."""
        return self.disk.name

    @property
    def address(self) -> str:
        """Its own address."""
        return self.disk.address

    @property
    def root(self) -> Path:
        """Its file system, as this machine sees it."""
        return self.disk.root

    def path(self, inside: str) -> Path:
        """Return where a path of the guest lies on this machine."""
        return self.disk.path(inside)

    def ssh(
        self, command: str | list[str], *, stdin: str | None = None, timeout_s: float = 60
    ) -> CompletedProcess[str]:
        """Run a command in it as its login, over its own sshd."""
        return self.disk.ssh(command, stdin=stdin, timeout_s=timeout_s)

    def start(self) -> None:
        """Start it and wait until it answers SSH."""
        if not self.disk.answers():
            started = self.node.ssh(["lxc-start", "--name", str(self.vmid)])
            if started.returncode:
                raise LabError(f"{self.node.name}: {started.stderr.strip().splitlines()[-1]}")
        self.disk.wait()

    def stop(self) -> None:
        """End all that runs in it."""
        self.node.ssh(["lxc-stop", "--name", str(self.vmid), "--kill"])


@dataclass(frozen=True)
class Node:
    """A running node with its guests by number, and its cards, which containers share."""

    host: Host
    guests: dict[int, Guest]
    cards: Cards

    def cards_of(self, vmid: int) -> Cards:
        """Return the cards as a guest is told of them: a container's are the node's."""
        guest = self.guests[vmid]
        return Cards(self.cards.state if guest.kind == "lxc" else guest.path(STATE), guest)


def node(
    lab: Lab,
    name: str = "pve1",
    *,
    containers: Sequence[int] = (129, 130),
    machines: Sequence[int] = (201,),
    count: int = 2,
) -> Node:
    """Return a running node whose guests run, with new cards; one that is up already is used.

    What a test did to a guest's disk stays: give another number for a guest as new.
    """
    kinds = {**dict.fromkeys(containers, "lxc"), **dict.fromkeys(machines, "qemu")}
    disks = {vmid: lab.disk(HostSpec(f"{NAMES[kind]}{vmid}")) for vmid, kind in kinds.items()}
    binds = (f"--bind={disk.root}:/var/lib/lxc/{vmid}/rootfs" for vmid, disk in disks.items())
    spec = HostSpec(name, "node", nspawn=tuple(binds))
    host = lab.disk(spec)
    guests = {vmid: Guest(vmid, kinds[vmid], disk, host) for vmid, disk in disks.items()}
    _furnish(host)
    for guest in guests.values():
        _describe(guest)
    lab.up([spec])
    made = Node(host, guests, cards(host, count))
    for vmid, guest in guests.items():
        own = made.cards_of(vmid)
        own.install(module=guest.kind == "qemu")
        if guest.kind == "qemu":
            own.reset(count)
    with ThreadPoolExecutor() as pool:
        list(pool.map(Guest.start, guests.values()))
    return made


def _furnish(host: Host) -> None:
    """Make a host a node: bridge, pct and qm, and where Proxmox keeps configurations."""
    system = host.path("/etc/systemd/system")
    (system / "lab-address.service").write_text(BRIDGE_UNIT)
    for unit in ("lxc.service", "lxc-net.service"):  # they start what tests start, and a bridge
        _link(system / unit, "/dev/null")
    for kind in NAMES:
        folder = f"{FOLDERS[kind]}"
        host.path(f"/etc/pve/nodes/{host.name}/{folder}").mkdir(parents=True, exist_ok=True)
        _link(host.path("/etc/pve") / folder, f"nodes/{host.name}/{folder}")
    for program in ("pct", "qm"):
        place = host.path(f"/usr/sbin/{program}")
        shutil.copy(PVE, place)
        place.chmod(0o755)


def _describe(guest: Guest) -> None:
    """Write a guest's configuration, as Proxmox shows it and as LXC reads it."""
    told = {
        "lxc": f"arch: amd64\nhostname: {guest.name}\nmemory: 2048\nostype: debian\n",
        "qemu": f"agent: 1\nmemory: 2048\nname: {guest.name}\nostype: l26\n",
    }
    node = guest.node
    file = f"/etc/pve/nodes/{node.name}/{FOLDERS[guest.kind]}/{guest.vmid}.conf"
    node.path(file).write_text(told[guest.kind])
    folder = node.path(f"/var/lib/lxc/{guest.vmid}")
    folder.mkdir(parents=True, exist_ok=True)
    # one that stays, from Proxmox's own range: who knew the guest before a boot finds it after
    hardware = f"bc:24:11:00:{guest.vmid >> 8:02x}:{guest.vmid & 0xFF:02x}"
    lines = LXC.format(vmid=guest.vmid, name=guest.name, address=guest.address, hardware=hardware)
    (folder / "config").write_text(lines + (SHARED if guest.kind == "lxc" else ""))


def _link(place: Path, to: str) -> None:
    place.unlink(missing_ok=True)
    place.symlink_to(to)
