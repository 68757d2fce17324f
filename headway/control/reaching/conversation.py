"""The conversation with a host's runner: start it, give one order, hear it out (wire/talk.py).

    with converse(transport, "gpu1", pack) as session:
        for word in session.order(rollout, blobs): ...

One order a conversation. A rollout stops at Missing until the caller asks for the next word: that
sends the blobs and Go. Words may be said from any thread; they are heard in one.
"""

import hashlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import Self

from headway.control.errors import HeadwayError, LostError, UnreachableError
from headway.control.reaching import bootstrap
from headway.control.reaching.pack import Pack
from headway.control.reaching.transport import Stream, Transport
from headway.wire.event import Answer
from headway.wire.loader import WireError, line, load, parse
from headway.wire.marks import ABSENT_MARK, HELLO_MARK
from headway.wire.talk import (
    Bytes,
    Done,
    FromHost,
    Go,
    Hello,
    Missing,
    Order,
    Request,
    Trouble,
    Wanting,
)

HELLO_S = 60
NOISE_BYTES = 1 << 20
LINE_BYTES = 1 << 26
CHUNK_BYTES = 1 << 16
_TAIL_BYTES = 4000
_LOOK_S = 1.0

Progress = Callable[[str, int, int], None]


def _silent(what: str, done: int, total: int) -> None:
    """Tell nobody."""


def converse(  # noqa: PLR0913 # what a conversation needs to know of its host
    transport: Transport,
    host: str,
    pack: Pack,
    *,
    python: str = "python3",
    progress: Progress = _silent,
    hello_s: float = HELLO_S,
    by_hand: str = "",
    spare: bool = False,
) -> "Session":
    """Start the runner there, bring it first where it is missing; UnreachableError says why not.

    `spare`: a host whose disk takes no runner has it in memory.

    `by_hand` is what a person types to run a command there, "ssh HOST" where it is left out.
    """
    stream = transport.converse(bootstrap.serve_argv(pack.sha256, python, spare=spare))
    ear = _Ear(stream, host, by_hand or f"ssh {host}")
    try:
        mark, words = ear.mark((HELLO_MARK, ABSENT_MARK), hello_s)
        if mark == ABSENT_MARK:
            _bring(ear, words, python, pack, progress)
            mark, words = ear.mark((HELLO_MARK,), hello_s)
        hello = _hello(host, words)
    except BaseException:
        ear.stream.close()
        raise
    return Session(transport, ear, hello, progress, pack)


def _hello(host: str, words: str) -> Hello:
    try:
        word = _word(words)
    except WireError as error:
        raise UnreachableError(f"{host}: the runner's hello does not fit: {error}") from None
    if isinstance(word, Hello):
        return word
    said = word.sentence if isinstance(word, Trouble) else f"not hello, but {words[:80]}"
    raise UnreachableError(f"{host}: the runner said {said}")


def _bring(ear: "_Ear", words: str, python: str, pack: Pack, progress: Progress) -> None:
    try:
        host = bootstrap.bare(words)
    except ValueError:
        raise UnreachableError(f"{ear.host}: the shell there answered {words.strip()!r}") from None
    problem = bootstrap.unfit(host, python)
    if problem is not None:
        raise UnreachableError(f"{ear.host}: {problem[0]}", hint=problem[1])
    _send(ear.stream, "runner", bootstrap.delivery(pack.data), progress)


class Session:
    """A runner that said hello, and the way to it; a transition goes on when it is closed."""

    def __init__(
        self,
        transport: Transport,
        ear: "_Ear",
        hello: Hello,
        progress: Progress,
        pack: Pack,
    ) -> None:
        self.hello = hello
        self._pack = pack
        self._transport = transport
        self._ear = ear
        self._progress = progress
        self._mouth = threading.Lock()

    def __enter__(self) -> Self:
        """Go on talking."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave the host."""
        self.close()

    def order(self, order: Order, blobs: Mapping[str, bytes] | None = None) -> Iterator[FromHost]:
        """Give the order now; the words that follow end with Done or Trouble.

        After Missing, asking for the next word sends the blobs and Go. LostError: the connection
        went before the last word.
        """
        self._say(line(order))
        return self._words(order, blobs or {})

    def _words(self, order: Order, blobs: Mapping[str, bytes]) -> Iterator[FromHost]:
        while True:
            word = self._ear.word()
            if isinstance(word, Hello):  # it began anew from memory: its disk takes nothing
                self._say(line(order))
                continue
            if isinstance(word, Wanting):
                self._hand(word.satchel)
                continue
            yield word
            if isinstance(word, (Done, Trouble)):
                return
            if isinstance(word, Missing):
                self._supply(word, blobs)

    def say(self, word: Answer | Request) -> None:
        """Say something while an order is under way."""
        self._say(line(word))

    def close(self) -> None:
        """Leave the host; a reader in another thread gets LostError."""
        self._ear.stream.close()
        self._transport.close()

    def _say(self, data: bytes) -> None:
        with self._mouth:
            self._ear.stream.send(data)

    def _hand(self, satchel: str) -> None:
        data = self._pack.satchels[satchel]
        with self._mouth:
            head = line(Bytes(hashlib.sha256(data).hexdigest(), len(data)))
            _send(self._ear.stream, "runner", head + data, self._progress)

    def _supply(self, missing: Missing, blobs: Mapping[str, bytes]) -> None:
        lacking = [blob.sha256[:12] for blob in missing.blobs if blob.sha256 not in blobs]
        if lacking:
            raise HeadwayError(
                f"{self._ear.host}: wants blobs that this release does not have: {lacking}"
            )
        with self._mouth:
            total = sum(blob.size for blob in missing.blobs)
            done = 0
            for blob in missing.blobs:
                data = blobs[blob.sha256]
                self._ear.stream.send(line(Bytes(blob.sha256, len(data))))
                for start in range(0, len(data), CHUNK_BYTES):
                    chunk = data[start : start + CHUNK_BYTES]
                    self._ear.stream.send(chunk)
                    done += len(chunk)
                    self._progress("blobs", done, total)
            self._ear.stream.send(line(Go()))


def _send(stream: Stream, what: str, data: bytes, progress: Progress) -> None:
    for start in range(0, len(data), CHUNK_BYTES):
        stream.send(data[start : start + CHUNK_BYTES])
        progress(what, min(start + CHUNK_BYTES, len(data)), len(data))


def _word(text: str | bytes) -> FromHost:
    word: FromHost = load(FromHost, parse(text))  # type: ignore[arg-type] # mypy knows no Type[Union]
    return word


class _Ear:
    """Hears a stream line by line; keeps the end of what came on standard error for messages."""

    def __init__(self, stream: Stream, host: str, by_hand: str) -> None:
        self.stream = stream
        self.host = host
        self._by_hand = by_hand
        self._heard = bytearray()
        self._noise = b""
        self._shell_works = False
        self._errors = b""

    def mark(self, marks: tuple[str, ...], deadline_s: float) -> tuple[str, str]:
        """Skip noise up to one of these marks; return it with the rest of its line."""
        until = time.monotonic() + deadline_s
        noise = 0
        while True:
            for mark in marks:
                start = self._heard.find(mark.encode())
                end = self._heard.find(b"\n", start)
                if start >= 0 and end >= 0:
                    words = self._heard[start + len(mark) : end].decode(errors="replace")
                    self._shell_works = True
                    del self._heard[: end + 1]
                    return mark, words
            # the mark itself may be cut in two: keep the last line, forget the ones before
            last = self._heard.rfind(b"\n") + 1
            noise += last
            self._noise = (self._noise + self._heard[:last])[-_TAIL_BYTES:]
            del self._heard[:last]
            if noise + len(self._heard) > NOISE_BYTES:
                raise UnreachableError(
                    f"{self.host}: over 1 MiB came before the runner answered",
                    hint=f"the login shell there prints: try {self._by_hand} true",
                )
            self._more(until, deadline_s)

    def word(self) -> FromHost:
        """Hear the next word, however long it takes."""
        while (end := self._heard.find(b"\n")) < 0:
            if len(self._heard) > LINE_BYTES:
                raise LostError(f"{self.host}: the runner said a line of over 64 MiB")
            self._hear(_LOOK_S, before_hello=False)
        text = bytes(self._heard[:end])
        del self._heard[: end + 1]
        try:
            return _word(text.removeprefix(HELLO_MARK.encode()))
        except WireError as error:
            raise LostError(f"{self.host}: the runner said what does not fit: {error}") from None

    def _more(self, until: float, deadline_s: float) -> None:
        left = until - time.monotonic()
        if left <= 0:
            raise UnreachableError(
                f"{self.host}: no runner answered within {deadline_s:.0f} s{self._said()}",
                hint=self._shell(),
            )
        self._hear(min(left, _LOOK_S), before_hello=True)

    def _hear(self, timeout_s: float, *, before_hello: bool) -> None:
        got = self.stream.receive(timeout_s)
        self._heard += got.stdout
        self._errors = (self._errors + got.stderr)[-_TAIL_BYTES:]
        if not got.ended or got.stdout:
            return
        if got.status is None:
            raise LostError(f"{self.host}: the connection is gone{self._said()}")
        if before_hello:
            raise UnreachableError(
                f"{self.host}: no runner came up (exit {got.status}){self._said()}",
                hint=self._shell(),
            )
        raise LostError(f"{self.host}: the runner ended (exit {got.status}){self._said()}")

    def _said(self) -> str:
        """Quote the last line on standard error; a login shell may tell why on the other one."""
        said = self._errors.strip() or (self._noise + self._heard).strip()
        lines = said.decode(errors="replace").splitlines()
        return f": {lines[-1].strip()}" if lines else ""

    def _shell(self) -> str:
        if self._shell_works:
            return ""
        return f"it wants a login shell that runs commands: try {self._by_hand} /bin/sh -c id"
