"""The lab: real Debian hosts on one machine, brought up, looked at and taken down again.

    with Lab() as lab:
        gpu1, gpu2 = lab.up([HostSpec("gpu1"), HostSpec("gpu2", recipe="trixie")])
        gpu1.ssh(["systemctl", "is-active", "ssh"])

One lab a machine: the second one waits. What a crash left is taken away by the next one.
"""

import fcntl
import json
import os
import shutil
import sys
import time
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import IO, Self

import yaml

from tests.lab.command import LabError, detached, run
from tests.lab.debian import build_repository
from tests.lab.host import BRIDGE, CGROUP, GATEWAY, NAME, Host, HostSpec
from tests.lab.recipes import SERVED, layers
from tests.lab.record import (
    BRIDGE_ADDRESS,
    MOUNT_SOURCE,
    Record,
    hardware_address,
    mounts_below,
    unified_hierarchy,
)

STATE = Path("/run") / NAME
INOTIFY = Path("/proc/sys/fs/inotify/max_user_instances")
INOTIFY_WANTED = 4096  # a host's systemd takes several; the default 128 ends at about 20 hosts
FIRST_ADDRESS = 11
REPO = Path(__file__).parents[2]
NEEDED = ("systemd-nspawn", "mmdebstrap", "ip", "ssh", "ssh-keygen", "setsid", "nsenter")


class Lab:
    """The one lab of this machine, held by this process from `open` to `close`."""

    def __init__(self, state: Path = STATE) -> None:
        self.state = state
        self.hosts: dict[str, Host] = {}
        self.key = state / "key"
        self.served = SERVED
        self.known_hosts = state / "known_hosts"
        self.ssh_config = state / "ssh_config"
        self._record = Record(state / "made")
        self._kept = state / "kept"
        self._lock: IO[str] | None = None

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- holding it

    def open(self, wait_s: float = 900) -> None:
        """Take the lab, after whoever holds it, and clean what a crash left of the one before."""
        _refuse_unfit()
        self._take(wait_s)
        try:
            self._refuse_kept()
            self.clear()
            self.prepare()
        except BaseException:
            self._release()
            raise

    def close(self) -> None:
        """Take everything down and leave the machine as it was found."""
        try:
            self.clear()
        finally:
            self._release()

    def keep(self) -> None:
        """Leave the hosts running when this process ends, until `down` is called by another."""
        self._kept.touch()
        self._release()

    def down(self, wait_s: float = 5) -> None:
        """Take down whatever lab there is, kept or left by a crash; never a running one."""
        _refuse_unfit()
        self._take(wait_s)
        self.hosts = self.look(self.state).hosts
        self.close()

    @classmethod
    def look(cls, state: Path = STATE) -> "Lab":
        """Return the lab that is up now, for looking at it and for ssh, without holding it."""
        lab = cls(state)
        for file in sorted(state.glob("hosts/*/host.json")):
            fields = json.loads(file.read_text())
            spec = HostSpec(**fields["spec"])
            lab.hosts[spec.name] = lab._host(spec, fields["address"], fields["layers"])
        return lab

    # -- hosts

    def up(self, specs: Iterable[HostSpec], *, fresh: bool = False) -> list[Host]:
        """Return a running, connected host for each spec, all booted at once.

        A host that is there already keeps its disk, unless `fresh` asks for one as new.
        """
        hosts = [self._existing(spec) or self._new(spec) for spec in specs]
        self._write_ssh_files()
        for host in hosts:
            if fresh:
                host.power_cut()
                host.unmake()
            if not host.is_made():
                host.make()
            if host.leader() is None:
                host.start()
            else:
                host.plug()
        for host in hosts:
            host.wait()
        return hosts

    def disk(self, spec: HostSpec) -> Host:
        """Return a host whose root is there; it stays off, for `up`, or for a node to boot it."""
        host = self._existing(spec) or self._new(spec)
        if not host.is_made():
            host.make()
        self._write_ssh_files()
        return host

    def inventory(self, path: Path, hosts: Iterable[Host] | None = None) -> Path:
        """Write the hosts as an Ansible inventory in YAML and return its path."""
        entries = {host.name: self.connection(host) for host in hosts or self.hosts.values()}
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(yaml.safe_dump({"all": {"hosts": entries}}, sort_keys=False))
        return path

    def connection(self, host: Host) -> dict[str, object]:
        """Return the Ansible variables by which a host is reached."""
        variables: dict[str, object] = {
            "ansible_host": host.address,
            "ansible_user": host.spec.login,
            "ansible_ssh_private_key_file": str(self.key),
            "ansible_ssh_common_args": f"-o UserKnownHostsFile={self.known_hosts}",
        }
        return {**variables, "ansible_become": True} if host.spec.login != "root" else variables

    def _existing(self, spec: HostSpec) -> Host | None:
        """Return the host of this spec; one of that name that is otherwise is taken away."""
        host = self.hosts.get(spec.name)
        if host is not None and host.spec != spec:
            host.power_cut()
            host.unmake()
            shutil.rmtree(host.folder)
            del self.hosts[spec.name]
            return None
        return host

    def _new(self, spec: HostSpec) -> Host:
        under = [str(layer) for layer in layers(spec.recipe)]
        host = self._host(spec, self._free_address(), under)
        host.folder.mkdir()
        fields = {"spec": asdict(spec), "address": host.address, "layers": under}
        (host.folder / "host.json").write_text(json.dumps(fields))
        host.make_key()
        self.hosts[spec.name] = host
        return host

    def _host(self, spec: HostSpec, address: str, under: list[str]) -> Host:
        folder = self.state / "hosts" / spec.name
        return Host(spec, address, folder, under, self.ssh_config, self._record)

    def _free_address(self) -> str:
        taken = {host.address for host in self.hosts.values()}
        candidates = (f"10.77.0.{last}" for last in range(FIRST_ADDRESS, 255))
        return next(address for address in candidates if address not in taken)

    def _write_ssh_files(self) -> None:
        known, config = [], []
        for host in self.hosts.values():
            public = (host.folder / "ssh_host_ed25519_key.pub").read_text().split()
            known.append(f"{host.address} {public[0]} {public[1]}\n")
            config.append(
                f"Host {host.name}\n  HostName {host.address}\n  User {host.spec.login}\n"
                f"  IdentityFile {self.key}\n  IdentitiesOnly yes\n  BatchMode yes\n"
                f"  UserKnownHostsFile {self.known_hosts}\n  StrictHostKeyChecking yes\n"
                "  ConnectTimeout 5\n"
            )
        self.known_hosts.write_text("".join(known))
        self.ssh_config.write_text("".join(config))

    # -- the machine around them

    def clear(self) -> None:
        """Take down the hosts, and whatever the record says of this lab or one before."""
        for host in self.hosts.values():
            host.power_cut()
        self.hosts.clear()
        self._record.undo()
        foreign = mounts_below(self.state)
        if foreign:
            raise LabError(f"{foreign[0]}: mounted there, not by the lab; unmount it first")
        for left in self.state.iterdir():
            if left.name != "lock":
                shutil.rmtree(left) if left.is_dir() else left.unlink()

    def prepare(self) -> None:
        """Make what hosts need of this machine: bridge, memory for their disks, package index."""
        if hardware_address(BRIDGE) is not None:
            raise LabError(f"{BRIDGE} is there and is not the lab's: remove it first")
        if int(INOTIFY.read_text()) < INOTIFY_WANTED:
            self._record.note("sysctl", str(INOTIFY), INOTIFY.read_text())
            INOTIFY.write_text(str(INOTIFY_WANTED))
        hosts = self.state / "hosts"
        hosts.mkdir()
        self._record.note("mount", str(hosts))
        run(["mount", "-t", "tmpfs", "-o", "size=50%,mode=755", MOUNT_SOURCE, str(hosts)])
        self._record.note("bridge", BRIDGE)
        run(["ip", "link", "add", BRIDGE, "address", BRIDGE_ADDRESS, "type", "bridge"])
        run(["ip", "address", "add", f"{GATEWAY}/24", "dev", BRIDGE])
        run(["ip", "link", "set", BRIDGE, "up"])
        cgroup = unified_hierarchy() / CGROUP
        if cgroup.exists():
            raise LabError(f"{cgroup} is there and is not the lab's: remove it first")
        self._record.note("cgroup", str(cgroup))
        cgroup.mkdir()
        run(
            [
                "ssh-keygen",
                "-q",
                "-t",
                "ed25519",
                "-N",
                "",
                "-C",
                "headway-lab",
                "-f",
                str(self.key),
            ]
        )
        self._serve(cgroup / "index")

    def _serve(self, cgroup: Path) -> None:
        """Start the package index on the bridge; it ends with the lab."""
        cgroup.mkdir()
        build_repository(self.served / "apt")
        index = [sys.executable, "-m", "tests.lab.index", str(self.served), GATEWAY]
        with (self.state / "index.log").open("w") as log:
            detached(index, cgroup, log, cwd=REPO)

    # -- one lab a machine

    def _refuse_kept(self) -> None:
        if self._kept.exists():
            raise LabError("a lab is up to be used by hand: end it with invoke dev.lab.down")

    def _take(self, wait_s: float) -> None:
        self.state.mkdir(mode=0o755, parents=True, exist_ok=True)
        lock = (self.state / "lock").open("a+")
        until, told = time.monotonic() + wait_s, False
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                lock.seek(0)
                holder = lock.read().strip()
                if time.monotonic() > until:
                    lock.close()
                    raise LabError(f"the lab is held by process {holder}: wait for it") from None
                if not told:
                    sys.stderr.write(f"lab: waiting for process {holder}, which holds it\n")
                    told = True
                time.sleep(0.5)
            else:
                break
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        self._lock = lock

    def _release(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None


def _refuse_unfit() -> None:
    if os.geteuid() != 0:
        raise LabError("the lab needs root (bridge, mounts, namespaces); unit tests run without")
    missing = [program for program in NEEDED if shutil.which(program) is None]
    if missing:
        raise LabError(f"{', '.join(missing)} not installed: invoke dev.setup installs them")
