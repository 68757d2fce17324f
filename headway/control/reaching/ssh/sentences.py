"""What keeps us out, in one sentence with the next step: foreign exceptions end here."""

import socket
from functools import lru_cache

import fabric
import paramiko
from paramiko.pkey import UnknownKeyType

from headway.control.errors import UnreachableError

_NO_KEY = (OSError, ValueError, paramiko.SSHException, UnknownKeyType)


@lru_cache(maxsize=64)
def usable(file: str) -> paramiko.PKey | None:
    """Load a private key, once however many hosts use it; None where it is locked or no key."""
    try:
        return paramiko.PKey.from_path(file)
    except (TypeError, *_NO_KEY):
        return None


def refused(hop: fabric.Connection, error: Exception) -> UnreachableError:
    """Say who was not let in; a key with a passphrase is the likely reason where there is one."""
    locked = [name for name in hop.connect_kwargs.get("key_filename") or [] if _locked(name)]
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


def unreached(hop: fabric.Connection, error: Exception, timeout_s: float) -> UnreachableError:
    """Say why there is no SSH conversation with a hop."""
    problem, hint = _told(error, timeout_s)
    where = f"{hop.original_host}: {hop.host} port {hop.port}"
    by_hand = f"try ssh -v -p {hop.port} {hop.user}@{hop.host} true"
    return UnreachableError(f"{where}: {problem}", hint=hint or by_hand)


def _told(error: Exception, timeout_s: float) -> tuple[str, str]:
    if isinstance(error, (socket.gaierror, UnicodeError)):
        return "the name is not known", "look at ansible_host, or at the DNS"
    if isinstance(error, TimeoutError):
        return f"no answer within {timeout_s:.0f} s", "is it up, and is the port open?"
    if isinstance(error, ConnectionRefusedError):
        return "nobody listens there", "is sshd running? look at ansible_port"
    if isinstance(error, paramiko.ChannelException):
        return f"the jump host cannot reach it ({error.text})", "try it from the jump host"
    said = getattr(error, "strerror", None) or str(error) or type(error).__name__
    file = getattr(error, "filename", None)  # a ProxyCommand that is not there
    return f"no SSH conversation: {said}" + (f": {file}" if file else ""), ""


def is_key(file: str) -> bool:
    """Say whether a file holds a private key, locked or not."""
    return usable(file) is not None or _locked(file)


def _locked(name: str) -> bool:
    try:
        paramiko.PKey.from_path(name)
    except TypeError:
        return True  # cryptography's word for "a password is needed"
    except _NO_KEY:
        return False
    return False
