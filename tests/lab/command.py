"""The one place where the lab starts a program and waits for it."""

import os
import subprocess
from pathlib import Path
from typing import IO


class LabError(Exception):
    """The lab could not do its job; the message is one line: what, and what to do next."""


def run(argv: list[str], *, cwd: Path | None = None, stdin: str | None = None) -> str:
    """Run a program to its end and return its output; a failure becomes a LabError of one line."""
    try:
        done = subprocess.run(
            argv, cwd=cwd, input=stdin, capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        raise LabError(f"{argv[0]} is not installed: run make test once as root") from None
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip() or "nothing").splitlines()[-1]
        raise LabError(f"{' '.join(argv[:4])} ... exited {done.returncode}: {said}")
    return done.stdout


def detached(argv: list[str], cgroup: Path, log: IO[str], cwd: Path | None = None) -> None:
    """Start a program that outlives this one, in a cgroup by which it can be found and ended.

    It enters the cgroup before it becomes the program: two hosts in one cgroup tree would take
    each other's units for their own.
    """
    enter = 'echo $$ >"$0/cgroup.procs" && exec "$@"'
    subprocess.run(
        ["setsid", "--fork", "sh", "-c", enter, str(cgroup), *argv],
        cwd=cwd,
        env={**os.environ, "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1"},
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        check=True,
    )
