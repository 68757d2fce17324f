"""Start the stand-in engine as a process of its own, turn its knobs, and end it.

It is a stand-in: it speaks like vLLM, SGLang, llama.cpp or TGI and breaks on demand; see
tests/engines/standin/knobs.py for all that it can be made to do.
"""

import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_REPO = Path(__file__).parents[2]
_CONTROL_S = 5


@dataclass(frozen=True)
class StandIn:
    """A stand-in that runs: its process, its port on 127.0.0.1, and the file its log goes to."""

    process: subprocess.Popen[bytes]
    command: tuple[str, ...]  # without an engine's options
    port: int
    log: Path

    @property
    def url(self) -> str:
        """Give the address its paths hang on."""
        return f"http://127.0.0.1:{self.port}"

    def turn(self, **knobs: Any) -> dict[str, Any]:
        """Turn knobs while it runs; gives what `seen` does."""
        return self._control(json.dumps(knobs).encode())

    def seen(self) -> dict[str, Any]:
        """Say what it really did: requests, running, waiting, counters."""
        return self._control(None)

    def _control(self, data: bytes | None) -> dict[str, Any]:
        request = urllib.request.Request(self.url + "/_standin", data)  # noqa: S310 # our own
        with urllib.request.urlopen(request, timeout=_CONTROL_S) as answer:  # noqa: S310
            found: dict[str, Any] = json.load(answer)
            return found


@contextmanager
def standin(
    folder: Path, argv: Sequence[str] = (), env: Mapping[str, str] | None = None, **knobs: Any
) -> Iterator[StandIn]:
    """Run a stand-in with these knobs; `argv` are an engine's options, there to be read only."""
    log = folder / "standin.log"
    command = (sys.executable, "-m", "tests.engines.standin")
    whole = {**os.environ, "STANDIN": json.dumps(knobs), **(env or {})}
    with log.open("wb") as stderr:
        process = subprocess.Popen(
            [*command, *argv], cwd=_REPO, env=whole, stdout=subprocess.PIPE, stderr=stderr
        )
    with process:
        try:
            assert process.stdout is not None
            told = process.stdout.readline()
            assert told, log.read_text()
            yield StandIn(process, command, json.loads(told)["port"], log)
        finally:
            process.kill()
