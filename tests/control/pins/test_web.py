"""One request over a real socket: redirects, and what is no web server."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from headway.control.errors import UnreachableError
from headway.control.pins.web import ask


class Answers(BaseHTTPRequestHandler):
    """A double of a registry that sends its blobs elsewhere."""

    seen: list[tuple[str, str]]
    elsewhere: str

    def do_GET(self) -> None:
        """Redirect, or answer."""
        self.seen.append((self.path, self.headers.get("Authorization", "")))
        if self.path == "/moved":
            self.send_response(307)
            self.send_header("Location", f"{self.elsewhere}/here")
            self.end_headers()
            return
        self.send_response(404 if self.path == "/none" else 200)
        self.send_header("Docker-Content-Digest", "sha256:1")
        self.end_headers()
        self.wfile.write(b"body")

    def log_message(self, *_words: object) -> None:
        """Say nothing."""


@contextmanager
def serving() -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Serve on loopback; gives the URL and what was asked."""
    seen: list[tuple[str, str]] = []
    server = HTTPServer(("127.0.0.1", 0), type("Mine", (Answers,), {"seen": seen}))
    url = f"http://127.0.0.1:{server.server_address[1]}"
    server.RequestHandlerClass.elsewhere = url  # type: ignore[attr-defined] # the class above
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield url, seen
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_an_answer_of_any_status_is_an_answer() -> None:
    """Headers by lower-case name."""
    with serving() as (url, _):
        for path, status in (("/a", 200), ("/none", 404)):
            got = ask("GET", url + path, {})
            assert (got.status, got.headers["docker-content-digest"]) == (status, "sha256:1")
            assert got.body == b"body"


def test_no_proxy_leads_to_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Docker asks none either; other servers are asked by way of it."""
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    with serving() as (url, seen):
        ask("GET", f"{url}/a", {})
    assert seen == [("/a", "")]
    with pytest.raises(UnreachableError, match="connection refused"):
        ask("GET", "http://registry.invalid/", {})


def test_a_login_is_not_taken_along_to_where_one_is_sent() -> None:
    """A registry sends its blobs to a store of somebody else's."""
    with serving() as (url, seen):
        assert ask("GET", f"{url}/moved", {}, login="Basic word").status == 200
    assert seen == [("/moved", "Basic word"), ("/here", "")]


@contextmanager
def talking(said: bytes) -> Iterator[str]:
    """Listen on loopback, say this to whoever comes, and hang up."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def talk() -> None:
            peer, _ = server.accept()
            with peer:
                peer.recv(4096)
                peer.sendall(said)

        thread = threading.Thread(target=talk)
        thread.start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        thread.join()


def test_a_server_that_does_not_speak_our_language_is_said() -> None:
    """One line: who, and what is wrong."""
    with talking(b"HTTP/1.1 400 Bad Request\r\n\r\n") as at, pytest.raises(UnreachableError) as got:
        ask("GET", f"https://{at}/v2/", {})
    assert str(got.value) == f"{at}: it does not speak TLS"
    assert "insecure_registries" in got.value.hint
    with talking(b"SSH-2.0-OpenSSH\r\n") as at, pytest.raises(UnreachableError) as got:
        ask("GET", f"http://{at}/v2/", {})
    assert str(got.value).startswith(f"{at}: it does not speak HTTP")


def test_nobody_there_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """A closed port, and a name that is none (RFC 6761 keeps .invalid free)."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(UnreachableError, match=rf"^127.0.0.1:{port}: connection refused"):
        ask("GET", f"http://127.0.0.1:{port}/", {})
    monkeypatch.delenv("http_proxy", raising=False)
    with pytest.raises(UnreachableError, match=r"^registry.invalid: there is no such host"):
        ask("GET", "http://registry.invalid/", {})
