"""The processes that matter to cards and memory: who has a card open, hangs, or was swapped out."""

import contextlib
import os
import time
from typing import Dict, Iterable, Iterator, List, Optional, Tuple

from headway.runner.diagnosis.ordering import Found
from headway.runner.diagnosis.seen import Process, Seen

_DEVICE = "/dev/nvidia"
_TOLERATED = ("nvidiactl", "nvidia-modeset")  # also open in what only asks: nvidia-smi, Xorg
_AGAIN_S = 0.4
_MUCH_SWAP_KIB = 256 * 1024
_HUNG = "D"
_LOGINS = ("ssh.service", "sshd.service", "user@")  # where no logind makes sessions of them


# --- looking ------------------------------------------------------------------------------------


def look(root: str = "") -> Tuple[Process, ...]:
    """Read all processes that have a card open, hang in the kernel, or lie in swap.

    One that hangs is looked at twice: everybody waits for a disk now and then.
    """
    pids = [int(name) for name in os.listdir(root + "/proc") if name.isdigit()]
    found = [one for one in (_read(root, pid) for pid in pids) if one is not None]
    hung = [one for one in found if one.state == _HUNG]
    if hung:
        time.sleep(_AGAIN_S)
        again = {one.pid: _read(root, one.pid) for one in hung}
        found = [again.get(one.pid, one) or one for one in found]
    return tuple(one for one in found if one.cards or one.swap_kib or one.state == _HUNG)


def parents(pids: Iterable[int], root: str = "") -> Dict[int, int]:
    """Read who started each of these processes; 1 where that one is gone."""
    rows = ((pid, _text(f"{root}/proc/{pid}/stat")) for pid in pids)
    return {pid: int(stat[stat.rfind(")") + 1 :].split()[1]) for pid, stat in rows if stat}


def _read(root: str, pid: int) -> Optional[Process]:
    folder = f"{root}/proc/{pid}"
    stat = _text(folder + "/stat")
    fields = stat[stat.rfind(")") + 1 :].split()
    if len(fields) < 20 or int(fields[6]) & 0x200000:  # noqa: PLR2004 # PF_KTHREAD: the kernel's own
        return None
    cards = _opens_cards(folder)
    hung = fields[0] == _HUNG
    swap_kib = _swap_kib(folder)
    if not (cards or hung or swap_kib > _MUCH_SWAP_KIB):
        return None
    name = _text(folder + "/cmdline").split("\0")[0] or stat[stat.find("(") + 1 : stat.rfind(")")]
    return Process(
        *(pid, int(fields[1]), fields[0], int(fields[19]), name, _cgroup(folder), cards),
        waits_in=_text(folder + "/wchan").strip() if hung else "",
        swap_kib=swap_kib if swap_kib > _MUCH_SWAP_KIB else 0,
    )


def _opens_cards(folder: str) -> bool:
    with contextlib.suppress(OSError):
        for name in os.listdir(folder + "/fd"):
            with contextlib.suppress(OSError):
                target = os.readlink(f"{folder}/fd/{name}")
                if target.startswith(_DEVICE) and not target.endswith(_TOLERATED):
                    return True
    return False


def _swap_kib(folder: str) -> int:
    text = _text(folder + "/status")
    _, _, rest = text.partition("VmSwap:")
    words = rest.split(None, 1)
    return int(words[0]) if words and words[0].isdigit() else 0


def _cgroup(folder: str) -> str:
    rows = [row.split(":", 2) for row in _text(folder + "/cgroup").splitlines()]
    paths = {row[1]: row[2] for row in rows if len(row) > 2}  # noqa: PLR2004 # number:controllers:path
    unified = paths.get("", "/")
    return unified if unified != "/" else paths.get("name=systemd", unified)


def _text(path: str) -> str:
    try:
        with open(path, errors="replace") as file:
            return file.read()
    except OSError:
        return ""


# --- what follows from it -----------------------------------------------------------------------


def probes(seen: Seen) -> Iterator[Found]:
    """Say who hangs in the kernel with a card, and which engine was swapped out."""
    for one in seen.processes:
        if one.state == _HUNG and (one.cards or "nv" in one.waits_in or "uvm" in one.waits_in):
            where = f" in {one.waits_in}" if one.waits_in not in ("", "0") else ""
            yield Found("undying", "", (f"PID {one.pid} ({one.name}) is in D state{where}",))
    for unit in seen.subjects:
        cgroup = seen.unit(unit)["ControlGroup"]
        mine = [one for one in seen.processes if cgroup and one.cgroup.startswith(cgroup)]
        swapped = sum(one.swap_kib for one in mine)
        if swapped:
            yield Found("engine-swapped", unit, (f"{swapped // 1024} MiB of it lie in swap",))


def owner(seen: Seen, cgroup: str, parent: int) -> Tuple[str, str]:
    """Say to whom a process with a card belongs: (kind, name).

    "service" runs, "container" too, "person" is a login; "nobody": its unit is down, or it has
    none and its parent is gone.
    """
    names: List[str] = [name for name in cgroup.split("/") if name]
    units = [name for name in names if name.endswith((".service", ".scope"))]
    name = units[0] if units else ""
    if any(word.startswith(("docker", "libpod", "cri-containerd")) for word in names):
        return "container", names[-1]
    if name.startswith(("session-", *_LOGINS)):
        return ("nobody" if parent == 1 else "person"), name
    if name.endswith(".service"):
        unit = seen.unit(name)
        alive = unit.up or unit["ActiveState"] == "deactivating"
        return ("service" if alive else "nobody"), name
    return ("service", name) if name and name != "init.scope" else ("nobody", cgroup or "/")
