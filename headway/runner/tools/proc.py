"""Processes and sockets as /proc shows them; one that is gone by now is no error."""

import contextlib
import os
from typing import Dict, List, Tuple

from headway.wire.tools import Listener

_LISTEN = "0A"
_START = 19  # field 22 of /proc/PID/stat, behind the name
_HIERARCHIES = ("/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/systemd")


class RealProc:
    """Reads /proc and the cgroup hierarchy; `root` is put before both, "" on a real host."""

    def __init__(self, root: str = "") -> None:
        self.root = root

    def argv(self, pid: int) -> Tuple[bytes, ...]:
        """Read the words a process was started with, empty ones too; () when it is gone."""
        data = self._read(f"/proc/{pid}/cmdline")
        return tuple(data[:-1].split(b"\0")) if data.endswith(b"\0") else (data,) if data else ()

    def environ(self, pid: int) -> Dict[str, str]:
        """Read the environment a process was started with; {} when it is gone."""
        words = os.fsdecode(self._read(f"/proc/{pid}/environ")).split("\0")
        parted = (word.partition("=") for word in words if "=" in word)
        return {name: value for name, _, value in parted}

    def listeners(self, port: int) -> Tuple[Listener, ...]:
        """Name every listening TCP socket on a port, whoever owns it."""
        found = [
            (address, inode)
            for table in ("tcp", "tcp6")
            for address, inode in _listening(self._read(f"/proc/net/{table}").decode(), port)
        ]
        owners = self._owners([inode for _, inode in found]) if found else {}
        return tuple(
            self._listener(address, port, owners.get(inode, 0)) for address, inode in found
        )

    def pids(self, cgroup: str) -> Tuple[int, ...]:
        """Name the processes of a cgroup and all below it."""
        folders = (self.root + hierarchy + cgroup for hierarchy in _HIERARCHIES)
        folder = next((folder for folder in folders if os.path.isdir(folder)), None)
        found: List[int] = []
        for place, _, names in os.walk(folder) if folder else ():
            if "cgroup.procs" in names:
                found.extend(int(pid) for pid in _bytes_of(place + "/cgroup.procs").split())
        return tuple(sorted(found))

    def status(self, pid: int) -> Dict[str, str]:
        """Read /proc/PID/status by its names; {} when it is gone."""
        rows = self._read(f"/proc/{pid}/status").decode(errors="replace").splitlines()
        return {name: value.strip() for name, _, value in (row.partition(":") for row in rows)}

    def cgroup(self, pid: int) -> str:
        """Read the cgroup systemd knows it by: the unified one, or its own of version 1."""
        rows = self._read(f"/proc/{pid}/cgroup").decode(errors="replace").splitlines()
        paths = {row.split(":", 2)[1]: row.split(":", 2)[2] for row in rows if row.count(":") > 1}
        unified = paths.get("", "/")
        return unified if unified != "/" else paths.get("name=systemd", unified)

    def started_us(self, pid: int) -> int:
        """Read when a process was started, in microseconds since boot; 0 when it is gone."""
        fields = self._read(f"/proc/{pid}/stat").decode(errors="replace").rpartition(")")[2].split()
        return int(fields[_START]) * 1_000_000 // os.sysconf("SC_CLK_TCK") if fields else 0

    def _listener(self, address: str, port: int, pid: int) -> Listener:
        if not pid:
            return Listener(address, port, 0, "", "")
        words = self.argv(pid)
        command = b" ".join(word for word in words if word).decode(errors="replace")
        behind = (
            self._behind_proxy(words) if words[:1] and words[0].endswith(b"docker-proxy") else 0
        )
        return Listener(address, port, pid, self.cgroup(behind or pid), command)

    def _behind_proxy(self, words: Tuple[bytes, ...]) -> int:
        from headway.runner.containers.proxying import pid_behind  # where Docker publishes ports

        return pid_behind(self.root, words)

    def _owners(self, inodes: List[str]) -> Dict[str, int]:
        """Find who holds each socket; of several the smallest number, mostly a parent."""
        wanted = {f"socket:[{inode}]": inode for inode in inodes}
        owners: Dict[str, int] = {}
        for pid in sorted(int(name) for name in os.listdir(self.root + "/proc") if name.isdigit()):
            for target in self._open_files(pid):
                if target in wanted:
                    owners.setdefault(wanted[target], pid)
            if len(owners) == len(wanted):
                break
        return owners

    def _open_files(self, pid: int) -> List[str]:
        folder = f"{self.root}/proc/{pid}/fd"
        targets: List[str] = []
        with contextlib.suppress(OSError):  # it ended, or closed one just now
            targets.extend(os.readlink(f"{folder}/{name}") for name in os.listdir(folder))
        return targets

    def _read(self, path: str) -> bytes:
        return _bytes_of(self.root + path)


def _bytes_of(real: str) -> bytes:
    try:
        with open(real, "rb") as file:
            return file.read()
    except OSError:
        return b""


def _listening(table: str, port: int) -> List[Tuple[str, str]]:
    """Read (address, inode) of the sockets that listen on a port out of /proc/net/tcp or tcp6."""
    found = []
    for row in table.splitlines()[1:]:
        fields = row.split()
        address, _, number = fields[1].rpartition(":")
        if fields[3] == _LISTEN and int(number, 16) == port:
            found.append((_address(address), fields[9]))
    return found


def _address(text: str) -> str:
    """Write the kernel's hexadecimal address as people do; each 32-bit word is in host order."""
    import socket
    import sys

    words = [int(text[at : at + 8], 16).to_bytes(4, sys.byteorder) for at in range(0, len(text), 8)]
    family = socket.AF_INET if len(words) == 1 else socket.AF_INET6
    return socket.inet_ntop(family, b"".join(words))
