"""Starts load.py on a card and ends it again, whatever the test does."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tests.gpu.bench import REPO

END_S = 20


@contextmanager
def holding(*options: str) -> Iterator["subprocess.Popen[str]"]:
    """Give a process that holds a card: it is ready now, and is killed by its own handle after."""
    argv = [sys.executable, str(REPO / "tests/gpu/load.py"), *options]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    try:
        said = process.stdout.readline() if process.stdout else ""
        if said != "ready\n":
            raise RuntimeError(f"load.py {' '.join(options)} is not ready: {said!r}")
        yield process
    finally:
        process.kill()
        process.wait(END_S)
        if process.stdout:
            process.stdout.close()
