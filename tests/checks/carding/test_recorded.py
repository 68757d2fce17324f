"""What real cards said once is still read as it was meant; needs no card."""

import json
from importlib import import_module
from pathlib import Path

import pytest

from headway.wire.cards import CardsSeen
from headway.wire.loader import load
from tests.checks import tables

FOLDER = Path(__file__).parents[2] / "gpu/fixtures/2x-h200-580.159.04"


def test_the_recorded_cards_are_what_the_types_say() -> None:
    """Every field of a look at two H200 loads; all pairs are granted, over 18 NVLinks each."""
    seen = load(CardsSeen, json.loads((FOLDER / "facts.json").read_text()))
    assert [card.name for card in seen.cards] == ["NVIDIA H200", "NVIDIA H200"]
    assert {(pair.read, pair.write, pair.nvlink) for pair in seen.pairs} == {("ok", "ok", "ok")}
    assert seen.trouble == ()


@pytest.mark.parametrize(
    ("name", "transport", "taken"),
    [
        ("default", "P2P", {}),
        ("p2p_off", "SHM", {"NCCL_P2P_DISABLE": "1"}),
        ("level_loc", "SHM", {"NCCL_P2P_LEVEL": "LOC"}),
        ("level_node", "P2P", {}),  # ignored without a word
    ],
)
def test_a_recorded_start_says_what_nccl_used(
    name: str, transport: str, taken: dict[str, str]
) -> None:
    """By its `via` lines for every ordered pair, and by what it took from the environment."""
    tables.check("nccl")  # lets what it shares be imported as on a host
    transports = import_module("headway_checks.carding.transports")

    start = transports.start_of((FOLDER / f"nccl-{name}.log").read_text().splitlines())
    assert start.other_than(transport) == []
    assert set(start.pairs) == {(0, 1), (1, 0)}
    assert {key: value for key, value in start.taken.items() if "P2P" in key} == taken
    assert start.hanging() == []


def test_the_recorded_run_passed() -> None:
    """The figures that the README cites are those of a run in which nothing failed."""
    summary = json.loads((FOLDER / "summary.json").read_text())
    assert {row["outcome"] for row in summary["tests"]} == {"passed"}
