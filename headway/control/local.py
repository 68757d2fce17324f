"""Commands on the operator's own machine: the controller's only home of subprocess."""

import contextlib
import os
import selectors
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from headway.control.errors import LostError, UnreachableError
from headway.control.reaching.transport import Received
from headway.wire.tools import Ran

NOT_FOUND = 127
NOT_RUNNABLE = 126


def run(
    argv: Sequence[str],
    *,
    cwd: Path | None = None,
    stdin: bytes = b"",
    env: Mapping[str, str] | None = None,
    deadline_s: int = 60,
) -> Ran:
    """Run a command to its end, without a shell; `code` is None when the deadline came first.

    A program that is not there answers 127, one that cannot be run 126, as a shell says it.
    """
    began = time.monotonic()

    def ran(code: int | None, stdout: bytes, stderr: bytes) -> Ran:
        return Ran(tuple(argv), code, stdout, stderr, round((time.monotonic() - began) * 1000))

    try:
        done = subprocess.run(
            list(argv),
            cwd=cwd,
            input=stdin,
            env=env,
            capture_output=True,
            timeout=deadline_s,
            check=False,
        )
    except subprocess.TimeoutExpired as late:
        return ran(None, late.stdout or b"", late.stderr or b"")
    except FileNotFoundError:
        return ran(NOT_FOUND, b"", b"no such program")
    except OSError as error:
        return ran(NOT_RUNNABLE, b"", str(error.strerror).encode())
    return ran(done.returncode, done.stdout, done.stderr)


_CHUNK_BYTES = 1 << 16


class Here:
    """The operator's own machine as a Transport: what a host does, it can do, too."""

    def converse(self, argv: Sequence[str]) -> "LocalStream":
        """Start a program; UnreachableError where it is not there, or cannot be run."""
        pipe = subprocess.PIPE
        try:
            process = subprocess.Popen(list(argv), stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0)
        except OSError as error:
            why = (error.strerror or "cannot be run").lower()
            raise UnreachableError(f"{argv[0]} on this machine: {why}") from None
        return LocalStream(process)

    def close(self) -> None:
        """Nothing is held open."""


class LocalStream:
    """A program of this machine as a Stream."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process
        self._selector = selectors.DefaultSelector()
        for pipe, name in ((process.stdout, "out"), (process.stderr, "err")):
            assert pipe is not None  # noqa: S101 # PIPE was asked for
            self._selector.register(pipe, selectors.EVENT_READ, name)

    def receive(self, timeout_s: float) -> Received:
        """Wait for bytes on either stream, the end, or the timeout."""
        if not self._selector.get_map():
            try:
                return Received(ended=True, status=self._process.wait(timeout_s))
            except subprocess.TimeoutExpired:
                return Received()
        got = {"out": b"", "err": b""}
        for key, _ in self._selector.select(timeout_s):
            got[key.data] = os.read(key.fd, _CHUNK_BYTES)
            if not got[key.data]:
                self._selector.unregister(key.fileobj)
        return Received(got["out"], got["err"])

    def send(self, data: bytes) -> None:
        """Write all of it."""
        assert self._process.stdin is not None  # noqa: S101 # PIPE was asked for
        try:
            while data:
                data = data[self._process.stdin.write(data) or 0 :]
        except (OSError, ValueError):
            raise LostError(f"{self._process.args!r} reads no more") from None

    def finish(self) -> None:
        """Close its standard input."""
        assert self._process.stdin is not None  # noqa: S101 # PIPE was asked for
        with contextlib.suppress(OSError):
            self._process.stdin.close()

    def close(self) -> None:
        """End the program if it still runs, and close its pipes."""
        self._process.kill()
        self._process.wait()
        self._selector.close()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()
