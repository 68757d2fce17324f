"""One lab host: a Debian with its own systemd, sshd, journald, network namespace and address."""

import os
import re
import shlex
import shutil
import socket
import stat
import subprocess
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path

from tests.lab.command import LabError, detached, run
from tests.lab.record import (
    MOUNT_SOURCE,
    Record,
    end_cgroup,
    mount_source,
    pids,
    thaw,
    unified_hierarchy,
    wait_unlinked,
)

BRIDGE = "labbr0"
GATEWAY = "10.77.0.1"
NAME = os.environ.get("HEADWAY_LAB", "headway-lab")  # several labs: each in a network namespace
CGROUP = NAME
BOOT_S = 60
_NAME = re.compile(r"[a-z][a-z0-9-]{0,11}")  # vb-NAME has to fit a link's 15 letters


@dataclass(frozen=True)
class HostSpec:
    """What a host should be.

    `login` is `root`, or `ops`, who has sudo with a password only. `without` names files of the
    recipe that this host lacks, such as /usr/bin/python3. `nspawn` are more options for
    systemd-nspawn: capabilities, binds.
    """

    name: str
    recipe: str = "bookworm"
    login: str = "root"
    without: tuple[str, ...] = ()
    nspawn: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise LabError(f"{self.name!r} is no host name: at most 12 of a-z, 0-9 and -")


@dataclass
class Host:
    """A host that was made; it runs unless it was cut."""

    spec: HostSpec
    address: str
    folder: Path
    layers: list[str]
    ssh_config: Path
    record: Record = field(repr=False)

    @property
    def name(self) -> str:
        """The name, which is also its link's (vb-NAME) and its entry's in ssh_config."""
        return self.spec.name

    @property
    def root(self) -> Path:
        """The host's file system as seen from this machine, running or not."""
        return self.folder / "root"

    @property
    def cgroup(self) -> Path:
        """The cgroup that holds this host and nothing else."""
        return unified_hierarchy() / CGROUP / self.name

    @property
    def frozen(self) -> Path:
        """The cgroup of the v1 freezer that holds what dies of nothing, where there is one."""
        state = self.folder.parents[1]
        return state / "freezer" / f"{state.name}-{self.name}"

    # -- life

    def make_key(self) -> None:
        """Make the host key, which stays the same over every reset."""
        key = self.folder / "ssh_host_ed25519_key"
        run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", self.name, "-f", str(key)])

    def is_made(self) -> bool:
        """Tell whether the host's root is mounted."""
        return mount_source(self.root) == MOUNT_SOURCE

    def make(self) -> None:
        """Mount the host's root: its recipe's layers under an empty one of its own."""
        upper = self.folder / "upper"
        for made in (upper, self.folder / "work", self.root):
            made.mkdir(parents=True)
        self._furnish(upper)
        for lacking in self.spec.without:
            whiteout = upper / lacking.lstrip("/")
            whiteout.parent.mkdir(parents=True, exist_ok=True)
            os.mknod(whiteout, stat.S_IFCHR)  # overlayfs: what lies below does not exist
        lower = ":".join(self.layers)
        options = f"lowerdir={lower},upperdir={upper},workdir={self.folder / 'work'}"
        self.record.note("mount", str(self.root))
        run(["mount", "-t", "overlay", MOUNT_SOURCE, "-o", options, str(self.root)])

    def start(self) -> None:
        """Switch the host on and return at once; its disk is as it left it."""
        self.record.note("veth", f"vb-{self.name}")
        self.record.note("cgroup", str(self.cgroup))
        self.cgroup.mkdir(exist_ok=True)
        nspawn = [
            *("systemd-nspawn", "--quiet", "--register=no", "--keep-unit", "--boot"),
            *(f"--directory={self.root}", f"--machine={self.name}", f"--network-bridge={BRIDGE}"),
            *("--link-journal=no", "--resolv-conf=off", "--timezone=off"),
            *("--drop-capability=CAP_SYS_TIME", f"--setenv=LAB_ADDR={self.address}"),
            *self.spec.nspawn,
        ]
        with (self.folder / "console.log").open("a") as console:
            detached(nspawn, self.cgroup, console)

    def wait(self, seconds: float = BOOT_S) -> None:
        """Return when the host's sshd says its banner; sshd waits until logins are allowed."""
        until = time.monotonic() + seconds
        while not self.answers():
            if time.monotonic() > until:
                log = self.folder / "console.log"
                raise LabError(f"{self.name} did not answer SSH in {seconds:.0f} s: see {log}")
            time.sleep(0.03)

    def answers(self) -> bool:
        """Tell whether sshd says its banner."""
        try:
            with socket.create_connection((self.address, 22), timeout=0.3) as connection:
                connection.settimeout(1)
                return connection.recv(4) == b"SSH-"
        except OSError:
            return False

    def boot(self) -> None:
        """Switch a host on that was cut, with the disk as it was, and wait until it answers."""
        self.start()
        self.wait()

    def power_cut(self) -> None:
        """End the host at one instant: SIGKILL to its PID 1 and to everything in it.

        It is frozen before: a runner that outlived its systemd by a millisecond would see it fail.
        What tests/lab/undying.py keeps from dying ends, too.
        """
        thaw(self.frozen)
        if pids(self.cgroup):
            self._freeze(on=True)
            (self.cgroup / "cgroup.kill").write_text("1")
            self._freeze(on=False)
        end_cgroup(self.cgroup)
        wait_unlinked(f"vb-{self.name}")

    def _freeze(self, *, on: bool) -> None:
        (self.cgroup / "cgroup.freeze").write_text(str(int(on)))
        events = self.cgroup / "cgroup.events"
        until = time.monotonic() + 1  # a process that the kernel holds up cannot run on either
        while on and "frozen 1" not in events.read_text() and time.monotonic() < until:
            time.sleep(0.001)

    def reset(self) -> None:
        """Make the host as new: power off, forget its upper layer, boot. The host key stays."""
        self.power_cut()
        self.unmake()
        self.make()
        self.boot()

    def unmake(self) -> None:
        """Unmount the root of a host that is off and forget what it wrote."""
        if self.is_made():
            run(["umount", str(self.root)])
        for folder in (self.folder / "upper", self.folder / "work", self.root):
            shutil.rmtree(folder, ignore_errors=True)

    def leader(self) -> int | None:
        """Return the host's PID 1 as this machine numbers it, None when the host is off."""
        for pid in pids(self.cgroup):
            try:
                status = Path(f"/proc/{pid}/status").read_text()
            except OSError:
                continue
            # its own namespace is one deeper than ours, and it is number 1 there
            if re.search(r"^NSpid:\t\d+\t1$", status, re.MULTILINE):
                return pid
        return None

    # -- the cable

    def unplug(self) -> None:
        """Pull the network cable."""
        run(["ip", "link", "set", f"vb-{self.name}", "down"])

    def plug(self) -> None:
        """Put the network cable back."""
        run(["ip", "link", "set", f"vb-{self.name}", "up"])

    # -- looking from outside

    def ssh(
        self, command: str | list[str], *, stdin: str | None = None, timeout_s: float = 60
    ) -> "subprocess.CompletedProcess[str]":
        """Run a command over plain ssh as the host's login; the status is the caller's to judge."""
        words = command if isinstance(command, str) else shlex.join(command)
        return subprocess.run(
            ["ssh", "-F", str(self.ssh_config), self.name, words],
            input=stdin if stdin is not None else "",
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )

    def inside(self, command: list[str]) -> str:
        """Run a command in the host's namespaces as root, without its network; a failure raises."""
        leader = self.leader()
        if leader is None:
            raise LabError(f"{self.name} is off")
        enter = ["nsenter", f"--target={leader}", "--all", "--wd=/"]
        return run([*enter, *command])

    def path(self, inside: str) -> Path:
        """Return where a path of the host lies on this machine; symbolic links are not followed."""
        return self.root / inside.lstrip("/")

    # -- what is written before the first boot

    def _furnish(self, upper: Path) -> None:
        key = self.folder / "ssh_host_ed25519_key"
        public = (self.ssh_config.parent / "key.pub").read_text()
        refused = "PermitRootLogin no\n" if self.spec.login != "root" else ""
        files = {
            "etc/hostname": f"{self.name}\n",
            "etc/hosts": f"127.0.0.1 localhost\n{self.address} {self.name}\n",
            "etc/machine-id": f"{uuid.uuid4().hex}\n",
            "etc/ssh/ssh_host_ed25519_key": key.read_text(),
            "etc/ssh/ssh_host_ed25519_key.pub": key.with_suffix(".pub").read_text(),
            "etc/ssh/sshd_config.d/lab.conf": f"HostKey /etc/ssh/ssh_host_ed25519_key\n{refused}",
            "root/.ssh/authorized_keys": public,
        }
        if self.spec.login == "ops":
            files["home/ops/.ssh/authorized_keys"] = public
        for path, text in files.items():
            (upper / path).parent.mkdir(parents=True, exist_ok=True)
            (upper / path).write_text(text)
        (upper / "etc/ssh/ssh_host_ed25519_key").chmod(0o600)
        (upper / "root").chmod(0o700)
        for owned in upper.glob("home/ops/**/*"):
            os.chown(owned, 1000, 1000)
        if (upper / "home/ops").exists():
            os.chown(upper / "home/ops", 1000, 1000)
