"""SSH to a host: the one home of fabric and paramiko.

Fabric reads the configuration (~/.ssh/config, jump hosts, users, ports) and logs in; sockets,
host keys and streams are ours: a deadline a hop, TCP_NODELAY, and no key that nobody vouched for.
Every failure is one line of UnreachableError that says what to do next.
"""

import contextlib
import logging
import select
import shlex
import socket
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import fabric
import paramiko
from paramiko.pkey import UnknownKeyType

from headway.control import ssh_config
from headway.control.errors import ConfigError, LostError, UnreachableError
from headway.control.inventory.model import Host
from headway.control.transport import Received

SESSION_S = 30
KEEPALIVE_S = 15
DEAD_MS = 45_000
KNOWN_HOSTS = "~/.ssh/known_hosts ~/.ssh/known_hosts2"
SYSTEM_KNOWN_HOSTS = "/etc/ssh/ssh_known_hosts /etc/ssh/ssh_known_hosts2"
_CHUNK_BYTES = 1 << 16
_LOST = -1  # paramiko's exit status of a channel that went without one

# Paramiko logs what it also raises, with tracebacks, to stderr: messages are ours to make.
logging.getLogger("paramiko").addHandler(logging.NullHandler())
logging.getLogger("paramiko").propagate = False


def connect(host: Host, config_file: Path | None, connect_s: int) -> "Ssh":
    """Log in to a host, over its jump hosts, each hop within `connect_s` seconds.

    UnreachableError says in one line why not.
    """
    target = _described(host, config_file)
    opened: list[fabric.Connection] = []
    try:
        for hop in _hops(target):
            _open(hop, opened[-1] if opened else None, connect_s)
            opened.append(hop)
    except BaseException:
        _close(opened)
        raise
    return Ssh(host.name, opened)


class Ssh:
    """A Transport over one SSH connection; the last hop is the host itself."""

    def __init__(self, name: str, hops: Sequence[fabric.Connection]) -> None:
        self._name = name
        self._hops = hops

    @property
    def who(self) -> str:
        """Name the login as messages do."""
        return f"{self._hops[-1].user}@{self._name}"

    def converse(self, argv: Sequence[str]) -> "SshStream":
        """Start a program; the words reach it whatever shell the login has."""
        command = " ".join(quoted(word) for word in argv)
        try:
            channel = self._hops[-1].transport.open_session(timeout=SESSION_S)
            channel.exec_command(command)
        except (paramiko.SSHException, OSError, EOFError) as error:
            raise LostError(f"{self._name}: no session could be opened: {error}") from None
        return SshStream(channel, self._name)

    def close(self) -> None:
        """Log out, the host first."""
        _close(self._hops)


class SshStream:
    """A program at the other end of an SSH channel."""

    def __init__(self, channel: paramiko.Channel, name: str) -> None:
        self._channel = channel
        self._name = name

    def receive(self, timeout_s: float) -> Received:
        """Wait for bytes on either stream, the end, or the timeout."""
        channel = self._channel
        poll = select.poll()
        poll.register(channel.fileno(), select.POLLIN)
        poll.poll(timeout_s * 1000)
        out = channel.recv(_CHUNK_BYTES) if channel.recv_ready() else b""
        err = channel.recv_stderr(_CHUNK_BYTES) if channel.recv_stderr_ready() else b""
        if out or err or not (channel.closed or channel.eof_received):
            return Received(out, err)
        if not channel.closed and not channel.exit_status_ready():
            channel.status_event.wait(timeout_s)
        if not channel.exit_status_ready():
            return Received()
        status = channel.exit_status
        return Received(ended=True, status=None if status == _LOST else status)

    def send(self, data: bytes) -> None:
        """Write all of it."""
        try:
            self._channel.sendall(data)
        except (OSError, EOFError, paramiko.SSHException):
            raise LostError(f"{self._name}: the connection is gone") from None

    def close(self) -> None:
        """Close the channel."""
        with contextlib.suppress(OSError, EOFError, paramiko.SSHException):
            self._channel.close()


def quoted(word: str) -> str:
    """Quote a word so that sh, csh and fish read it alike; ValueError where no quoting does."""
    if word and all(letter.isalnum() or letter in "-_./:=," for letter in word):
        return word
    if any(letter in word for letter in "'\\!\n"):
        raise ValueError(f"{word!r} cannot be quoted for every login shell")
    return f"'{word}'"


# --- what the configuration says ----------------------------------------------------------------


def _described(host: Host, config_file: Path | None) -> fabric.Connection:
    words = ssh_config.of_host(host)
    own = ssh_config.for_host(host.address, words) if words else ""
    try:
        config = fabric.Config(lazy=True, ssh_config=_parsed(own + _text(config_file)))
        connection = fabric.Connection(
            host.address,
            user=host.user,
            port=host.port,
            config=config,
            gateway=None if _jumps(config, host.address) else False,
            connect_kwargs={"key_filename": [host.key_file]} if host.key_file else {},
        )
    except (paramiko.SSHException, ValueError) as error:
        raise ConfigError(str(config_file or ssh_config.USER), str(error)) from None
    if host.key_file:
        _readable(host, Path(host.key_file).expanduser())
    return connection


def _jumps(config: fabric.Config, address: str) -> bool:
    jump: str = config.base_ssh_config.lookup(address).get("proxyjump", "")
    return jump.lower() != "none"


@lru_cache(maxsize=8)
def _text(config_file: Path | None) -> str:
    return ssh_config.text(config_file)


@lru_cache(maxsize=1024)
def _parsed(text: str) -> paramiko.SSHConfig:
    return paramiko.SSHConfig.from_text(text)


def _hops(target: fabric.Connection) -> list[fabric.Connection]:
    """List the connections to make, the outermost first."""
    hops = [target]
    while isinstance(hops[0].gateway, fabric.Connection):
        hops.insert(0, hops[0].gateway)
    return hops


# --- one hop ------------------------------------------------------------------------------------


def _open(hop: fabric.Connection, through: fabric.Connection | None, connect_s: int) -> None:
    """Connect and log in: to `hop` itself, or from inside the connection before it."""
    timeout_s = hop.connect_timeout or connect_s
    where = f"{hop.original_host}: {hop.host} port {hop.port}"
    files = _known_hosts(hop)
    try:
        sock = _socket(hop, through, timeout_s)
        hop.gateway = False  # the way to it is open already
        hop.connect_kwargs = {**hop.connect_kwargs, **_kwargs(hop, timeout_s), "sock": sock}
        _trust(hop, files)
        hop.open()
        hop.transport.set_keepalive(int(hop.ssh_config.get("serveraliveinterval", KEEPALIVE_S)))
    except UnreachableError:
        raise
    except paramiko.BadHostKeyException as error:
        raise _changed(hop, files, error) from None
    except paramiko.AuthenticationException as error:
        raise _refused(hop, error) from None
    except (OSError, EOFError, paramiko.SSHException) as error:
        problem, hint = _told(error, timeout_s)
        raise UnreachableError(f"{where}: {problem}", hint=hint) from None


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


def _kwargs(hop: fabric.Connection, timeout_s: float) -> dict[str, object]:
    """Say which keys to try: the first readable one is loaded once, however many hosts use it."""
    names = hop.connect_kwargs.get("key_filename") or []
    files = [str(path) for path in (Path(name).expanduser() for name in names) if path.is_file()]
    keys = [(file, key) for file in files if (key := _key(file)) is not None]
    first = keys[0] if keys else None
    return {
        "pkey": first[1] if first else None,
        "key_filename": [file for file in files if first is None or file != first[0]],
        "look_for_keys": hop.ssh_config.get("identitiesonly", "no") != "yes",
        "banner_timeout": timeout_s,
        "auth_timeout": 3 * timeout_s,
        "channel_timeout": timeout_s,
    }


@lru_cache(maxsize=64)
def _key(file: str) -> paramiko.PKey | None:
    """Load a private key; None where it cannot be used as it is (a passphrase, another format)."""
    try:
        return paramiko.PKey.from_path(file)
    except (OSError, ValueError, TypeError, paramiko.SSHException, UnknownKeyType):
        return None


def _readable(host: Host, path: Path) -> None:
    try:
        with path.open("rb"):
            return
    except OSError as error:
        raise UnreachableError(
            f"{host.name}: key {path} cannot be read: {error.strerror}",
            hint="look at ansible_ssh_private_key_file",
        ) from None


# --- host keys ----------------------------------------------------------------------------------


def _known_hosts(hop: fabric.Connection) -> list[Path]:
    mine = hop.ssh_config.get("userknownhostsfile", KNOWN_HOSTS)
    system = hop.ssh_config.get("globalknownhostsfile", SYSTEM_KNOWN_HOSTS)
    return [Path(name).expanduser() for name in shlex.split(mine) + shlex.split(system)]


def _trust(hop: fabric.Connection, files: Sequence[Path]) -> None:
    for path in files:
        if path.is_file():
            hop.client.load_system_host_keys(str(path))
    hop.client.set_missing_host_key_policy(_Refuse(hop, files))


class _Refuse(paramiko.MissingHostKeyPolicy):
    """Nobody vouched for this key: say how a person can."""

    def __init__(self, hop: fabric.Connection, files: Sequence[Path]) -> None:
        self._hop = hop
        self._file = files[0]

    def missing_host_key(
        self, client: paramiko.SSHClient, hostname: str, key: paramiko.PKey
    ) -> None:
        """Refuse."""
        del client
        raise UnreachableError(
            f"{self._hop.original_host}: the host key of {hostname} is unknown"
            f" ({key.get_name()} {_fingerprint(key)})",
            hint="compare it with the machine's own, then: "
            f"ssh-keyscan -p {self._hop.port} {self._hop.host} >> {self._file}",
        )


def _changed(
    hop: fabric.Connection, files: Sequence[Path], error: paramiko.BadHostKeyException
) -> UnreachableError:
    name = hop.host if hop.port == paramiko.config.SSH_PORT else f"[{hop.host}]:{hop.port}"
    file = next((path for path in files if _holds(path, name)), files[0])
    return UnreachableError(
        f"{hop.original_host}: the host key of {name} has changed to"
        f" {error.key.get_name()} {_fingerprint(error.key)}: reinstalled, or not that machine",
        hint=f"if it was reinstalled: ssh-keygen -f {file} -R {shlex.quote(name)}"
        f" && ssh-keyscan -p {hop.port} {hop.host} >> {file}",
    )


def _holds(path: Path, name: str) -> bool:
    return path.is_file() and paramiko.HostKeys(str(path)).lookup(name) is not None


def _fingerprint(key: paramiko.PKey) -> str:
    return key.fingerprint


# --- sentences ----------------------------------------------------------------------------------


def _refused(hop: fabric.Connection, error: Exception) -> UnreachableError:
    names = hop.connect_kwargs.get("key_filename") or []
    locked = [name for name in names if _locked(name)]
    if locked or isinstance(error, paramiko.PasswordRequiredException):
        files = " ".join(locked) or "KEY"
        return UnreachableError(
            f"{hop.original_host}: key {files} has a passphrase, and no agent offers it",
            hint=f"ssh-add {files}",
        )
    return UnreachableError(
        f"{hop.original_host}: {hop.host} does not let {hop.user} in with the keys at hand",
        hint=f"try ssh -p {hop.port} {hop.user}@{hop.host} true",
    )


def _locked(name: str) -> bool:
    try:
        paramiko.PKey.from_path(name)
    except TypeError:
        return True  # cryptography's word for "a password is needed"
    except (OSError, ValueError, paramiko.SSHException, UnknownKeyType):
        return False
    return False


def _told(error: Exception, timeout_s: float) -> tuple[str, str]:
    if isinstance(error, socket.gaierror):
        return "the name is not known", "look at ansible_host, or at the DNS"
    if isinstance(error, TimeoutError):
        return f"no answer within {timeout_s:.0f} s", "is it up, and is the port open?"
    if isinstance(error, ConnectionRefusedError):
        return "nobody listens there", "is sshd running? look at ansible_port"
    if isinstance(error, paramiko.ChannelException):
        return f"the jump host cannot reach it ({error.text})", "try it from the jump host"
    if isinstance(error, paramiko.PasswordRequiredException):
        return "a key has a passphrase, and no agent offers it", "ssh-add KEY"
    said = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return f"no SSH conversation: {said}", "try ssh -v"


def _close(hops: Sequence[fabric.Connection]) -> None:
    for hop in reversed(hops):
        with contextlib.suppress(OSError, EOFError, paramiko.SSHException):
            hop.close()
