"""Doubles at the transport seam: a host that is a folder of this machine, and scripted runners."""

import os
import selectors
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from headway.control.errors import LostError
from headway.control.reaching.pack import Pack
from headway.control.reaching.transport import Received


class LocalTransport:
    """A double of a host: programs run here, with the host's paths put below a folder.

    `facts` replaces words of the command, so that a test chooses what the host says of itself.
    """

    def __init__(self, root: Path, facts: dict[str, str] | None = None) -> None:
        self.root = root
        self.facts = {
            "/var/lib/headway": str(root / "headway"),
            "test -d /run/systemd/system": "true",
            "$(id -u)": "0",
            **(facts or {}),
        }
        self.started: list[list[str]] = []
        self.streams: list[LocalStream] = []
        self.damage = (b"\n\n\n\n", b"")
        self.closed = False

    def converse(self, argv: Sequence[str]) -> "LocalStream":
        """Start a program."""
        self.started.append(list(argv))
        words = [self._translated(word) for word in argv]
        process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            cwd=self.root,
        )
        stream = LocalStream(process, self.damage)
        self.streams.append(stream)
        return stream

    def close(self) -> None:
        """Remember it."""
        self.closed = True

    def _translated(self, word: str) -> str:
        for said, meant in self.facts.items():
            word = word.replace(said, meant)
        return word


class LocalStream:
    """A process of this machine as a stream; `cut` is a connection that goes."""

    def __init__(self, process: "subprocess.Popen[bytes]", damage: tuple[bytes, bytes]) -> None:
        self.process = process
        self._damage = damage
        self.sent = bytearray()
        self._lost = False
        self._reading = threading.Lock()
        self._selector = selectors.DefaultSelector()
        for pipe in (process.stdout, process.stderr):
            assert pipe is not None
            self._selector.register(pipe, selectors.EVENT_READ)

    def receive(self, timeout_s: float) -> Received:
        """Read whatever is there."""
        with self._reading:
            return Received(ended=True) if self._lost else self._receive(timeout_s)

    def _receive(self, timeout_s: float) -> Received:
        got = {self.process.stdout: b"", self.process.stderr: b""}
        for key, _ in self._selector.select(timeout_s):
            pipe: IO[bytes] = key.fileobj  # type: ignore[assignment] # what was registered
            data = os.read(pipe.fileno(), 65536)
            if not data:
                self._selector.unregister(pipe)
            got[pipe] = data
        if self._selector.get_map():
            return Received(got[self.process.stdout], got[self.process.stderr])
        return Received(ended=True, status=self.process.wait())

    def send(self, data: bytes) -> None:
        """Write."""
        self.sent += data
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(data.replace(*self._damage))
        except (OSError, ValueError):
            raise LostError("the double is gone") from None

    def finish(self) -> None:
        """Close its standard input."""
        assert self.process.stdin is not None
        self.process.stdin.close()

    def cut(self) -> None:
        """Lose the connection: the program hears nothing more, the reader learns no status."""
        self.close()

    def close(self) -> None:
        """End the process, so that a reader in another thread wakes, and then its pipes."""
        self._lost = True
        self.process.kill()
        self.process.wait()
        with self._reading:
            self._selector.close()
            for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
                assert pipe is not None
                pipe.close()


SCRIPTED_RUNNER = """\
\"\"\"A double of the runner: says hello, then what the script tells it to.\"\"\"
import json, sys
HELLO = {"runner": "double", "python": "3.11", "boot_id": "b", "hostname": "h"}
def say(word):
    sys.stdout.write(json.dumps(word) + "\\n")
    sys.stdout.flush()
def hear():
    return json.loads(sys.stdin.buffer.readline())
def hear_bytes(size):
    return sys.stdin.buffer.read(size)
sys.stdout.write("headway-runner-hello " + json.dumps({"hello": HELLO}) + "\\n")
sys.stdout.flush()
"""


def installed(pack: Pack, root: Path) -> None:
    """Put a runner on a double of a host, as if it had been brought before."""
    for name, data in pack.files.items():
        path = root / "headway/runner" / pack.sha256 / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def scripted(script: str) -> Pack:
    """Pack a runner double that says hello and then runs this script."""
    source = SCRIPTED_RUNNER + script
    return Pack({"__main__.py": source.encode(), "headway_checks/a.py": b""})
