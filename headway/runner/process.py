"""Commands as lists of words, each in a session of its own: the runner's only home of subprocess.

A command that cannot be started answers as a shell would have it, with code 127 or 126 and a
sentence on stderr, so that callers judge one thing: the code. Loaded before the vocabulary of the
wire is: what asks the cards is started while that loads.
"""

from __future__ import annotations

import contextlib
import os
import select
import selectors
import signal
import subprocess
import threading
import time

TYPE_CHECKING = False  # `typing` is loaded while the cards are asked, too
if TYPE_CHECKING:
    from typing import IO, Dict, Iterator, List, NoReturn, Optional, Sequence

    from headway.wire.tools import Ran

OUTPUT_LIMIT = 16 * 1024 * 1024  # bytes kept of each stream; the rest is read and dropped
_CHUNK = 64 * 1024
_LAST_WORDS_S = 2  # for what a killed group left in its pipes
_DYING_S = 5.0  # SIGKILL takes no longer where the kernel is not stuck: it frees memory first
_UNDYING: List[subprocess.Popen[bytes]] = []  # D state; a forgotten Popen would wait for them


class ProcessError(Exception):
    """A command whose output was being read failed: what it said, or that it took too long."""


class Processes:
    """Runs commands to their end or their deadline; nothing of a command's group outlives it."""

    def __call__(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        env: Optional[Dict[str, str]] = None,
        deadline_s: int = 60,
    ) -> Ran:
        """Run it; `env` is added to the runner's own, `code` is None when the deadline ended it."""
        from headway.wire.tools import Ran

        began = time.monotonic()
        try:
            process = _start(argv, env, subprocess.PIPE if stdin else subprocess.DEVNULL)
        except OSError as error:
            code = 127 if isinstance(error, FileNotFoundError) else 126
            return Ran(tuple(argv), code, b"", _cannot_start(argv, error).encode(), 0)
        pipes = _Pipes(process, stdin)
        try:
            pipes.drained(began + deadline_s)
            late = not _ended(process, began + deadline_s)
            _kill_and_reap(process)
            pipes.drained(time.monotonic() + _LAST_WORDS_S)
        finally:
            _kill_and_reap(process)
            pipes.close()
        took_ms = int((time.monotonic() - began) * 1000)
        ended: Optional[int] = None if late else process.returncode
        return Ran(tuple(argv), ended, bytes(pipes.stdout), bytes(pipes.stderr), took_ms)


def become(argv: Sequence[str]) -> NoReturn:
    """Go on as this command, in this terminal."""
    os.execvp(argv[0], list(argv))  # noqa: S606 # words, no shell


def lines(argv: Sequence[str], deadline_s: int = 60) -> Iterator[bytes]:
    """Give a command's output line by line, never held whole; ProcessError when it fails."""
    with open(os.memfd_create("stderr"), "r+b") as errors:
        try:
            process = _start(argv, None, subprocess.DEVNULL, errors.fileno())
        except OSError as error:
            raise ProcessError(_cannot_start(argv, error)) from None
        late = threading.Event()

        def ring() -> None:
            late.set()
            _kill(process)

        alarm = threading.Timer(deadline_s, ring)
        alarm.start()
        try:
            yield from process.stdout or ()
            _ended(process)
        finally:
            alarm.cancel()
            _kill_and_reap(process)
            if process.stdout is not None:
                process.stdout.close()
        if late.is_set():
            raise ProcessError(f"{argv[0]} was not done after {deadline_s} s")
        if process.returncode != 0:
            said = os.pread(errors.fileno(), _CHUNK, 0).decode(errors="replace").strip()
            raise ProcessError(f"{argv[0]} ended with code {process.returncode}: {said}")


class Companion:
    """A command that is asked and answers line by line until it is ended.

    Made for what may hang in a driver: no call here outlasts its deadline, not even the end of a
    process that cannot die. One thread at a time. ProcessError: it cannot be started.
    """

    def __init__(self, argv: Sequence[str]) -> None:
        self._argv = argv
        self._heard = bytearray()
        self._errors = os.memfd_create("stderr")
        try:
            self._process = _start(argv, None, subprocess.PIPE, self._errors)
        except OSError as error:
            os.close(self._errors)
            raise ProcessError(_cannot_start(argv, error)) from None
        self.pid = self._process.pid

    def say(self, words: bytes) -> None:
        """Write some words of at most a pipe's size to it; ProcessError when it has ended."""
        try:
            os.write(_fd(self._process.stdin), words)
        except BrokenPipeError:
            raise ProcessError(self._last_words()) from None

    def hear(self, until: float) -> Optional[bytes]:
        """Read its next line, without the newline; None when it is later than `until` before.

        `until` is of time.monotonic(). ProcessError when it ended instead, with its last words.
        """
        while (end := self._heard.find(b"\n")) < 0:
            fd = _fd(self._process.stdout)
            if not select.select([fd], [], [], max(0.0, until - time.monotonic()))[0]:
                return None
            data = os.read(fd, _CHUNK)
            if not data:
                raise ProcessError(self._last_words())
            self._heard += data
        line = bytes(self._heard[:end])
        del self._heard[: end + 1]
        return line

    def end(self) -> bool:
        """Kill its group; False when it did not die of that, so that nobody waits for it."""
        died = _kill_and_reap(self._process)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        os.close(self._errors)
        return died

    def gone(self) -> bool:
        """Say whether it has ended by now; asked after end(), which may have given up on it."""
        return self._process.poll() is not None

    def _last_words(self) -> str:
        said = os.pread(self._errors, _CHUNK, 0).decode(errors="replace").strip()
        return f"{self._argv[0]} ended: {said.splitlines()[-1] if said else 'it said nothing'}"


class _Pipes:
    """Feeds a process and keeps what it says, each stream up to the limit."""

    def __init__(self, process: subprocess.Popen[bytes], stdin: bytes) -> None:
        self.stdout = bytearray()
        self.stderr = bytearray()
        self._unsent = memoryview(stdin)
        self._selector = selectors.DefaultSelector()
        self._process = process
        for pipe, kept in ((process.stdout, self.stdout), (process.stderr, self.stderr)):
            if pipe is not None:
                self._selector.register(pipe, selectors.EVENT_READ, kept)
        if process.stdin is not None:
            os.set_blocking(process.stdin.fileno(), False)
            self._selector.register(process.stdin, selectors.EVENT_WRITE)

    def drained(self, until: float) -> bool:
        """Pump until every pipe is closed by the other side; False when time is up before."""
        while self._selector.get_map():
            left = until - time.monotonic()
            if left <= 0:
                return False
            for key, _ in self._selector.select(left):
                done = self._feed(key.fd) if key.data is None else _keep(key.fd, key.data)
                if done:
                    self._selector.unregister(key.fileobj)
                    key.fileobj.close()  # type: ignore[union-attr] # pipes are file objects
        return True

    def close(self) -> None:
        """Close what is still open; somebody outside the group may hold the other end."""
        self._selector.close()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()

    def _feed(self, fd: int) -> bool:
        try:
            self._unsent = self._unsent[os.write(fd, self._unsent[:_CHUNK]) :]
        except BrokenPipeError:  # it does not want to hear more
            return True
        return not self._unsent


def _keep(fd: int, kept: bytearray) -> bool:
    data = os.read(fd, _CHUNK)
    kept += data[: max(0, OUTPUT_LIMIT - len(kept))]
    return not data


def _start(
    argv: Sequence[str], env: Optional[Dict[str, str]], stdin: int, stderr: int = subprocess.PIPE
) -> subprocess.Popen[bytes]:
    """Start it in a session of its own, speaking the language that parsers know."""
    return subprocess.Popen(
        list(argv),
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=stderr,
        env={**os.environ, "LC_ALL": "C.UTF-8", "SYSTEMD_COLORS": "0", **(env or {})},
        start_new_session=True,
    )


def _cannot_start(argv: Sequence[str], error: OSError) -> str:
    return f"{argv[0]}: {error.strerror}"


def _ended(process: subprocess.Popen[bytes], until: float = float("inf")) -> bool:
    """Wait for its end without reaping it: until then its group's number is nobody else's."""
    fd = os.pidfd_open(process.pid)
    try:
        left = None if until == float("inf") else max(0.0, until - time.monotonic())
        return bool(select.select([fd], [], [], left)[0])
    finally:
        os.close(fd)


def _kill(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _kill_and_reap(process: subprocess.Popen[bytes]) -> bool:
    """Kill whatever is left of its process group, then reap it; once only.

    False: it hangs in the kernel and does not die of SIGKILL, so it is left to the end of us.
    """
    if process.returncode is None and process not in _UNDYING:
        _kill(process)
        if _ended(process, time.monotonic() + _DYING_S):
            process.wait()
        else:
            _UNDYING.append(process)
    return process.returncode is not None


def _fd(pipe: Optional[IO[bytes]]) -> int:
    return -1 if pipe is None else pipe.fileno()
