"""Values a program gave against what a gate expects."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.wire.compare import CompareError, find, holds

HOLD = [
    (0.8333, ">=", "0.83"),
    ("4,194,304", "==", 4194304),
    (1, "==", "1.0"),
    (3, "!=", 4),
    ("ZEBRA-3898", "contains", "ZEBRA"),
    (["a", "b"], "contains", "b"),
    ("b10434", "matches", r"^b\d+$"),
    (None, "==", None),
    (True, "==", True),
    (2, "<", "2.5"),
    (0, "<=", 0),
]
UNJUDGED = [
    (float("nan"), "==", 1),
    (float("nan"), ">=", 1),
    ("fast", ">", 1),
    (True, ">", 0),
    (5, "contains", 5),
    (5, "matches", "5"),
    (1, "=~", 1),
]


@pytest.mark.parametrize(("seen", "operator", "wanted"), HOLD)
def test_what_holds(seen: Any, operator: str, wanted: Any) -> None:
    """Numbers are compared as numbers, however they were written."""
    assert holds(operator, seen, wanted)


@pytest.mark.parametrize(("seen", "operator", "wanted"), UNJUDGED)
def test_what_cannot_be_compared_is_not_judged(seen: Any, operator: str, wanted: Any) -> None:
    """NaN, text against a number, an unknown operator: no verdict comes of it."""
    with pytest.raises(CompareError):
        holds(operator, seen, wanted)


@given(st.integers(), st.integers())
def test_operators_agree_with_each_other(left: int, right: int) -> None:
    """Exactly one of <, == and > holds, and the others follow from them."""
    less, same, more = (holds(operator, left, right) for operator in ("<", "==", ">"))

    assert [less, same, more].count(True) == 1
    assert holds("<=", left, right) is (less or same)
    assert holds("!=", left, right) is not same


def test_a_path_leads_into_lists_and_mappings() -> None:
    """lm-eval's keys have commas, some have slashes: those are written ~1."""
    document = {"results": {"a/b": [{"exact_match,strip": 0.5}]}}

    assert find(document, "results/a~1b/0/exact_match,strip") == 0.5
    assert find(document, "") is document


@pytest.mark.parametrize("path", ["choices", "results/1", "results/a~1b/x", "results/a~1b/7"])
def test_a_path_that_leads_nowhere_is_not_judged(path: str) -> None:
    """An answer of another shape is no wrong value."""
    with pytest.raises(CompareError, match="there is no"):
        find({"results": {"a/b": [{}]}}, path)
