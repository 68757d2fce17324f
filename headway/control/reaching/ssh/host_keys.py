"""Host keys: none is trusted that nobody vouched for, and the message says how a person can."""

import shlex
from collections.abc import Sequence
from pathlib import Path

import fabric
import paramiko
from paramiko.hostkeys import InvalidHostKey

from headway.control.errors import UnreachableError

USER = "~/.ssh/known_hosts ~/.ssh/known_hosts2"
SYSTEM = "/etc/ssh/ssh_known_hosts /etc/ssh/ssh_known_hosts2"


def known_hosts(hop: fabric.Connection) -> list[Path]:
    """Name the files that vouch for host keys; a person adds to the first."""
    mine = hop.ssh_config.get("userknownhostsfile", USER)
    system = hop.ssh_config.get("globalknownhostsfile", SYSTEM)
    return [Path(name).expanduser() for name in shlex.split(mine) + shlex.split(system)]


def trust(hop: fabric.Connection, files: Sequence[Path]) -> None:
    """Accept what these files vouch for, and nothing else."""
    for path in files:
        try:
            if path.is_file():
                hop.client.load_system_host_keys(str(path))
        except (InvalidHostKey, OSError, UnicodeDecodeError) as error:
            said = getattr(error, "line", str(error)).strip()[:60]
            raise UnreachableError(f"{path}: no host key can be read there: {said}") from None
    hop.client.set_missing_host_key_policy(_Refuse(hop, files))


class _Refuse(paramiko.MissingHostKeyPolicy):
    """Nobody vouched for this key."""

    def __init__(self, hop: fabric.Connection, files: Sequence[Path]) -> None:
        self._hop = hop
        self._file = files[0]

    def missing_host_key(
        self, client: paramiko.SSHClient, hostname: str, key: paramiko.PKey
    ) -> None:
        """Refuse, with the command that adds it."""
        del client
        raise UnreachableError(
            f"{self._hop.original_host}: the host key of {hostname} is unknown"
            f" ({key.get_name()} {key.fingerprint})",
            hint=f"compare it with the machine's own, then: {_add(self._hop, self._file)}",
        )


def changed(
    hop: fabric.Connection, files: Sequence[Path], error: paramiko.BadHostKeyException
) -> UnreachableError:
    """Say that another key answers than the one vouched for, and how to accept it on purpose."""
    name = hop.host if hop.port == paramiko.config.SSH_PORT else f"[{hop.host}]:{hop.port}"
    file = next((path for path in files if _holds(path, name)), files[0])
    forget = f"ssh-keygen -f {file} -R {shlex.quote(name)}"
    return UnreachableError(
        f"{hop.original_host}: the host key of {name} has changed to"
        f" {error.key.get_name()} {error.key.fingerprint}: reinstalled, or not that machine",
        hint=f"if it was reinstalled: {forget} && {_add(hop, file)}",
    )


def _add(hop: fabric.Connection, file: Path) -> str:
    return f"ssh-keyscan -p {hop.port} {hop.host} >> {file}"


def _holds(path: Path, name: str) -> bool:
    return path.is_file() and paramiko.HostKeys(str(path)).lookup(name) is not None
