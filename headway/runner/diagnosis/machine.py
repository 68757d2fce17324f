"""The machine beneath: disks, memory, what the kernel complains of, and the clock."""

import os
from typing import Dict, Iterator, List, Tuple

from headway.runner.diagnosis import units
from headway.runner.diagnosis.ago import since, span, when
from headway.runner.diagnosis.ordering import Found
from headway.runner.diagnosis.seen import Memory, Mount, Seen
from headway.runner.machine import Machine

KERNEL = (
    "NVRM|Out of memory|oom-kill|Killed process|I/O error|EXT4-fs|XFS |Remounting|blocked for more"
)
_REAL = ("ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "overlay", "tmpfs", "f2fs", "bcachefs")
_REMOTE = ("nfs", "nfs4", "cifs", "smb3", "ceph", "glusterfs", "lustre", "beegfs", "9p")
_NOT_OURS = ("/dev", "/proc", "/run", "/sys", "/snap", "/var/lib/docker/", "/var/lib/containers/")
_NEEDED = ("/", "/etc", "/home", "/opt", "/root", "/srv", "/tmp", "/usr", "/var", "/dev/shm")  # noqa: S108 # mounts
_FULL, _NEARLY, _LOW, _STALLED = 1, 5, 3, 20  # percent
_SKEW_S = 5
_RECENT_S = 86_400
_REMOTE_S = 1


# --- looking ------------------------------------------------------------------------------------


def look_mounts(machine: Machine) -> Tuple[Mount, ...]:
    """Measure the file systems that hold data; a remote one is asked by a child, which may hang."""
    wanted_ro = _fstab_ro(machine)
    found: Dict[str, Mount] = {}
    for row in _text(machine, "/proc/self/mounts").splitlines():
        device, path, kind, options = (*row.split(), "", "", "", "")[:4]
        path = path.encode().decode("unicode_escape") if "\\" in path else path
        read_only = "ro" in options.split(",") and path not in wanted_ro
        if kind in _REMOTE:
            hangs = machine.run(["stat", "-f", path], deadline_s=_REMOTE_S).code is None
            found[path] = Mount(path, device, kind, hangs=hangs)
        elif kind in _REAL and (path == "/dev/shm" or not path.startswith(_NOT_OURS)):  # noqa: S108 # a mount
            found[path] = _measured(machine, path, device, kind, read_only=read_only)
    return tuple(found.values())


def _measured(machine: Machine, path: str, device: str, kind: str, *, read_only: bool) -> Mount:
    try:
        seen = os.statvfs(machine.disk.real(path))
    except OSError:
        return Mount(path, device, kind, read_only)
    inodes = seen.f_files or None
    size, free = seen.f_blocks * seen.f_frsize, seen.f_bavail * seen.f_frsize
    return Mount(
        path, device, kind, read_only, size, free, inodes, seen.f_favail if inodes else None
    )


def _fstab_ro(machine: Machine) -> Tuple[str, ...]:
    rows = (row.split() for row in _text(machine, "/etc/fstab").splitlines())
    wide = [row for row in rows if len(row) > 3 and not row[0].startswith("#")]  # noqa: PLR2004 # its options
    return tuple(row[1] for row in wide if "ro" in row[3].split(","))


def look_memory(machine: Machine) -> Memory:
    """Read sizes, and how much of the last ten seconds everything waited for memory."""
    rows = (row.partition(":") for row in _text(machine, "/proc/meminfo").splitlines())
    kib = {name: int(value.split()[0]) for name, _, value in rows if value.split()}
    wanted = ("MemTotal", "MemAvailable", "SwapTotal", "SwapFree")
    total, available, swap_total, swap_free = (1024 * kib.get(name, 0) for name in wanted)
    full = [row for row in _text(machine, "/proc/pressure/memory").splitlines() if "full" in row]
    words = dict(word.partition("=")[::2] for word in full[0].split()[1:]) if full else {}
    stalled = int(float(words.get("avg10", "0")))
    return Memory(total, available, swap_total, swap_free, stalled)


def _text(machine: Machine, path: str) -> str:
    try:
        return (machine.disk.read(path) or b"").decode(errors="replace")
    except OSError:
        return ""


# --- what follows from it -----------------------------------------------------------------------


def probes(seen: Seen) -> Iterator[Found]:
    """Say what is wrong with disks, memory, kernel and clock."""
    paths = [
        path for part in seen.parts for one in part.resources if (path := getattr(one, "path", ""))
    ]
    for mount in seen.mounts:
        yield from _disk(mount, needed=_needed(mount.path, paths))
    yield from _memory(seen)
    yield from _kernel(seen)
    if seen.asked_ms and abs(seen.now_ms - seen.asked_ms) > _SKEW_S * 1000:
        ahead = seen.now_ms > seen.asked_ms
        by = span(abs(seen.now_ms - seen.asked_ms) // 1000)
        here = f"the host says {when(seen.now_ms // 1000)}: {by} {'ahead' if ahead else 'behind'}"
        yield Found("clock-wrong", "", (here, f"yours says {when(seen.asked_ms // 1000)}"))


def _needed(mount: str, paths: List[str]) -> bool:
    folder = mount.rstrip("/") + "/"
    return mount in _NEEDED or mount.startswith("/var/") or any(p.startswith(folder) for p in paths)


def _disk(mount: Mount, *, needed: bool) -> Iterator[Found]:
    if mount.hangs:
        yield Found("mount-hangs", mount.path, (f"{mount.device} ({mount.kind}) on {mount.path}",))
        return
    if mount.read_only and needed:
        yield Found(
            "disk-read-only", mount.path, (f"{mount.device} ({mount.kind}) on {mount.path} is ro",)
        )
    if mount.size:
        told = (f"{mount.path}: {_mib(mount.free)} of {_mib(mount.size)} free",)
        if 100 * mount.free < _FULL * mount.size and needed:
            yield Found("shm-full" if mount.path == "/dev/shm" else "disk-full", mount.path, told)  # noqa: S108 # a mount
        elif 100 * mount.free < _NEARLY * mount.size:
            yield Found("disk-nearly-full", mount.path, told)
    inodes, left = mount.inodes or 0, mount.inodes_free
    if left is not None and needed and 100 * left < _FULL * inodes:
        told = (f"{mount.path}: {left} of {inodes} inodes free",)
        yield Found("inodes-full", mount.path, told)


def _memory(seen: Seen) -> Iterator[Found]:
    memory = seen.memory
    told = f"{_mib(memory.available)} of {_mib(memory.total)} available"
    if memory.total and 100 * memory.available < _LOW * memory.total:
        yield Found("memory-low", "", (told,))
    if memory.stalled_percent >= _STALLED:
        swap = f"{_mib(memory.swap_total - memory.swap_free)} in swap"
        yield Found("swapping", "", (f"all waited {memory.stalled_percent} % of 10 s", swap))


def _kernel(seen: Seen) -> Iterator[Found]:
    recent = [(at_s, text) for at_s, text in seen.kernel if at_s > seen.boot_s - _RECENT_S]
    yield from _newest(seen, recent, "disk-errors", ("I/O error, dev", "EXT4-fs error", "XFS ("))
    yield from _newest(seen, recent, "hung-task", ("blocked for more than",))
    killed = [(at_s, text) for at_s, text in recent if "Killed process" in text]
    other = not units.killed(seen)  # else it stands there as the cause of that
    if killed and other and not _served_on(seen, killed[-1][0]):
        yield from _newest(seen, killed, "oom-killed", ("Killed process",))


def _served_on(seen: Seen, at_s: int) -> bool:
    """Say whether every service of the release was up then already, and still is."""
    ages = [seen.age_s(unit) for unit in seen.subjects if seen.unit(unit).up]
    whole = len(ages) == len(seen.subjects)
    return whole and bool(ages) and all(seen.boot_s - age < at_s for age in ages)


def _newest(
    seen: Seen, lines: List[Tuple[int, str]], finding: str, words: Tuple[str, ...]
) -> Iterator[Found]:
    hits = [(at_s, text) for at_s, text in lines if any(word in text for word in words)]
    if hits:
        at_s, text = hits[-1]
        ago = since(max(0, seen.boot_s - at_s), seen.now_ms // 1000)
        yield Found(
            finding, "", (text, f"{ago}{f', {len(hits)} such lines' if len(hits) > 1 else ''}")
        )


def _mib(count: int) -> str:
    return f"{count / (1 << 30):.1f} GiB" if count >= 1 << 30 else f"{count >> 20} MiB"
