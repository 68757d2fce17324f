"""A name that is not there is answered with names that are."""

import pytest

from headway.control.near import near


@pytest.mark.parametrize(
    ("name", "names", "said"),
    [
        ("vlm", ["vllm", "sglang"], "did you mean vllm?"),
        ("gpu9", ["gpu1", "gpu2", "rt"], "did you mean gpu2 or gpu1?"),
        ("x", ["b", "a", "a"], "there are a, b"),
        ("x", [], "there are none"),
        ("x", "abcdefghij", "there are a, b, c, d, e, f, g, h and 2 more"),
    ],
)
def test_near_names_come_before_all_names(name: str, names: list[str], said: str) -> None:
    """A short list, in an order that does not change."""
    assert near(name, names) == said
