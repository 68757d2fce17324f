"""HTTP/1.1 as the stand-in speaks it: one request at a time on a connection that stays open."""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from .answers import Answers, Stream, Whole
from .asked import asked_of
from .dialect import Dialect, Refused
from .knobs import KnobError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .engine import Engine
    from .generation import Generation

CONTROL = "/_standin"  # GET shows knobs and counts, POST turns knobs
_COMPLETIONS = ("/v1/completions", "/v1/chat/completions")
_REASONS = {200: "OK", 307: "Temporary Redirect", 400: "Bad Request", 404: "Not Found"}
_NO_BODY = b""
_HTML = b"<html>Welcome to another service</html>"
_OPEN = ("/health", "/ping", "/metrics")  # without the key, too


class Connection(asyncio.Protocol):
    """One client; what it asks is answered by the engine."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.transport: asyncio.Transport
        self._seen = bytearray()
        self._generation: Generation | None = None
        self._trickling = bytearray()

    # --- what comes --------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the way back."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        """Give up what the client does not wait for any more."""
        del exc
        if self._generation is not None:
            self._generation.cancel()
            self._generation = None

    def data_received(self, data: bytes) -> None:
        """Gather a request and answer it."""
        self._seen += data
        while self._generation is None:
            head, found, rest = self._seen.partition(b"\r\n\r\n")
            if not found:
                return
            first, *lines = head.decode("latin-1").split("\r\n")
            headers = {
                name.lower(): value.strip()
                for name, _, value in (line.partition(":") for line in lines)
            }
            length = int(headers.get("content-length", "0"))
            if len(rest) < length:
                return
            self._seen = bytearray(rest[length:])
            method, target, _ = first.split(" ", 2)
            self._answer(method, target, headers, bytes(rest[:length]))

    def _answer(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> None:
        path = target.partition("?")[0]
        if path == CONTROL:
            self._control(method, body)
            return
        try:
            self._serve(method, path, headers, body)
        except Refused as refused:
            self.engine.counters.failed += 1
            self.whole(refused.status, _NO_BODY if refused.body is None else _json(refused.body))

    def _control(self, method: str, body: bytes) -> None:
        """Turn knobs, and show what it was asked so far; in no engine's name."""
        try:
            if method == "POST":
                self.engine.turn(json.loads(body))
        except (KnobError, ValueError) as error:
            self.whole(400, _json({"error": str(error)}))
            return
        load = self.engine.load()
        shown = {"requests": self.engine.requests, "running": load.running, "waiting": load.waiting}
        self.whole(200, _json({**shown, "counters": asdict(self.engine.counters)}))

    def _serve(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> None:
        engine, dialect, knobs = self.engine, self.engine.dialect, self.engine.knobs
        if knobs.redirect:
            self.whole(307, _NO_BODY, {"location": knobs.redirect})
            return
        if engine.is_loading():
            raise dialect.loading()
        if path == "/health" and knobs.health_status:
            raise Refused(knobs.health_status, dialect.loading().body)
        wanted = f"Bearer {knobs.key}" if knobs.key else None
        if wanted and path not in _OPEN and headers.get("authorization") != wanted:
            raise dialect.locked()
        if method == "POST":
            self._write(path, body)
        else:
            self._read(path)

    def _read(self, path: str) -> None:
        engine, dialect = self.engine, self.engine.dialect
        pages = dialect.pages(engine.load())
        if path == "/metrics" and engine.knobs.metrics:
            self.whole(200, engine.metrics().encode(), kind="text/plain; version=0.0.4")
        elif path == "/metrics":
            raise Refused(dialect.no_metrics_status, dialect.not_found().body)
        elif path in pages:
            self.whole(200, _NO_BODY if pages[path] is None else _json(pages[path]))
        else:
            raise dialect.not_found()

    def _write(self, path: str, body: bytes) -> None:
        dialect = self.engine.dialect
        posts = dialect.posts()
        if path in _COMPLETIONS:
            self._complete(_object(dialect, body), chat="chat" in path)
        elif path in posts:
            self.whole(200, _json(posts[path](_object(dialect, body))))
        else:
            raise dialect.not_found()

    def _complete(self, body: Mapping[str, Any], *, chat: bool) -> None:
        dialect = self.engine.dialect
        try:
            asked = asked_of(body, chat=chat)
        except (LookupError, TypeError, ValueError) as error:
            raise dialect.error(400, f"validation error: {error}", "Bad Request") from None
        generation = self.engine.accept(asked)
        answer = generation.knobs.answer
        if answer:
            instead = {"empty": _NO_BODY, "error": _json(dialect.broken().body), "html": _HTML}
            self.whole(200, instead[answer])
            return
        self._generation = generation
        answers = Answers(dialect, generation)
        generation.begin(Stream(answers, self) if asked.stream else Whole(answers, self))

    # --- what goes ---------------------------------------------------------------------------

    def whole(
        self,
        status: int,
        body: bytes,
        more: Mapping[str, str] | None = None,
        kind: str = "application/json",
    ) -> None:
        """Send one answer with its length."""
        self.head(status, {"content-length": str(len(body)), "content-type": kind, **(more or {})})
        self.write(body)
        self.done()

    def head(self, status: int, headers: Mapping[str, str]) -> None:
        """Send the head of an answer."""
        reason = _REASONS.get(status, "Status")
        server = self.engine.dialect.server
        named = {"server": server, **headers} if server else headers
        lines = [f"HTTP/1.1 {status} {reason}", *(f"{name}: {one}" for name, one in named.items())]
        self.write("\r\n".join([*lines, "", ""]).encode())

    def write(self, data: bytes) -> None:
        """Send bytes, at once or one after the other."""
        every = self._generation.knobs.trickle_ms if self._generation is not None else 0
        if not every:
            self.transport.write(data)
            return
        idle = not self._trickling
        self._trickling += data
        if idle:
            self._drip(every / 1000)

    def _drip(self, every_s: float) -> None:
        if self._trickling and not self.transport.is_closing():
            self.transport.write(bytes(self._trickling[:1]))
            del self._trickling[:1]
            asyncio.get_running_loop().call_later(every_s, self._drip, every_s)

    def done(self) -> None:
        """Be ready for the next request."""
        self._generation = None
        if self._seen:
            self.data_received(b"")

    def cut(self) -> None:
        """Close in the middle, with what was sent so far."""
        self._generation = None
        self.transport.close()


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _object(dialect: Dialect, body: bytes) -> Mapping[str, Any]:
    try:
        found = json.loads(body or b"{}")
    except ValueError as error:
        raise dialect.error(400, f"JSON decode error: {error}", "Bad Request") from None
    if not isinstance(found, dict):
        raise dialect.error(400, "a JSON object is wanted", "Bad Request")
    return found
