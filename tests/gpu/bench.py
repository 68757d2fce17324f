"""What a test on a real card is handed, under run.py and under pytest alike.

    def test_something(bench: Bench) -> None:
        bench.needs(cards=2)
        bench.figure("memory came back", 116, "ms")
        bench.keep("nccl-default.log", text)

Standard library, Python 3.9: the machines with cards are bare.
"""

import subprocess
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]


class SkipTestError(Exception):
    """This machine lacks what a test needs; says what."""


class Bench:
    """The machine under test, and a folder for what is kept of the run."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.figures: dict[str, str] = {}

    def figure(self, name: str, value: object, unit: str = "") -> None:
        """Note a measured figure for the summary, and print it."""
        self.figures[name] = f"{value} {unit}".strip()
        print(f"     {name}: {self.figures[name]}")  # noqa: T201 # the run's own report

    def keep(self, name: str, text: str) -> None:
        """Keep a text as a file of this run."""
        self.out.mkdir(parents=True, exist_ok=True)
        (self.out / name).write_text(text, errors="backslashreplace")

    def needs(self, *, cards: int = 1) -> None:
        """Skip the test where there are fewer cards."""
        found = len(card_names())
        if found < cards:
            raise SkipTestError(f"needs {cards} cards, this machine has {found}")


def card_names() -> list[str]:
    """Name the cards that nvidia-smi sees; none where it is not there or fails."""
    try:
        return smi("--query-gpu=name", "--format=csv,noheader").splitlines()
    except (OSError, subprocess.SubprocessError):
        return []


def smi(*words: str) -> str:
    """Run nvidia-smi, the judge that is not ours."""
    argv = ["nvidia-smi", *words]
    return subprocess.run(argv, check=True, capture_output=True, text=True, timeout=60).stdout
