from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from headway.runner.cards.xid import catalogue, xids

CASES = yaml.safe_load((Path(__file__).parents[2] / "cases" / "cards" / "xid.yaml").read_text())


@pytest.mark.parametrize("case", CASES["cases"], ids=lambda case: case["line"][:50])
def test_a_line_is_read_with_its_action(case: dict[str, Any]) -> None:
    """Lines as drivers write them: tests/cases/cards/xid.yaml."""
    found = [
        {name: getattr(xid, name) for name in ("bus", "number", "action", "advice")}
        for xid in xids([(5, case["line"])])
    ]
    assert found == ([case["is"]] if case["is"] else [])


def test_a_line_keeps_its_second_and_its_words() -> None:
    """What the catalogue says is ours; what the driver says is evidence."""
    [xid] = xids([(4711, "NVRM: Xid (PCI:0000:9b:00): 13, Graphics SM Warp Exception")])
    assert (xid.at_s, xid.line[:10]) == (4711, "NVRM: Xid ")
    assert xid.meaning.startswith("graphics engine exception")


def test_the_catalogue_is_whole_and_names_its_source() -> None:
    """No number stands twice, and every action has words."""
    known = catalogue()
    numbers = Counter(number for row in known.xids for number in row.numbers)
    assert [number for number, times in numbers.items() if times > 1] == []
    assert {row.action for row in known.xids} <= set(known.actions)
    assert "docs.nvidia.com" in known.source


@pytest.mark.parametrize(
    ("number", "action"),
    [
        *((number, "RESTART_APP") for number in (13, 31, 94)),
        *((number, "IGNORE") for number in (43, 63, 92)),
        *((n, "RESET_GPU") for n in (46, 62, 64, 95, 109, 119, 120, 136, 140, 143, 158)),
        *((48, "WORKFLOW_XID_48"), (74, "WORKFLOW_NVLINK_ERR"), (79, "RESTART_BM")),
    ],
)
def test_the_actions_are_those_of_the_field_notes(number: int, action: str) -> None:
    """FIELD.md 1.3 was read from the same catalogue by somebody else."""
    assert [row.action for row in catalogue().xids if number in row.numbers] == [action]
