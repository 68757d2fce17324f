from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from headway.wire.cards import Card, Holder
from headway.wire.loader import load

CASES = yaml.safe_load((Path(__file__).parents[1] / "cases" / "cards" / "doing.yaml").read_text())[
    "cases"
]


def held(index: int = 0, *, by: int, **fields: object) -> Card:
    """Return a card that so many processes hold."""
    holders = tuple(Holder(1000 + n, 77, 1 << 30, "compute") for n in range(by))
    card: Card = load(Card, {"index": index, **fields})
    return Card(**{**vars(card), "holders": holders})


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["is"])
def test_a_card_reads_as_what_it_does(case: dict[str, Any]) -> None:
    """100 % busy is a wait, work, or a stuck reading: tests/cases/cards/doing.yaml."""
    fields = dict(case["card"])
    card = held(by=fields.pop("held"), **fields)
    assert card.doing() == case["reads"]
    assert card.waiting() == (case["reads"] if case["reads"].startswith("waiting") else "")


@given(
    busy=st.integers(0, 100),
    memory=st.integers(0, 100),
    power=st.integers(0, 1_000_000),
    limit=st.integers(1, 1_000_000),
)
def test_a_card_waits_only_full_idle_memory_and_little_power(
    busy: int, memory: int, power: int, limit: int
) -> None:
    """All three at once, and the sentence carries the figures it was judged by."""
    card = held(
        by=1,
        busy_percent=busy,
        memory_busy_percent=memory,
        power_mw=power,
        power_limit_mw=limit,
    )
    assert bool(card.waiting()) == (busy >= 95 and memory <= 2 and power / limit < 0.4)
    if card.waiting():
        assert f"busy {busy} %, memory {memory} %, {power // 1000} W of {limit // 1000} W" in (
            card.waiting()
        )
