"""One small GET to a local server or daemon, over TCP or a unix socket, within a deadline.

HTTP/1.0, so that the answer ends with the connection. It spares the 20 ms of http.client.
"""

import socket
import time
from typing import Tuple, Union

LIMIT = 4 << 20
_CHUNK = 1 << 16
Where = Union[str, Tuple[str, int]]


class SilentError(Exception):
    """No answer: "refused" where nobody listens, "late" where nothing came in time."""


def get(
    where: Where, path: str, within_s: float, headers: str = "", limit: int = LIMIT
) -> Tuple[int, bytes]:
    """Ask a unix socket's path, or (address, port); status and body, or SilentError.

    No more than about `limit` bytes are read.
    """
    until = time.monotonic() + within_s
    if isinstance(where, str):
        kind = socket.AF_UNIX
    else:
        kind = socket.AF_INET6 if ":" in where[0] else socket.AF_INET
    with socket.socket(kind, socket.SOCK_STREAM) as sock:
        try:
            sock.settimeout(within_s)
            sock.connect(where)
            sock.sendall(f"GET {path} HTTP/1.0\r\nHost: localhost\r\n{headers}\r\n".encode())
            data = _read(sock, until, limit)
        except socket.timeout:
            raise SilentError("late") from None
        except OSError as error:
            raise SilentError("refused" if "refused" in str(error) else str(error)) from None
    head, _, body = data.partition(b"\r\n\r\n")
    words = head.split(None, 2)
    if len(words) < 2 or not words[1].isdigit():  # noqa: PLR2004 # HTTP/1.0 200
        raise SilentError("what it says is not HTTP")
    return int(words[1]), body


def _read(sock: socket.socket, until: float, limit: int) -> bytes:
    data = bytearray()
    while len(data) < limit:
        left = until - time.monotonic()
        if left <= 0:
            raise socket.timeout
        sock.settimeout(left)
        chunk = sock.recv(_CHUNK)
        if not chunk:
            break
        data += chunk
    return bytes(data)
