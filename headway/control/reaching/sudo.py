"""Root by sudo: a Transport around a Transport (DESIGN 6).

The password goes out only when sudo asks with a mark that nobody else can know; when it asks
again, the password was wrong. Everything else waits for the runner's own first line.
"""

import secrets
from collections.abc import Sequence

from headway.control.errors import UnreachableError
from headway.control.reaching.transport import Received, Stream, Transport
from headway.control.secrets import Secret


class Sudo:
    """Start programs as root. `who` is user@host, as messages name it."""

    def __init__(self, inner: Transport, who: str, password: Secret | None) -> None:
        self._inner = inner
        self._who = who
        self._password = password

    def converse(self, argv: Sequence[str]) -> Stream:
        """Start a program as root; sudo's question is answered while its output is read."""
        mark = f"headway-sudo-{secrets.token_hex(12)}:"
        stream = self._inner.converse(["sudo", "-S", "-p", mark, "--", *argv])
        return _Answering(stream, mark.encode(), self._who, self._password)

    def close(self) -> None:
        """Leave the host."""
        self._inner.close()


class _Answering:
    """A stream that answers sudo's question once and takes it out of what is read."""

    def __init__(self, inner: Stream, mark: bytes, who: str, password: Secret | None) -> None:
        self._inner = inner
        self._mark = mark
        self._who = who
        self._password = password
        self._held = b""
        self._asked = 0

    def receive(self, timeout_s: float) -> Received:
        """Read on; raise UnreachableError when sudo will not let us."""
        got = self._inner.receive(timeout_s)
        text = self._held + got.stderr
        while self._mark in text:
            text = text.replace(self._mark, b"", 1)
            self._answer()
        keep = 0 if got.ended else _overlap(text, self._mark)
        self._held = text[len(text) - keep :]
        return Received(got.stdout, text[: len(text) - keep], got.ended, got.status)

    def send(self, data: bytes) -> None:
        """Write on."""
        self._inner.send(data)

    def finish(self) -> None:
        """Write no more."""
        self._inner.finish()

    def close(self) -> None:
        """Leave."""
        self._inner.close()

    def _answer(self) -> None:
        self._asked += 1
        if self._password is None:
            raise UnreachableError(
                f"{self._who}: sudo asks for a password, and none is given",
                hint="set ansible_become_password to a !secret, or use --ask-become-pass",
            )
        if self._asked > 1:
            raise UnreachableError(
                f"{self._who}: sudo refused the password",
                hint="look at ansible_become_password, or use --ask-become-pass",
            )
        self._inner.send(self._password.reveal().encode() + b"\n")


def _overlap(text: bytes, mark: bytes) -> int:
    """Count the bytes at the end that may be the beginning of the mark."""
    return next((n for n in range(len(mark) - 1, 0, -1) if text.endswith(mark[:n])), 0)
