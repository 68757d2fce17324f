"""What a stranger meets first: verbs that list at once, and locks that pip can check."""

import subprocess
import sys
from pathlib import Path

import pytest

REPO = Path(__file__).parents[2]
HEAVY = ("cryptography", "fabric", "jinja2", "numpy", "paramiko", "pytest", "rich", "sqlite3")


def test_listing_the_verbs_loads_nothing_heavy() -> None:
    """The list takes under 0.3 s only as long as each verb imports what it needs itself."""
    told = f"import sys, tasks; print(sorted({set(HEAVY)} & sys.modules.keys()))"
    argv = [sys.executable, "-c", told]
    done = subprocess.run(argv, cwd=REPO, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-dev.lock"])
def test_a_lock_pins_by_hash_and_names_no_index(lock: str) -> None:
    """Every line is a pinned version or one of its hashes: nothing else decides."""
    lines = (REPO / lock).read_text().splitlines()
    pins = [line for line in lines if not line.startswith("    --hash=sha256:")]
    assert all("==" in pin and pin.endswith(" \\") for pin in pins)
    assert len(pins) < len(lines)


def test_the_locks_agree() -> None:
    """What is developed with is what operators install."""
    theirs = set((REPO / "requirements.lock").read_text().splitlines())
    assert theirs <= set((REPO / "requirements-dev.lock").read_text().splitlines())
