"""Commands on the operator's own machine: the controller's only home of subprocess."""

import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

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
