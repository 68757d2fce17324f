"""One `qm guest exec` on a node: started, waited for, and its JSON answer read.

qm itself exits 0 whatever became of the program: how that ended stands in the answer. When its own
timeout is over it prints {"pid": N} and leaves; `qm guest exec-status` is asked from then on.
"""

import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headway.control.errors import LostError, UnreachableError
from headway.control.inventory.model import Via
from headway.control.reaching.guest import explained
from headway.control.reaching.transport import Transport

INPUT_BYTES = 1 << 20
"""qm refuses more on standard input (qemu-server, PVE/CLI/qm.pm)."""

TIMEOUT_S = 30
_AGAIN_S = 1.0
_SIGNALLED = 128
_READY = b"headway-node-ready\n"
_FEED = 'echo headway-node-ready; head -c "$0" | "$@"'
"""A stream has no end of input, and qm waits for one. Nothing is sent before the node is ready to
take it: until then it would be sudo that reads."""


@dataclass(frozen=True)
class Ended:
    """What a program in a VM printed, and how it ended: 128 + the signal where one ended it."""

    out: bytes
    err: bytes
    status: int


def exec_argv(vmid: int, argv: Sequence[str], size: int) -> list[str]:
    """Wrap a program's words for the node, to be run with that many bytes of input."""
    qm = ["qm", "guest", "exec", str(vmid), "--timeout", str(TIMEOUT_S), "--synchronous", "1"]
    if not size:
        return [*qm, "--", *argv]
    return ["/bin/sh", "-c", _FEED, str(size), *qm, "--pass-stdin", "1", "--", *argv]


def status_argv(vmid: int, pid: int) -> list[str]:
    """Ask how a program is that was left running."""
    return ["qm", "guest", "exec-status", str(vmid), str(pid)]


def envelope(printed: str) -> Mapping[str, Any] | None:
    """Find the JSON object in what qm printed, after whatever a login shell said; None: none."""
    for start in re.finditer(r"^\{", printed, re.MULTILINE):
        try:
            answer = json.loads(printed[start.start() :])
        except ValueError:
            continue
        return answer if isinstance(answer, dict) else None
    return None


def raw(text: str) -> bytes:
    """Give back the bytes of an answer's text: Proxmox writes each as a letter of its own."""
    try:
        data = text.encode("latin-1")
        data.decode()
    except UnicodeError:
        return text.encode(errors="surrogateescape")
    return data


class Running:
    """A program that runs in a VM with this input; `ended` waits for it."""

    def __init__(
        self, node: Transport, name: str, via: Via, argv: Sequence[str], said: bytes
    ) -> None:
        self._node = node
        self._name = name
        self._via = via
        self._said = said
        self._out = self._err = b""
        self._not_before = 0.0
        self._pid = 0
        self._stream = node.converse(exec_argv(via.vmid, argv, len(said)))

    def ended(self, timeout_s: float) -> Ended | None:
        """Wait for it that long; None while it runs, UnreachableError where qm could not run it."""
        if self._not_before:
            time.sleep(min(timeout_s, max(0.0, self._not_before - time.monotonic())))
            if time.monotonic() < self._not_before:
                return None
            self._begin(status_argv(self._via.vmid, self._pid))
        got = self._stream.receive(timeout_s)
        self._out += got.stdout
        self._err += got.stderr
        if self._said and _READY in self._out:
            self._out = self._out.partition(_READY)[2]
            said, self._said = self._said, b""
            self._stream.send(said)
        if not got.ended:
            return None
        self._stream.close()
        if got.status is None:
            raise LostError(f"{self._name}: the connection to {self._via.node.name} is gone")
        return self._read(got.status)

    def close(self) -> None:
        """Leave it."""
        self._stream.close()

    def _begin(self, argv: Sequence[str]) -> None:
        self._out = self._err = b""
        self._not_before = 0.0
        self._stream = self._node.converse(argv)

    def _read(self, status: int) -> Ended | None:
        answer = envelope(self._out.decode(errors="surrogateescape"))
        if status or answer is None:
            raise self._unrun()
        if not answer.get("exited"):
            self._pid = int(answer.get("pid", self._pid))
            self._not_before = time.monotonic() + _AGAIN_S
            return None
        if answer.get("out-truncated"):
            raise LostError(
                f"{self._name}: the guest agent cut the answer short",
                hint="set ansible_connection: ssh",
            )
        signal = answer.get("signal")
        code = _SIGNALLED + int(signal) if signal is not None else int(answer.get("exitcode", 0))
        return Ended(raw(answer.get("out-data", "")), raw(answer.get("err-data", "")), code)

    def _unrun(self) -> UnreachableError:
        why = explained(self._name, self._via, self._node)
        if why is not None:
            return why
        said = (self._err.strip() or self._out.strip()).decode(errors="replace").splitlines()
        return UnreachableError(
            f"{self._name}: the guest agent of {self._via} does not answer"
            + (f": {said[-1].strip()}" if said else ""),
            hint="is qemu-guest-agent running in it? else set ansible_connection: ssh",
        )
