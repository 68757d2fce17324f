"""What is so on a lab host, seen without headway: its disk, its processes, its units.

Files are read through the host's disk as this machine sees it, processes through their cgroups,
units over plain ssh.
"""

import json
import os
import stat
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.lab.host import Host
from tests.lab.record import pids

FOLDERS = ("/etc", "/usr/local", "/opt/standin", "/srv")
RECORD = "/var/lib/headway"
AT_REST = ("IDLE", "HELD", "STUCK")
SLICE = "payload/system.slice"  # where nspawn and the host's systemd keep a service
_LOOK_S = 0.002

# A line of show, and the words of the main process as hexadecimal, for each unit that is named.
_SHOW = """\
for unit; do
  systemctl show --property=Id,ActiveState,UnitFileState,MainPID,InvocationID,NRestarts "$unit"
  pid=$(systemctl show --property=MainPID --value "$unit")
  [ "$pid" = 0 ] || echo "argv=$(od -An -v -tx1 "/proc/$pid/cmdline" | tr -d ' \\n')"
  echo
done
"""


@dataclass(frozen=True)
class Entry:
    """What lies at a path, down to its bytes."""

    kind: int
    mode: int
    uid: int
    gid: int
    data: bytes


@dataclass(frozen=True)
class Service:
    """A unit: whether it runs and starts at boot, its main process, and which launch this is."""

    active: str
    enabled: str
    argv: bytes
    pid: int
    invocation: str
    restarts: int


@dataclass(frozen=True)
class Whole:
    """A host as a release left it: every file, and what runs with which words."""

    files: dict[str, Entry]
    running: dict[str, tuple[str, str, bytes]]

    def differences(self, other: "Whole") -> list[str]:
        """Name the paths and units that are otherwise in another look."""
        files = self.files.keys() | other.files.keys()
        units = self.running.keys() | other.running.keys()
        return sorted(
            [path for path in files if self.files.get(path) != other.files.get(path)]
            + [unit for unit in units if self.running.get(unit) != other.running.get(unit)]
        )


def tree(host: Host, folders: Iterable[str] = FOLDERS) -> dict[str, Entry]:
    """Read all that lies below these folders of a host, by path."""
    found = {}
    for folder in folders:
        for above, names, files in os.walk(host.path(folder)):
            for name in (*names, *files):
                path = Path(above) / name
                found["/" + str(path.relative_to(host.root))] = _entry(path)
    return found


def services(host: Host, *units: str) -> dict[str, Service]:
    """Ask the host's systemd over plain ssh about units, all at once."""
    done = host.ssh(["sh", "-s", "--", *units], stdin=_SHOW)
    assert done.returncode == 0, done.stderr
    found = {}
    for block in done.stdout.strip().split("\n\n"):
        fields = dict(line.split("=", 1) for line in block.splitlines())
        found[fields["Id"]] = Service(
            fields["ActiveState"],
            fields["UnitFileState"],
            bytes.fromhex(fields.get("argv", "")),
            int(fields["MainPID"]),
            fields["InvocationID"],
            int(fields.get("NRestarts", 0)),
        )
    return found


def whole(host: Host, *units: str) -> Whole:
    """Look at everything that makes a release whole."""
    seen = services(host, *units)
    running = {name: (one.active, one.enabled, one.argv) for name, one in seen.items()}
    return Whole(tree(host), running)


def argv(host: Host, unit: str = "engine.service") -> bytes:
    """Give the words of a unit's one process as this machine sees it; nothing when it is down."""
    for pid in pids(host.cgroup / SLICE / unit):
        try:
            return Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            continue
    return b""


# -- the record


def state(host: Host) -> dict[str, Any]:
    """Read the host's state; one that it has none of is IDLE."""
    try:
        found: dict[str, Any] = json.loads(host.path(RECORD + "/state.json").read_bytes())
    except FileNotFoundError:
        return {"phase": "IDLE", "accepted": [], "transition": None, "last": "", "why": ""}
    return found


def events(host: Host, transition: str) -> list[dict[str, Any]]:
    """Read the whole lines of a transition's event file."""
    path = host.path(f"{RECORD}/transitions/{transition}/events.ndjson")
    text = path.read_text() if path.exists() else ""
    return [json.loads(line)["body"] for line in text.splitlines(keepends=True) if line[-1] == "\n"]


def step_done(host: Host, step: str) -> bool:
    """Tell whether the transition in hand came through a step."""
    bodies = events(host, state(host)["transition"] or "")
    return any(body.get("step_done", {}).get("step") == step for body in bodies)


def until(what: str, true: Callable[[], bool], seconds: float = 30) -> None:
    """Look again and again until it is so; AssertionError when it is not in time."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, f"not so within {seconds} s: {what}"
        time.sleep(_LOOK_S)


def reaches(host: Host, phase: str, step: str = "") -> None:
    """Return as soon as the host is in a phase, and has come through a step of it."""

    def there() -> bool:
        return state(host)["phase"] == phase and (not step or step_done(host, step))

    until(f"{host.name} in {phase} {step}", there)


def rests(host: Host, seconds: float = 60) -> dict[str, Any]:
    """Return the state as soon as the host's transition rests."""
    until(f"{host.name} rests", lambda: state(host)["phase"] in AT_REST, seconds)
    return state(host)


def runner(host: Host) -> int:
    """Name the process that carries the transition, as this machine numbers it; 0 is nobody."""
    try:
        units = (host.cgroup / SLICE).glob("headway-transition-*")
        mine = {pid for unit in units for pid in pids(unit)}
        parents = {pid: _parent(pid) for pid in mine}
    except OSError:
        return 0  # it ended while it was looked for
    return next((pid for pid in mine if parents[pid] not in mine), 0)


def _parent(pid: int) -> int:
    rows = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(row for row in rows if row.startswith("PPid:")).split()[1])


def _entry(path: Path) -> Entry:
    found = path.lstat()
    kind = stat.S_IFMT(found.st_mode)
    data = b""
    if stat.S_ISREG(found.st_mode):
        data = path.read_bytes()
    elif stat.S_ISLNK(found.st_mode):
        data = str(path.readlink()).encode()
    return Entry(kind, stat.S_IMODE(found.st_mode), found.st_uid, found.st_gid, data)
