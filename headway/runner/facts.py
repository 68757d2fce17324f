"""What this machine is, read from /proc and systemd: what `invoke facts` shows."""

import os
import platform
from typing import Dict

from headway.runner import systemd
from headway.runner.machine import Machine
from headway.wire.loader import Json


def facts(machine: Machine) -> Dict[str, Json]:
    """Read the facts; sizes in bytes, times in seconds. What cannot be read is left out."""
    found: Dict[str, Json] = {
        "hostname": platform.node(),
        "kernel": platform.release(),
        "arch": platform.machine(),
        "python": platform.python_version(),
        "cpus": os.cpu_count() or 0,
        "systemd": systemd.version(machine.run),
    }
    found.update(_distribution(machine))
    found.update(_memory(machine))
    uptime = machine.disk.read("/proc/uptime")
    if uptime:
        found["uptime_s"] = int(float(uptime.split()[0]))
    disk = os.statvfs(machine.disk.real("/"))
    found["root_free_bytes"] = disk.f_bavail * disk.f_frsize
    found["root_size_bytes"] = disk.f_blocks * disk.f_frsize
    found["virtualization"] = machine.run(["systemd-detect-virt"]).stdout.decode().strip()
    return found


def _distribution(machine: Machine) -> Dict[str, Json]:
    rows = (machine.disk.read("/etc/os-release") or b"").decode(errors="replace").splitlines()
    named = {name: value.strip('"') for name, _, value in (row.partition("=") for row in rows)}
    return {"distribution": named["PRETTY_NAME"]} if "PRETTY_NAME" in named else {}


def _memory(machine: Machine) -> Dict[str, Json]:
    wanted = {"MemTotal": "memory_bytes", "MemAvailable": "memory_available_bytes"}
    rows = (machine.disk.read("/proc/meminfo") or b"").decode().splitlines()
    pairs = (row.split(":") for row in rows)
    return {wanted[name]: 1024 * int(value.split()[0]) for name, value in pairs if name in wanted}
