"""What NCCL takes from its environment is told as NCCL's sources and runs of it show it."""

import re
from pathlib import Path

import pytest
import yaml

from headway.wire import nccl

CASES = Path(__file__).parents[1] / "cases"
TRANSPORTS = yaml.safe_load((CASES / "nccl" / "starts.yaml").read_text())


@pytest.mark.parametrize(
    ("text", "level"),
    [
        *((word, word) for word in nccl.table().levels),
        *(("0", "LOC"), ("1", "PIX"), ("2", "PXB"), ("3", "PHB"), ("4", "SYS"), ("99", "SYS")),
        *(("sys", None), ("NODE", None), ("", None), ("-1", None), ("SYS ", None)),
    ],
)
def test_a_level_is_a_word_by_case_or_an_old_number(text: str, level: str | None) -> None:
    """NcclGetLevel compares with strcmp, and takes a number by its old meaning."""
    assert nccl.level(text) == level


@pytest.mark.parametrize("name", TRANSPORTS)
def test_what_is_announced_is_what_nccl_said(name: str) -> None:
    """Of each captured start: what its environment announces, and nothing that NCCL ignored."""
    case = TRANSPORTS[name]
    said = dict(re.findall(r"(NCCL_P2P_\w+) set by environment to (\w+)", case["log"]))

    heeded = {name: value for name, value in case["env"].items() if nccl.heeded(name, value)}

    assert nccl.announced(heeded) == said


def test_every_variable_takes_something_known() -> None:
    """A kind that nobody judges would let every value through."""
    kinds = {one.takes for one in nccl.table().variables.values()}

    assert kinds == {"level", "switch", "number", "word", "interfaces", "text"}
    assert not set(nccl.table().replaced) & set(nccl.table().variables)
