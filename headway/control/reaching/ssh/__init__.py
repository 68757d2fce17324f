"""SSH to a host: the one home of fabric and paramiko. Every failure is one line (sentences.py)."""

import contextlib
import logging
import select
from collections.abc import Sequence
from pathlib import Path

import fabric
import paramiko

from headway.control.errors import LostError
from headway.control.inventory.model import Host
from headway.control.reaching.ssh import hops
from headway.control.reaching.transport import Received

SESSION_S = 30
_CHUNK_BYTES = 1 << 16
_LOST = -1  # paramiko's exit status of a channel that went without one

# Paramiko logs what it also raises, with tracebacks, to stderr: messages are ours to make.
logging.getLogger("paramiko").addHandler(logging.NullHandler())
logging.getLogger("paramiko").propagate = False


def connect(host: Host, config_file: Path | None, connect_s: int) -> "Ssh":
    """Log in to a host, or raise UnreachableError with the one line that says why not."""
    return Ssh(host.name, hops.connected(host, config_file, connect_s))


class Ssh:
    """A Transport over one SSH connection."""

    def __init__(self, name: str, connection: fabric.Connection) -> None:
        self._name = name
        self._connection = connection

    def converse(self, argv: Sequence[str]) -> "SshStream":
        """Start a program; the words reach it whatever shell the login has."""
        command = " ".join(quoted(word) for word in argv)
        try:
            channel = self._connection.transport.open_session(timeout=SESSION_S)
            channel.exec_command(command)
        except (paramiko.SSHException, OSError, EOFError) as error:
            why = getattr(error, "text", "") or error
            hint = "look at MaxSessions in its sshd_config, and at `journalctl -u ssh` there"
            raise LostError(f"{self._name}: no session was opened: {why}", hint=hint) from None
        return SshStream(channel, self._name)

    def close(self) -> None:
        """Log out."""
        hops.close(self._connection)


class SshStream:
    """A program at the other end of an SSH channel."""

    def __init__(self, channel: paramiko.Channel, name: str) -> None:
        self._channel = channel
        self._name = name
        self._poll = select.poll()
        self._poll.register(channel.fileno(), select.POLLIN)

    def receive(self, timeout_s: float) -> Received:
        """Wait for bytes on either stream, the end, or the timeout."""
        channel = self._channel
        self._poll.poll(timeout_s * 1000)
        out = channel.recv(_CHUNK_BYTES) if channel.recv_ready() else b""
        err = channel.recv_stderr(_CHUNK_BYTES) if channel.recv_stderr_ready() else b""
        if out or err or not (channel.closed or channel.eof_received):
            return Received(out, err)
        if not channel.exit_status_ready():
            channel.status_event.wait(timeout_s)
            return Received()
        status = channel.exit_status
        return Received(ended=True, status=None if status == _LOST else status)

    def send(self, data: bytes) -> None:
        """Write all of it."""
        try:
            self._channel.sendall(data)
        except (OSError, EOFError, paramiko.SSHException):
            raise LostError(f"{self._name}: the connection is gone") from None

    def finish(self) -> None:
        """Send the end of the input; a connection that is gone is told by the next look."""
        with contextlib.suppress(OSError, EOFError, paramiko.SSHException):
            self._channel.shutdown_write()

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
