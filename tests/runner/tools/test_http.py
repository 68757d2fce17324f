"""HTTP to services of this host, against real sockets on loopback."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from headway.runner.tools.http import RealHttp
from headway.wire.tools import Unreached


class Site(BaseHTTPRequestHandler):
    """Answers a few paths."""

    def do_POST(self) -> None:
        """Send the body back, with the method and a header of the request."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self._say(201, body + b" " + self.headers["Authorization"].encode())

    def do_GET(self) -> None:
        """Redirect, or say the path."""
        status = 302 if self.path == "/moved" else 503 if self.path == "/loading" else 200
        self._say(status, self.path.encode())

    def _say(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Location", "/elsewhere")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_words: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    """Serve the site on a free port."""
    server = HTTPServer(("127.0.0.1", 0), Site)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@contextmanager
def peer(behave: Callable[[socket.socket], None]) -> Iterator[str]:
    """Accept one connection and behave on it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                behave(connection)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
        thread.join()


def test_an_answer_of_any_status_is_an_answer(site: str) -> None:
    """503 is for the check to read."""
    found = RealHttp(lambda: 5).ask("GET", site + "/loading?a=b")

    assert (found.status, found.body) == (200, b"/loading?a=b")
    assert RealHttp(lambda: 5).ask("GET", site + "/loading").status == 503
    assert found.headers["content-length"] == "12"


def test_body_and_headers_go_out(site: str) -> None:
    """A completion is a POST with a key."""
    found = RealHttp(lambda: 5).ask("POST", site, b"{}", {"Authorization": "Bearer x"})

    assert (found.status, found.body) == (201, b"{} Bearer x")


def test_no_redirect_and_no_proxy(site: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another page's health is not this one's, and a proxy answers for nobody."""
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")

    assert RealHttp(lambda: 5).ask("GET", site + "/moved").status == 302


def test_refused_is_told_from_silent() -> None:
    """Nobody listens: still loading, or dead."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

    with pytest.raises(Unreached, match="nobody listens") as error:
        RealHttp(lambda: 5).ask("GET", f"http://127.0.0.1:{port}/")
    assert error.value.refused


def test_silence_ends_with_what_is_left_of_the_gate() -> None:
    """The gate's deadline is shorter than the request's own."""
    silent = pytest.raises(Unreached, match="no answer within 1 s")
    with peer(lambda _connection: time.sleep(1.2)) as url, silent as error:
        RealHttp(lambda: 1).ask("GET", url, timeout_s=30)
    assert not error.value.refused


@pytest.mark.parametrize("said", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"])
def test_a_trickle_ends_as_well(said: bytes) -> None:
    """A byte every 0.1 s, of the head or of the body, would outlast a timeout of each read."""

    def trickle(connection: socket.socket) -> None:
        connection.sendall(said)
        for _ in range(13):
            time.sleep(0.1)
            try:
                connection.sendall(b"x")
            except OSError:
                return

    with peer(trickle) as url, pytest.raises(Unreached, match="no answer within 1 s"):
        RealHttp(lambda: 1).ask("GET", url)


@pytest.mark.parametrize("said", [b"220 mail ready\r\n", b""])
def test_what_is_not_http_is_unreached(said: bytes) -> None:
    """Something else listens there."""
    speaker = peer(lambda connection: connection.sendall(said))
    with speaker as url, pytest.raises(Unreached) as error:
        RealHttp(lambda: 5).ask("GET", url)
    assert not error.value.refused


def test_an_answer_is_heard_while_it_comes() -> None:
    """Each piece has its own time, counted from when the request was out."""

    def speak(connection: socket.socket) -> None:
        connection.recv(1000)
        connection.sendall(b"HTTP/1.1 200 OK\r\nX-Who: me\r\n\r\nfirst")
        time.sleep(0.05)
        connection.sendall(b"second")

    with peer(speak) as url:
        answer = RealHttp(lambda: 5).stream("GET", url)
        pieces = list(answer.pieces())
        answer.close()
    assert (answer.status, answer.headers["x-who"]) == (200, "me")
    assert [piece.data for piece in pieces] == [b"first", b"second"]
    assert answer.sent_us <= pieces[0].at_us
    assert pieces[1].at_us - pieces[0].at_us > 40_000


def test_an_answer_that_stops_coming_ends_with_its_time() -> None:
    """What came before is kept by whoever listened; the silence is Unreached."""

    def stall(connection: socket.socket) -> None:
        connection.recv(1000)
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\nfirst")
        time.sleep(1.2)

    with peer(stall) as url:
        answer = RealHttp(lambda: 5).stream("GET", url, timeout_s=1)
        pieces = answer.pieces()
        assert next(pieces).data == b"first"
        with pytest.raises(Unreached, match="no answer within 1 s"):
            next(pieces)
        answer.close()
