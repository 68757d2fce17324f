"""What the lab made on this machine, written down before it is made: a crash leaves no riddle.

Everything is undone in reverse, each thing only if it is still ours: a mount by its source and
place, the bridge by its hardware address, processes by the cgroup that the lab made for them.
"""

import contextlib
import json
import os
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.lab.command import LabError, run

BRIDGE_ADDRESS = "02:68:65:61:64:77"  # locally administered, and "headw": the mark of our bridge
MOUNT_SOURCE = "headway-lab"


@dataclass(frozen=True)
class Made:
    """One thing that the lab is about to make."""

    kind: str
    name: str
    before: str = ""


class Record:
    """The list of what was made, in a file; what an earlier boot made is gone by itself."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def note(self, kind: str, name: str, before: str = "") -> None:
        """Write down what is about to be made."""
        with self._file.open("a") as lines:
            lines.write(json.dumps({"boot": _boot(), **asdict(Made(kind, name, before))}) + "\n")

    def undo(self) -> None:
        """Undo everything in reverse and forget it; a thing that is gone already is no error."""
        for made in reversed(list(self._entries())):
            _UNDO[made.kind](made)
        self._file.unlink(missing_ok=True)

    def _entries(self) -> Iterator[Made]:
        for line in self._file.read_text().splitlines() if self._file.exists() else []:
            try:
                entry = json.loads(line)
            except ValueError:
                continue  # the crash came while the line was written: nothing was made yet
            if entry.pop("boot") == _boot():
                yield Made(**entry)


def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


# -- mounts


def mount_source(place: Path) -> str | None:
    """Return the source of what is mounted at a place, None when nothing is."""
    found = None
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        left, right = line.split(" - ", 1)
        if left.split()[4] == str(place):
            found = right.split()[1]
    return found


def mounts_below(folder: Path) -> list[Path]:
    """Return every place below a folder where something is mounted."""
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    places = (Path(line.split()[4]) for line in lines)
    return [place for place in places if folder in place.parents]


def _undo_mount(made: Made) -> None:
    place = Path(made.name)
    while (source := mount_source(place)) is not None:
        if source != MOUNT_SOURCE:
            raise LabError(f"{place}: {source} is mounted there, not by the lab; unmount it first")
        run(["umount", "--lazy", str(place)])


# -- cgroups and the processes in them


def unified_hierarchy() -> Path:
    """Return where cgroup v2 is mounted."""
    for line in Path("/proc/self/mounts").read_text().splitlines():
        words = line.split()
        if words[2] == "cgroup2":
            return Path(words[1])
    raise LabError("no cgroup v2 is mounted here; the lab's hosts need it for their systemd")


def pids(cgroup: Path) -> set[int]:
    """Return every process of a cgroup and of those below it."""
    found: set[int] = set()
    for folder, _, _ in os.walk(cgroup):  # passes over a cgroup that ends meanwhile
        try:
            found.update(map(int, Path(folder, "cgroup.procs").read_text().split()))
        except OSError:
            continue
    return found


def wait_empty(cgroup: Path, seconds: float) -> bool:
    """Tell whether the last process of a cgroup was gone in so many seconds."""
    until = time.monotonic() + seconds
    while pids(cgroup):
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


def end_cgroup(cgroup: Path) -> None:
    """Kill everything in a cgroup and remove it with all below.

    It must not be used again: Linux 6.14 and later kill what systemd 257 clones into a cgroup that
    was killed before.
    """
    if not cgroup.exists():
        return
    (cgroup / "cgroup.kill").write_text("1")
    if not wait_empty(cgroup, 10):
        raise LabError(
            f"{cgroup}: processes {sorted(pids(cgroup))} do not end; look at their state"
        )
    until = time.monotonic() + 5
    while cgroup.exists():
        try:
            for folder in sorted(cgroup.rglob("*/"), reverse=True):
                folder.rmdir()
            cgroup.rmdir()
        except OSError:  # a process is in no list any more and still keeps its cgroup for a moment
            if time.monotonic() > until:
                raise LabError(f"{cgroup} does not go: look at what is in it") from None
            time.sleep(0.01)


def _undo_cgroup(made: Made) -> None:
    end_cgroup(Path(made.name))


def thaw(frozen: Path) -> None:
    """Let the processes of a cgroup of the v1 freezer run on, in the one above, and remove it."""
    if frozen.exists():
        (frozen / "freezer.state").write_text("THAWED")
        for pid in pids(frozen):
            with contextlib.suppress(ProcessLookupError):  # it had been killed, and ends now
                (frozen.parent / "cgroup.procs").write_text(str(pid))
        until = time.monotonic() + 5
        while frozen.exists():
            try:
                frozen.rmdir()
            except OSError:
                if time.monotonic() > until:
                    raise LabError(f"{frozen} does not go: look at what is in it") from None
                time.sleep(0.01)


def _undo_frozen(made: Made) -> None:
    thaw(Path(made.name))


# -- network and sysctl


def links() -> dict[str, dict[str, str]]:
    """Return the links of this network namespace by name, as `ip` tells of them."""
    return {link["ifname"]: link for link in json.loads(run(["ip", "-json", "link", "show"]))}


def hardware_address(link: str) -> str | None:
    """Return the hardware address of a link, None when there is no such link."""
    found = links().get(link)
    return found["address"] if found else None


def wait_unlinked(link: str, seconds: float = 3) -> bool:
    """Tell whether a link was gone in time: it goes a moment after the last process."""
    until = time.monotonic() + seconds
    while hardware_address(link) is not None:
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


def _undo_bridge(made: Made) -> None:
    if hardware_address(made.name) == BRIDGE_ADDRESS:
        run(["ip", "link", "delete", made.name])


def _undo_veth(made: Made) -> None:
    """Wait for a host's link to go with its network namespace; take it away when it stays."""
    if not wait_unlinked(made.name):
        bridge = links().get(made.name, {}).get("master", "")
        if hardware_address(bridge) == BRIDGE_ADDRESS:
            run(["ip", "link", "delete", made.name])


def _undo_sysctl(made: Made) -> None:
    Path(made.name).write_text(made.before)


_UNDO = {
    "bridge": _undo_bridge,
    "cgroup": _undo_cgroup,
    "frozen": _undo_frozen,
    "mount": _undo_mount,
    "sysctl": _undo_sysctl,
    "veth": _undo_veth,
}
