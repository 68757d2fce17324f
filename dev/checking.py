"""The checks of our own code, each a program with its exit code."""

import shlex
import subprocess
import sys
from pathlib import Path

BIN = Path(sys.executable).parent
STATIC = (
    ("ruff", "format", "--check", "--quiet", "."),
    ("ruff", "check", "--quiet", "."),
    ("mypy",),
    ("lint-imports",),
)


def static() -> int:
    """Run every check that needs no test; return the first exit code that is not 0."""
    return next((code for code in map(fails, STATIC) if code), 0)


def tests(marks: str) -> tuple[str, ...]:
    """Return the pytest command for these marks."""
    return ("pytest", "-m", marks) if marks else ("pytest",)


def fails(words: tuple[str, ...]) -> int:
    """Run one of the environment's programs, told by its name; return its exit code."""
    sys.stderr.write(f"{shlex.join(words)}\n")
    return subprocess.run([str(BIN / words[0]), *words[1:]], check=False).returncode
