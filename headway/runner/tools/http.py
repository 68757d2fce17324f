"""HTTP to this host's own services: no proxy, no redirect, nothing of the environment."""

import io
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, Optional, Type

from headway.wire.tools import HttpAnswer, Piece, Unreached

if TYPE_CHECKING:
    from http.client import HTTPConnection, HTTPResponse
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
        began = time.monotonic()
        answer = self.stream(method, url, body, headers, timeout_s)
        data = bytearray()
        try:
            for piece in answer.pieces():
                data += piece.data
                if len(data) >= BODY_LIMIT:
                    break
        finally:
            answer.close()
        took_ms = int((time.monotonic() - began) * 1000)
        return HttpAnswer(answer.status, bytes(data), answer.headers, took_ms)

    def stream(
        self,
        method: str,
        url: str,
        body: Optional[bytes] = None,
        headers: Optional[Dict[str, str]] = None,
        timeout_s: int = 30,
    ) -> "RealStreaming":
        """Send one request and hear its answer while it comes, or raise Unreached."""
        import http.client
        from urllib.parse import urlsplit

        parts = urlsplit(url)
        allowed_s = min(timeout_s, self.left_s())
        secure = parts.scheme == "https"
        kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        connection = kind(parts.hostname or "", parts.port, timeout=allowed_s)
        until = time.monotonic() + allowed_s
        connection.response_class = _read_until(until)
        target = (parts.path or "/") + ("?" + parts.query if parts.query else "")
        try:
            with _translated(url, allowed_s):
                connection.request(method, target, body, headers or {})
                sent_us = _now_us()
                answer = connection.getresponse()
        except BaseException:
            connection.close()
            raise
        return RealStreaming(connection, answer, sent_us, _Asked(url, allowed_s))


class RealStreaming:
    """An answer that is still coming, until its time is up: a trickle must not hold the gate."""

    def __init__(
        self, connection: "HTTPConnection", answer: "HTTPResponse", sent_us: int, asked: "_Asked"
    ) -> None:
        self.status = answer.status
        self.headers = {name.lower(): value for name, value in answer.getheaders()}
        self.sent_us = sent_us
        self._connection = connection
        self._answer = answer
        self._asked = asked

    def pieces(self) -> Iterator[Piece]:
        """Give what comes, as it comes; Unreached where it breaks or time is up."""
        with _translated(self._asked.url, self._asked.allowed_s):
            chunk = self._answer.read1(_CHUNK)
            while chunk:
                yield Piece(_now_us(), chunk)
                chunk = self._answer.read1(_CHUNK)

    def close(self) -> None:
        """Leave it."""
        self._answer.close()
        self._connection.close()


class _Until(io.RawIOBase):
    """Reads a socket until a time; a timeout of each read alone would let a trickle go on."""

    def __init__(self, sock: "socket", until: float) -> None:
        self._sock = sock
        self._raw = sock.makefile("rb", buffering=0)
        self._until = until

    def readable(self) -> bool:
        """Say yes."""
        return True

    def readinto(self, buffer: Any) -> Optional[int]:  # noqa: ANN401 # whatever takes bytes
        """Read what is there, or wait for it as long as there is time."""
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._sock.settimeout(left)
        return self._raw.readinto(buffer)

    def close(self) -> None:
        """Let go of the socket."""
        self._raw.close()
        super().close()


def _read_until(until: float) -> "Type[HTTPResponse]":
    """Make the kind of answer whose status, headers and body all come before a time."""
    import http.client

    class _Timed(http.client.HTTPResponse):
        def __init__(
            self, sock: "socket", debuglevel: int = 0, method: Optional[str] = None
        ) -> None:
            super().__init__(sock, debuglevel, method)
            self.fp.close()
            self.fp = io.BufferedReader(_Until(sock, until))

    return _Timed


@dataclass(frozen=True)
class _Asked:
    url: str
    allowed_s: int


@contextmanager
def _translated(url: str, allowed_s: int) -> Iterator[None]:
    """Turn what can go wrong with a request into Unreached, with a sentence."""
    import http.client
    import socket

    try:
        yield
    except ConnectionRefusedError:
        raise Unreached(f"{url}: nobody listens", refused=True) from None
    except (socket.timeout, TimeoutError):  # two things before Python 3.10
        raise Unreached(f"{url}: no answer within {allowed_s} s", late=True) from None
    except (OSError, http.client.HTTPException) as error:
        raise Unreached(f"{url}: {type(error).__name__}: {error}") from None


def _now_us() -> int:
    return time.monotonic_ns() // 1000
