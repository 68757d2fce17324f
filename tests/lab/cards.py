"""Stand-in cards on lab hosts: none is there, but NVML, /dev and /proc/driver speak of them.

    host_cards = cards(host, 8)
    host_cards.card(3, power_mw=61_000, utilization_gpu=100)
    host_cards.hold("engine", "--card", "0=83000", "--card", "1=83000", "--ignore-term")
    host_cards.look()[0]["used"]

What NVML answers is the state folder that nvml/standin_nvml.c describes. It lies on the host's
disk, so this machine edits it while the host runs, and it is there after a power cut.
"""

import json
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any, Protocol

import pynvml

from tests.lab.command import LabError
from tests.lab.host import Host
from tests.lab.nvml.library import HERE, SONAME, library

STATE = "/var/lib/standin-nvml"
LIBRARY = f"/usr/lib/x86_64-linux-gnu/{SONAME}"
PROGRAMS = "/opt/standin"
HOLDER = f"{PROGRAMS}/holder.py"
READER = f"{PROGRAMS}/reader.py"
DRIVER = "580.159.04"
MIB = 1 << 20
HOLD_S = 10

# What two H200 answered at rest, see ../shared/fixtures/gpu-2x-h200; what lacks is NotSupported.
H200: Mapping[str, object] = {
    "name": "NVIDIA H200",
    "pci_device": "0x233510de",
    "memory_bytes": 150_754_820_096,
    "reserved_bytes": 644_939_776,
    "base_bytes": 0,
    "capability": "9.0",
    "architecture": 9,
    "power_mw": 76_000,
    "power_limit_mw": 700_000,
    "power_enforced_mw": 700_000,
    "power_default_mw": 700_000,
    "power_min_mw": 200_000,
    "power_max_mw": 700_000,
    "temperature_c.0": 34,
    "utilization_gpu": 0,
    "utilization_memory": 0,
    "clock_mhz.0": 345,
    "clock_mhz.1": 345,
    "clock_mhz.2": 3201,
    "clock_max_mhz.0": 1980,
    "clock_max_mhz.1": 1980,
    "clock_max_mhz.2": 3201,
    "clock_reasons": "0x1",
    "pcie_gen": 5,
    "pcie_gen_max": 5,
    "pcie_gen_card": 5,
    "pcie_width": 16,
    "pcie_width_max": 16,
    "pcie_replays": 0,
    "persistence": 1,
    "pstate": 0,
    "compute_mode": 0,
    "display_mode": 0,
    "display_active": 0,
    "ecc": 1,
    "ecc_pending": 1,
    **{f"ecc_errors.{kind}.{since}": 0 for kind in (0, 1) for since in (0, 1)},
    "remapped_rows": "0 0 0 0",
    "mig": 0,
    "mig_pending": 0,
    "field.230": 0,  # NVML_FI_DEV_GET_GPU_RECOVERY_ACTION
    **{f"nvlink.{link}": 1 for link in range(18)},
}
PAIRS = "* * topology 30\n" + "".join(f"* * p2p {index} 0\n" for index in range(4))

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
    made = Cards(host)
    made.install()
    made.reset(count, driver=driver, **values)
    host.inside(["sh", f"{PROGRAMS}/nvidia-module"])
    return made


@dataclass(frozen=True)
class Cards:
    """The stand-in cards of one host or guest."""

    host: Reached

    @property
    def state(self) -> Path:
        """The state folder, as this machine sees it."""
        return self.host.root / STATE.lstrip("/")

    def install(self) -> None:
        """Put library, holder and reader where a host has the real ones."""
        whence = {
            LIBRARY: library(),
            HOLDER: HERE / "holder.py",
            READER: HERE / "reader.py",
            f"{PROGRAMS}/pynvml.py": Path(pynvml.__file__),
        }
        for place, source in whence.items():
            self._place(place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, self._place(place))
        self._place(f"{PROGRAMS}/nvidia-module").write_text(BOOT)
        self._place("/etc/systemd/system/standin-nvml.service").write_text(UNIT)
        wanted = self._place("/etc/systemd/system/sysinit.target.wants/standin-nvml.service")
        wanted.parent.mkdir(parents=True, exist_ok=True)
        if not wanted.is_symlink():
            wanted.symlink_to("../standin-nvml.service")

    def reset(self, count: int, *, driver: str = DRIVER, **values: object) -> None:
        """Make it so many cards at rest; entries of processes that live on are gone too."""
        for folder in ("cards", "processes", "proc", "proc-driver/nvidia"):
            (self.state / folder).mkdir(parents=True, exist_ok=True)
        for old in [*(self.state / "cards").iterdir(), *(self.state / "processes").iterdir()]:
            old.unlink()
        for index in range(count):
            own = {
                "minor": index,
                "uuid": f"GPU-{index:08x}-57a4-4d14-8000-{0:012x}",
                "bus": f"00000000:{0x18 + index:02X}:00.0",
            }
            self.card(index, **{**H200, **own, **values})
        self._write("pairs", PAIRS)
        self._write("faults", "")
        self.system(driver=driver, module=driver, nvml=f"13.{driver}", cuda=13000, pids="namespace")

    # -- who holds them, and what a process on the host is told

    def hold(self, unit: str, *options: str) -> None:
        """Start a holder as a transient unit, with holder.py's options; it holds when this returns.

        With an engine's options (--port 8000) it also serves HTTP, a moment later.
        """
        before = self.held()
        count = sum(word == "--card" for word in options) if "--alone" not in options else 1
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

    # -- what NVML says

    def card(self, index: int, **values: object) -> None:
        """Change values of a card: a dot in a key is two underscores here; None is NotSupported."""
        self._change(f"cards/{index}", values)

    def system(self, **values: object) -> None:
        """Change driver, module, nvml, cuda or pids; /proc/driver/nvidia/version follows."""
        self._change("system", values)
        if "module" in values:
            line = f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {values['module']}  STAND-IN\n"
            self._write("proc-driver/nvidia/version", line)

    def pair(self, one: int, other: int, words: str) -> None:
        """Say `topology LEVEL` or `p2p INDEX STATUS` of two cards, in this direction."""
        with (self.state / "pairs").open("a") as lines:
            lines.write(f"{one} {other} {words}\n")

    @contextmanager
    def fault(self, function: str, what: int | str, card: int | str = "") -> Iterator[None]:
        """Let a call give an error code, or `hang`, on one card or on all, for a while."""
        before = (self.state / "faults").read_text()
        self._write("faults", f"{before}{function} {what} {card}\n")
        try:
            yield
        finally:
            self._write("faults", before)

    def entry(self, name: str, *lines: str) -> None:
        """Write an entry of no process of ours, such as `pid 4242`, `card 0 20000000`."""
        self._write(f"processes/{name}", "".join(f"{line}\n" for line in lines))

    def _change(self, name: str, values: Mapping[str, object]) -> None:
        path = self.state / name
        lines = path.read_text().splitlines() if path.exists() else []
        had = dict(line.split(" ", 1) for line in lines)
        merged = {**had, **{key.replace("__", "."): value for key, value in values.items()}}
        kept = [f"{key} {value}\n" for key, value in merged.items() if value is not None]
        self._write(name, "".join(kept))

    def _write(self, name: str, text: str) -> None:
        """Write a file whole: NVML may be asked at any moment."""
        hidden = (self.state / name).with_name(f".{Path(name).name}")
        hidden.write_text(text)
        hidden.rename(self.state / name)

    def _place(self, inside: str) -> Path:
        return self.host.root / inside.lstrip("/")
