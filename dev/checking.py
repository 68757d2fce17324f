"""The checks of our own code, each a program with its exit code."""

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

BIN = Path(sys.executable).parent
STATIC = (
    ("ruff", "format", "--check", "--quiet", "."),
    ("ruff", "check", "--quiet", "."),
    ("mypy",),
    ("lint-imports",),
)
CHECKS = ("mypy", "--config-file", "pyproject.toml", "-p", "headway_checks")


def static() -> int:
    """Run every check that needs no test; return the first exit code that is not 0."""
    return next((code for code in map(fails, STATIC) if code), 0) or _checks()


def _checks() -> int:
    """Check the types of checks/ under the name that it has on a host."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "headway_checks").symlink_to(Path("checks").resolve())
        return fails(CHECKS, {"MYPYPATH": os.pathsep.join((folder, "."))})


def tests(marks: str) -> tuple[str, ...]:
    """Return the pytest command for these marks."""
    return ("pytest", "-m", marks) if marks else ("pytest",)


def fails(words: tuple[str, ...], env: Mapping[str, str] | None = None) -> int:
    """Run one of the environment's programs, told by its name; return its exit code."""
    sys.stderr.write(f"{shlex.join(words)}\n")
    argv = [str(BIN / words[0]), *words[1:]]
    return subprocess.run(argv, env={**os.environ, **(env or {})}, check=False).returncode
