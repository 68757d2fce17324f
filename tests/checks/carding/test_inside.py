"""The program that opens cards as an engine would, against stand-ins of CUDA and NCCL.

What real cards answer is shown by tests/gpu/test_nccl.py; here it is the program's own part: ranks
that find each other, values that are compared, times that end, and nothing that is left behind.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.checks import tables

HERE = Path(__file__).parent
INSIDE = tables.check("carding.inside")
BUFFER = "BUFFER = 256 * MIB"

Run = Callable[..., tuple[list[dict[str, Any]], list[str]]]


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the stand-ins; a folder as LD_LIBRARY_PATH takes it."""
    folder = tmp_path_factory.mktemp("libraries")
    flags = ["-shared", "-fPIC", "-O1", "-D_GNU_SOURCE", "-pthread"]
    for name in ("libcuda.so.1", "libnccl.so.2"):
        argv = ["gcc", *flags, "-o", str(folder / name), str(HERE / "standin_cuda.c")]
        subprocess.run(argv, check=True, timeout=60)
    return folder


@pytest.fixture
def run(libraries: Path, tmp_path: Path) -> Run:
    """Run the program in an environment, with a small buffer: memory here is not a card's."""

    def ran(*words: str, **env: str) -> tuple[list[dict[str, Any]], list[str]]:
        text = Path(str(INSIDE.__file__)).read_text()
        assert BUFFER in text
        program = text.replace(BUFFER, "BUFFER = 4 * MIB")
        here = {"LD_LIBRARY_PATH": str(libraries), "MEETING": str(tmp_path), "CARDS": "2"}
        found = subprocess.run(
            [sys.executable, "-u", "-I", "-S", "-c", program, *words],
            env={**os.environ, **here, **env},
            capture_output=True,
            timeout=30,
            check=False,
        )
        assert found.stderr == b""
        said: tuple[list[dict[str, Any]], list[str]] = INSIDE.results(found.stdout)
        return said

    return ran


def test_it_says_which_library_opens_which_cards(run: Run, libraries: Path) -> None:
    """UUIDs are worded as NVML words them."""
    (said,), _ = run("open")

    assert said["library"] == str(libraries / "libcuda.so.1")
    assert said["cards"] == [f"GPU-{4 * u}-{2 * u}-{2 * u}-{2 * u}-{6 * u}" for u in ("a0", "a1")]


def test_it_names_what_cuda_says(run: Run) -> None:
    """802: a machine with NVSwitches whose fabric manager does not run."""
    (said,), _ = run("open", FAULT="refuse")

    assert said["trouble"] == "cuInit: CUDA_ERROR_SYSTEM_NOT_READY (802)"


def test_no_library_is_said_as_such(run: Run) -> None:
    """Then only NVML can be asked."""
    (said,), _ = run("open", LD_LIBRARY_PATH="/nowhere")

    assert said["library"] == ""
    assert said["trouble"].startswith("no libcuda.so.1: ")


@pytest.mark.parametrize("cards", [2, 3])
def test_ranks_find_each_other_and_every_value_is_compared(run: Run, cards: int) -> None:
    """One process a card; rank 0 tells the times; what NCCL logs comes whole."""
    said, lines = run("all-reduce", "20", "/venv/bin/python", CARDS=str(cards))

    assert {one["rank"] for one in said} == set(range(cards))
    (timed,) = (one for one in said if "times_us" in one)
    assert timed["rank"] == 0
    assert 5 <= len(timed["times_us"]) <= 20
    assert timed["bytes"] == 4 << 20
    assert sum("Init COMPLETE" in line for line in lines) == cards
    assert sum("via P2P/CUMEM" in line for line in lines) == cards


def test_wrong_values_are_found_where_they_are(run: Run) -> None:
    """Only behind the first slot of the sum: a check of the first bytes would pass."""
    said, _ = run("all-reduce", "20", "/venv/bin/python", FAULT="wrong")

    assert said[0]["trouble"].startswith("wrong values at byte 0: ")
    assert not any("times_us" in one for one in said)


@pytest.mark.parametrize(("fault", "through"), [("hang", 2), ("init", 0)])
def test_a_rank_that_hangs_ends_all_of_them(run: Run, fault: str, through: int) -> None:
    """In time, with how many are left, and with the lines that say how far each came."""
    said, lines = run("all-reduce", "2", "/venv/bin/python", FAULT=fault)

    assert said == [{"late": 2}]
    assert sum("Init START" in line for line in lines) == 2
    assert sum("Init COMPLETE" in line for line in lines) == through


def test_one_card_has_nobody_to_talk_to(run: Run) -> None:
    """It is said, and nothing is measured."""
    said, _ = run("all-reduce", "5", "/venv/bin/python", CARDS="1")

    assert said == [{"rank": 0, "ranks": 1}]


def test_nccl_is_the_engines_own(run: Run, libraries: Path, tmp_path: Path) -> None:
    """The one in the venv of the program comes before the system's, a named one before both."""
    folder = tmp_path / "lib/python3.12/site-packages/nvidia/nccl/lib"
    folder.mkdir(parents=True)
    (folder / "libnccl.so.2").write_bytes((libraries / "libnccl.so.2").read_bytes())

    said, _ = run("all-reduce", "20", str(tmp_path / "bin/python3"))

    (timed,) = (one for one in said if "times_us" in one)
    assert timed["nccl"] == str(folder / "libnccl.so.2")


def test_no_nccl_at_all_is_said(run: Run) -> None:
    """Nobody waits for a rank that could not begin."""
    said, _ = run("all-reduce", "20", "/venv/bin/python", VLLM_NCCL_SO_PATH="/nowhere/libnccl.so")

    assert "cannot open shared object" in said[0]["trouble"]
