"""HTTP to this host's own services: no proxy, no redirect, nothing of the environment."""

import time
from typing import TYPE_CHECKING, Callable, Dict, Optional

from headway.wire.tools import HttpAnswer, Unreached

if TYPE_CHECKING:
    from http.client import HTTPResponse
    from socket import socket

BODY_LIMIT = 16 * 1024 * 1024  # bytes of an answer that are kept
_CHUNK = 64 * 1024


class RealHttp:
    """Asks through http.client, which is imported when it is needed: it costs 20 ms."""

    def __init__(self, left_s: Callable[[], int]) -> None:
        self.left_s = left_s

    def ask(
        self,
        method: str,
        url: str,
        body: Optional[bytes] = None,
        headers: Optional[Dict[str, str]] = None,
        timeout_s: int = 30,
    ) -> HttpAnswer:
        """Send one request and read its answer whole within `timeout_s`, or raise Unreached."""
        import http.client
        import socket
        from urllib.parse import urlsplit

        parts = urlsplit(url)
        allowed_s = min(timeout_s, self.left_s())
        began = time.monotonic()
        secure = parts.scheme == "https"
        kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        connection = kind(parts.hostname or "", parts.port, timeout=allowed_s)
        target = (parts.path or "/") + ("?" + parts.query if parts.query else "")
        try:
            connection.request(method, target, body, headers or {})
            answer = connection.getresponse()
            data = _body(answer, connection.sock, began + allowed_s)
        except ConnectionRefusedError:
            raise Unreached(f"{url}: nobody listens", refused=True) from None
        except (socket.timeout, TimeoutError):  # two things before Python 3.10
            raise Unreached(f"{url}: no answer within {allowed_s} s") from None
        except (OSError, http.client.HTTPException) as error:
            raise Unreached(f"{url}: {type(error).__name__}: {error}") from None
        finally:
            connection.close()
        names = {name.lower(): value for name, value in answer.getheaders()}
        return HttpAnswer(answer.status, data, names, int((time.monotonic() - began) * 1000))


def _body(answer: "HTTPResponse", sock: "Optional[socket]", until: float) -> bytes:
    """Read what comes until time is up: a server that trickles must not hold the gate."""
    data = bytearray()
    while len(data) < BODY_LIMIT:
        left = until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        if sock is not None:
            sock.settimeout(left)
        chunk = answer.read1(_CHUNK)
        if not chunk:
            break
        data += chunk
    return bytes(data)
