"""A pattern in an inventory file names the hosts that Ansible would name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.control.errors import ConfigError
from headway.control.inventory.addresses import expand


@pytest.mark.parametrize(
    ("pattern", "names", "port"),
    [
        ("gpu1", ["gpu1"], None),
        ("gpu1.lan:2222", ["gpu1.lan"], 2222),
        ("gpu[09:11]", ["gpu09", "gpu10", "gpu11"], None),
        ("gpu[:2]", ["gpu0", "gpu1", "gpu2"], None),
        ("r[a:b]-[1:5:4]:22", ["ra-1", "ra-5", "rb-1", "rb-5"], 22),
        ("10.0.0.1:22", ["10.0.0.1"], 22),
        ("fe80::1", ["fe80::1"], None),
        ("[fe80::1]:22", ["fe80::1"], 22),
    ],
)
def test_names_and_a_port(pattern: str, names: list[str], port: int | None) -> None:
    """An IPv6 address wants brackets to carry a port."""
    assert expand(pattern, "f:1") == (names, port)


@given(st.integers(0, 200), st.integers(0, 50), st.integers(1, 7), st.booleans())
def test_a_range_counts_from_its_begin_to_its_end(
    begin: int,
    more: int,
    step: int,
    padded: bool,  # hypothesis gives by position
) -> None:
    """In order, both ends included, as wide as it was written."""
    width = 4 if padded else 0
    text = f"h[{begin:0{width}}:{begin + more:0{width}}:{step}]"

    names, _ = expand(text, "f:1")

    assert [int(name[1:]) for name in names] == list(range(begin, begin + more + 1, step))
    assert not padded or {len(name) for name in names} == {5}


@pytest.mark.parametrize(
    "pattern",
    ["", "a b", "a:", "a[1:2", "a[1]", "a[x:9]", "a[1:2:0]", "a[1:2:3:4]", "a[:]", "a:99999"],
)
def test_what_names_no_host_is_refused_with_its_line(pattern: str) -> None:
    """Rather than a host whose name has brackets in it."""
    with pytest.raises(ConfigError, match=r"^f:1: "):
        expand(pattern, "f:1")
