from pathlib import Path
from typing import Any

import pytest
import yaml

from headway.runner.cards.nvml import Nvml, NvmlError
from headway.runner.cards.opening import library_version, module_version, why_closed
from tests.runner.cards.driver import Driver

CASES = yaml.safe_load(
    (Path(__file__).parents[2] / "cases" / "cards" / "opening.yaml").read_text()
)["cases"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['code']} {case['module']}")
def test_why_nvml_is_closed_is_a_sentence(case: dict[str, Any]) -> None:
    """Error codes of nvmlInit as a driver gives them: tests/cases/cards/opening.yaml."""
    with pytest.raises(NvmlError) as raised:
        Nvml(Driver(errors={"Init": case["code"]}))
    assert why_closed(raised.value, case["module"], case["library"]) == case["reads"]


def test_every_sentence_is_of_its_own() -> None:
    """Two ways that read alike send a person the wrong way."""
    assert len({case["reads"] for case in CASES}) == len(CASES)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        (
            (
                "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.261.03  Sat Aug 16 2025\n"
                "GCC version:  gcc version 12.2.0 (Debian 12.2.0-14+deb12u1)\n"
            ),
            "535.261.03",
        ),
        (
            (
                "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release\n"
                "GCC version:  gcc version 13.100.0\n"
            ),
            "580.159.04",
        ),
        ("GCC version:  gcc version 535.1.2\n", ""),
        ("", ""),
    ],
)
def test_the_modules_version_is_not_the_compilers(text: str, version: str) -> None:
    """/proc/driver/nvidia/version names both."""
    assert module_version(text) == version


def test_the_librarys_version_is_in_its_files_name() -> None:
    """A mismatched library tells no version: the file it was mapped from does."""
    maps = (
        "7f00-7f01 r--p 00000000 fe:00 11  /usr/lib/x86_64-linux-gnu/libc.so.6\n"
        "7f02-7f03 r-xp 00000000 fe:00 12  /usr/lib/x86_64-linux-gnu/libnvidia-ml.so.580.159.04\n"
    )
    assert library_version(maps) == "580.159.04"
    assert library_version("7f02-7f03 r-xp 0 fe:00 12  /usr/lib/libnvidia-ml.so.1\n") == ""
