"""Stand-in cards on lab hosts: none is there, but NVML, /dev and /proc/driver speak of them.

    host_cards = cards(host, 8)
    host_cards.card(3, power_mw=61_000, utilization_gpu=100)
    host_cards.hold("engine", "--card", "0=83000", "1=83000", "--ignore-term")
    host_cards.look()[0]["used"]

What NVML answers is the state folder that nvml/standin_nvml.c describes. It lies on the host's
disk, so this machine edits it while the host runs, and it is there after a power cut.
"""

import json
import re
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any, Protocol

import pynvml

from tests.lab.command import LabError
from tests.lab.host import Host
from tests.lab.nvml.library import HERE, SONAME, library
from tests.lab.nvml.state import DRIVER, State

STATE = "/var/lib/standin-nvml"
LIBRARY = f"/usr/lib/x86_64-linux-gnu/{SONAME}"
PROGRAMS = "/opt/standin"
HOLDER = f"{PROGRAMS}/holder.py"
READER = f"{PROGRAMS}/reader.py"
MIB = 1 << 20
HOLD_S = 10

# What a boot takes away: device files, what the module tells in /proc, and /proc for old drivers.
BOOT = f"""\
#!/bin/sh
# STAND-IN for a loaded nvidia module.
set -e
for name in nvidiactl nvidia-uvm $(ls {STATE}/cards | sed s/^/nvidia/); do
  [ -e /dev/$name ] || mknod -m 666 /dev/$name c 1 3
done
mountpoint -q {STATE}/proc || mount --bind /proc {STATE}/proc
mountpoint -q /proc/driver || mount --bind {STATE}/proc-driver /proc/driver
"""
UNIT = f"""\
# STAND-IN for a loaded nvidia module.
[Unit]
DefaultDependencies=no
After=local-fs.target
Before=sysinit.target
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh {PROGRAMS}/nvidia-module
[Install]
WantedBy=sysinit.target
"""


class Reached(Protocol):
    """A host or guest: its disk as this machine sees it, and a way to run a command there."""

    @property
    def root(self) -> Path:
        """Where its file system lies."""

    def ssh(
        self, command: str | list[str], *, stdin: str | None = None, timeout_s: float = 60
    ) -> CompletedProcess[str]:
        """Run a command as its login."""


def cards(host: Host, count: int = 8, *, driver: str = DRIVER, **values: object) -> "Cards":
    """Give a running host so many cards at rest, with no process, no fault and no old entry.

    `values` are of every card, and stand over an H200's.
    """
    made = on(host)
    made.install()
    made.reset(count, driver=driver, **values)
    host.inside(["sh", f"{PROGRAMS}/nvidia-module"])
    return made


def on(host: Reached) -> "Cards":
    """Return what was given to a host or guest before."""
    return Cards(host.root / STATE.lstrip("/"), host)


@dataclass(frozen=True)
class Cards(State):
    """The stand-in cards of one host or guest, which may be its node's."""

    host: Reached

    def install(self, *, module: bool = True) -> None:
        """Put library, holder and reader where a host has the real ones; no module in a guest."""
        whence = {
            LIBRARY: library(),
            HOLDER: HERE / "holder.py",
            READER: HERE / "reader.py",
            f"{PROGRAMS}/pynvml.py": Path(pynvml.__file__),
        }
        for place, source in whence.items():
            self._place(place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, self._place(place))
        if module:
            self._install_module()

    def _install_module(self) -> None:
        self._place(f"{PROGRAMS}/nvidia-module").write_text(BOOT)
        self._place("/etc/systemd/system/standin-nvml.service").write_text(UNIT)
        wanted = self._place("/etc/systemd/system/sysinit.target.wants/standin-nvml.service")
        wanted.parent.mkdir(parents=True, exist_ok=True)
        if not wanted.is_symlink():
            wanted.symlink_to("../standin-nvml.service")

    # -- who holds them, and what a process on the host is told

    def hold(self, unit: str, *options: str) -> None:
        """Start a holder as a transient unit, with holder.py's options; it holds when this returns.

        With an engine's options (--port 8000) it also serves HTTP, a moment later.
        """
        before = self.held()
        sizes = [word for word in options if re.fullmatch(r"\d+=\d+", word)]
        count = 1 if "--alone" in options else len(sizes)
        fragment = f"/etc/systemd/system/{unit}.service"
        if (
            self.host.root / fragment[1:]
        ).exists():  # a release's: another test left it on this host
            self.host.ssh(
                f"systemctl disable --now {unit}; rm -rf {fragment} {fragment}.d; "
                "systemctl daemon-reload"
            )
        start = ["systemd-run", "--quiet", "--collect", f"--unit={unit}", "-pTimeoutStopSec=3"]
        done = self.host.ssh([*start, "/usr/bin/python3", HOLDER, *options])
        until = time.monotonic() + HOLD_S
        while done.returncode or len(self.held() - before) < count:
            if done.returncode or time.monotonic() > until:
                raise LabError(f"{unit} does not hold its cards: {done.stderr.strip()}")
            time.sleep(0.02)

    def held(self) -> set[str]:
        """Return the names of the entries; those of processes that ended may be among them."""
        return {entry.name for entry in (self.state / "processes").glob("[0-9]*")}

    def look(self, *before: str) -> list[dict[str, Any]]:
        """Return what pynvml reads there: used bytes and processes by pid, a card an entry.

        `before` are words before the command, such as `unshare --pid --fork --mount-proc`.
        """
        done = self.host.ssh([*before, "/usr/bin/python3", READER])
        if done.returncode:
            raise LabError(f"NVML: {done.stdout or done.stderr}")
        found: list[dict[str, Any]] = json.loads(done.stdout)["cards"]
        return found

    def _place(self, inside: str) -> Path:
        return self.host.root / inside.lstrip("/")
