"""The way to a host, hop by hop: what the configuration says, and one login after the other.

Fabric reads ~/.ssh/config (users, ports, keys, ProxyJump, ProxyCommand) and logs in. Sockets are
ours: a deadline a hop, TCP_NODELAY (0.1 s a connection), a dead line noticed. Hosts behind the
same jump host share one login there: sshd drops logins at random when ten begin at once.
"""

import contextlib
import socket
import threading
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import fabric
import paramiko

from headway.control.errors import ConfigError, UnreachableError
from headway.control.inventory.model import Host
from headway.control.reaching import ssh_config
from headway.control.reaching.ssh import host_keys, sentences

KEEPALIVE_S = 15
DEAD_MS = 30_000


def connected(host: Host, config_file: Path | None, connect_s: int) -> fabric.Connection:
    """Log in to a host over its jump hosts, each hop within `connect_s` seconds."""
    target = _described(host, config_file)
    before: fabric.Connection | None = None
    for jump in _jumps(target):
        try:
            before = _SHARED.through(jump, before, connect_s)
        except UnreachableError as error:
            problem = f"{host.name}: by way of {error}"
            raise UnreachableError(problem, hint=error.hint) from None
    target.original_host = host.name  # what messages call it
    try:
        _open(target, before, connect_s)
    except ValueError as error:
        raise _misfit(config_file, host, error) from None
    return target


def close(hop: fabric.Connection) -> None:
    """Log out; what is gone already is fine."""
    with contextlib.suppress(OSError, EOFError, paramiko.SSHException):
        hop.close()


# --- what the configuration says ----------------------------------------------------------------


def _described(host: Host, config_file: Path | None) -> fabric.Connection:
    if host.key_file:
        _refuse_unreadable(host, Path(host.key_file).expanduser())
    words = ssh_config.of_host(host)
    own = ssh_config.for_host(host.address, words) if words else ""
    try:
        config = fabric.Config(lazy=True, ssh_config=_parsed(own + _text(config_file)))
        jump: str = config.base_ssh_config.lookup(host.address).get("proxyjump", "")
        return fabric.Connection(
            host.address,
            user=host.user,
            port=host.port,
            config=config,
            gateway=False if jump.lower() == "none" else None,
            connect_kwargs={"key_filename": [host.key_file]} if host.key_file else {},
        )
    except (paramiko.SSHException, ValueError) as error:
        raise _misfit(config_file, host, error) from None


def _misfit(config_file: Path | None, host: Host, error: Exception) -> ConfigError:
    """Make the error of a configuration that no connection can be made of."""
    number = str(error).partition("with base 10: ")[2]  # what int() says of 'abc'
    problem = f"a whole number is wanted for {host.name}, got {number}" if number else str(error)
    return ConfigError(str(config_file or ssh_config.USER), problem)


@lru_cache(maxsize=8)
def _text(config_file: Path | None) -> str:
    return ssh_config.text(config_file)


@lru_cache(maxsize=1024)
def _parsed(text: str) -> paramiko.SSHConfig:
    return paramiko.SSHConfig.from_text(text)


def _refuse_unreadable(host: Host, path: Path) -> None:
    try:
        with path.open("rb"):
            why = "" if sentences.is_key(str(path)) else "is no private key"
    except OSError as error:
        why = f"cannot be read: {error.strerror}"
    if why:
        hint = "look at ansible_ssh_private_key_file"
        raise UnreachableError(f"{host.name}: key {path} {why}", hint=hint)


def _jumps(target: fabric.Connection) -> Sequence[fabric.Connection]:
    """List the jump hosts on the way, the outermost first."""
    jumps: list[fabric.Connection] = []
    hop = target
    while isinstance(hop.gateway, fabric.Connection):
        hop = hop.gateway
        jumps.insert(0, hop)
    return jumps


# --- one hop ------------------------------------------------------------------------------------


class _Shared:
    """Logins on jump hosts, one each, kept until the program ends."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._locks: dict[tuple[Any, ...], threading.Lock] = {}
        self._open: dict[tuple[Any, ...], fabric.Connection] = {}

    def through(
        self, jump: fabric.Connection, before: fabric.Connection | None, connect_s: int
    ) -> fabric.Connection:
        """Give the login on this jump host; the first to need it makes it, the others wait."""
        key = (jump.host, jump.port, jump.user, id(before) if before is not None else 0)
        with self._lock:
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:
            known = self._open.get(key)
            if known is not None and known.is_connected:
                return known
            _open(jump, before, connect_s)
            self._open[key] = jump
            return jump


_SHARED = _Shared()


def _open(hop: fabric.Connection, through: fabric.Connection | None, connect_s: int) -> None:
    """Connect and log in, from here or from inside the connection before it."""
    timeout_s = hop.connect_timeout or connect_s
    files = host_keys.known_hosts(hop)
    keepalive_s = int(hop.ssh_config.get("serveraliveinterval", KEEPALIVE_S))
    host_keys.trust(hop, files)
    try:
        sock = _socket(hop, through, timeout_s)
        hop.gateway = False  # the way to it is open already
        hop.connect_kwargs = {**hop.connect_kwargs, **_logging_in(hop, timeout_s), "sock": sock}
        hop.open()
        hop.transport.set_keepalive(keepalive_s)
    except BaseException as error:
        close(hop)
        if isinstance(error, paramiko.BadHostKeyException):
            raise host_keys.changed(hop, files, error) from None
        if isinstance(error, paramiko.AuthenticationException):
            raise sentences.refused(hop, error) from None
        if isinstance(error, (OSError, EOFError, UnicodeError, paramiko.SSHException)):
            raise sentences.unreached(hop, error, timeout_s) from None
        raise


def _socket(hop: fabric.Connection, through: fabric.Connection | None, timeout_s: float) -> Any:  # noqa: ANN401 # a socket, a channel, or a ProxyCommand
    if through is not None:
        return through.transport.open_channel(
            "direct-tcpip", (hop.host, int(hop.port)), ("", 0), timeout=timeout_s
        )
    if hop.gateway:  # a ProxyCommand
        return hop.open_gateway()
    sock = socket.create_connection((hop.host, int(hop.port)), timeout=timeout_s)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, DEAD_MS)
    return sock


def _logging_in(hop: fabric.Connection, timeout_s: float) -> dict[str, object]:
    """Say which keys to try, the inventory's first, and how long each step may take."""
    names = hop.connect_kwargs.get("key_filename") or []
    files = [str(path) for path in (Path(name).expanduser() for name in names) if path.is_file()]
    first = next((file for file in files if sentences.usable(file) is not None), None)
    return {
        "pkey": sentences.usable(first) if first else None,
        "key_filename": [file for file in files if file != first],
        "look_for_keys": hop.ssh_config.get("identitiesonly", "no") != "yes",
        "banner_timeout": timeout_s,
        "auth_timeout": 3 * timeout_s,
        "channel_timeout": timeout_s,
    }
