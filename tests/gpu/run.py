"""Run the tests of this folder on the machine at hand: no network, no pytest, Python 3.9.

    python3 tests/gpu/run.py [--out FOLDER] [-k WORD]

Every `test_*` of every test_*.py here takes a Bench (bench.py). A line each is printed, and the
folder gets what they keep, and summary.json: date, driver, cards, outcomes, figures. pynvml is
looked for beside Python's own libraries, and in the tree's .venv.
"""

import argparse
import datetime as dt
import importlib
import json
import platform
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPO = HERE.parents[1]
sys.path.insert(0, str(REPO))
sys.path.extend(map(str, sorted(REPO.glob(".venv/lib/python3*/site-packages"))))

from tests.gpu.bench import Bench, SkipTestError, card_names, smi  # noqa: E402 # needs the path

Test = Callable[[Bench], None]


def main() -> int:
    """Run them in the order of their names; 1 when one failed, 2 when there is no card."""
    words = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    words.add_argument("--out", type=Path, default=REPO / "build" / "gpu")
    words.add_argument("-k", dest="word", default="", help="only tests with this in their name")
    chosen = words.parse_args()
    if not card_names():
        sys.stderr.write("no NVIDIA card answers here: nvidia-smi -L\n")
        return 2
    bench = Bench(chosen.out)
    rows = [run(name, test, bench) for name, test in tests() if chosen.word in name]
    bench.keep("summary.json", json.dumps({**machine(), "tests": rows, "figures": bench.figures}))
    outcomes = [row["outcome"] for row in rows]
    counts = [f"{outcomes.count(word)} {word}" for word in ("passed", "failed", "skipped")]
    print(f"{', '.join(counts)}; kept in {chosen.out}")  # noqa: T201 # the run's own report
    return 1 if "failed" in outcomes else 0


def tests() -> Iterator[tuple[str, Test]]:
    """Find every test, file by file, as it stands in it."""
    for path in sorted(HERE.glob("test_*.py")):
        module = importlib.import_module(f"tests.gpu.{path.stem}")
        for name, found in vars(module).items():
            if name.startswith("test_") and callable(found):
                yield f"{path.name}::{name}", found


def run(name: str, test: Test, bench: Bench) -> dict[str, str]:
    """Run one, and say how it ended in a line."""
    began = time.monotonic()
    said = ""
    try:
        test(bench)
        outcome = "passed"
    except SkipTestError as reason:
        outcome, said = "skipped", str(reason)
    except Exception as error:  # noqa: BLE001 # whatever it is, the next test still runs
        outcome, said = "failed", _words(error)
        traceback.print_exc()
    took = f"{time.monotonic() - began:.1f} s"
    print(f"{outcome:8} {name} ({took}) {said}".rstrip(), flush=True)  # noqa: T201
    return {"name": name, "outcome": outcome, "took": took, "said": said}


def _words(error: Exception) -> str:
    at = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {str(error) or at.line} ({Path(at.filename).name}:{at.lineno})"


def machine() -> dict[str, object]:
    """Say what the figures hold for."""
    fields: list[str] = ["name", "driver_version", "memory.total"]
    cards = smi(f"--query-gpu={','.join(fields)}", "--format=csv,noheader").splitlines()
    now = dt.datetime.now(dt.timezone.utc)
    return {
        "date": now.isoformat(timespec="seconds"),
        "cards": cards,
        "kernel": platform.release(),
        "python": platform.python_version(),
    }


if __name__ == "__main__":
    sys.exit(main())
