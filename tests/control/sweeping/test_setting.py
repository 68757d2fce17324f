"""What is swept, as it is typed: a variable and its values."""

from typing import Any

import pytest

from headway.control.errors import UsageError
from headway.control.inventory.model import Host, Instance, Value
from headway.control.sweeping.setting import Setting, setting, with_value


@pytest.mark.parametrize(
    ("words", "name", "values"),
    [
        ("draft_depth=0..3", "draft_depth", (0, 1, 2, 3)),
        ("n=3..1", "n", (3, 2, 1)),
        ("n=0..64..32", "n", (0, 32, 64)),
        ("options.kv_cache_dtype=auto,fp8", "options.kv_cache_dtype", ("auto", "fp8")),
        ("options.eager=true,false,null", "options.eager", (True, False, None)),
        ("a=-1", "a", (-1,)),
    ],
)
def test_a_range_or_a_list(words: str, name: str, values: tuple[Any, ...]) -> None:
    """Whole numbers and YAML's three words are what they look like; the rest is text."""
    assert setting(words) == Setting(name, values)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("draft_depth", "names no variable and values"),
        ("=1", "names no variable and values"),
        ("a b=1", "names no variable and values"),
        ("a=", "names no variable and values"),
        ("a=1,1", "gives a value twice"),
        ("a=0..9..0", "has a step of 0"),
        ("a=0..99", "gives 100 values; at most 32"),
    ],
)
def test_words_that_do_not_fit_are_one_line(words: str, says: str) -> None:
    """Before any host is asked."""
    with pytest.raises(UsageError, match=says):
        setting(words)


def host() -> Host:
    """Make a host of two instances that share a variable."""
    shared = {"options": Value({"a": 1, "b": {"c": 2}}, "hosts.yaml:3")}
    mine = (Instance("one", "vllm", {}, ""), Instance("two", "vllm", {}, ""))
    return Host("gpu1", "gpu1", (), shared, mine)


def test_one_instance_gets_the_value_and_the_rest_stays() -> None:
    """Also deep within a mapping that the host holds for all of them."""
    swept = with_value(host(), "two", "options.b.c", 9)
    one, two = swept.instances
    assert one.vars == {}
    assert two.vars["options"].value == {"a": 1, "b": {"c": 9}}
    assert two.vars["options"].where == "--set options.b.c=9"
    assert swept.vars == host().vars


def test_a_variable_that_is_no_mapping_has_nothing_within() -> None:
    """It is said, and nothing is overwritten."""
    with pytest.raises(UsageError, match="'x' lies in no mapping"):
        with_value(host(), "one", "options.a.x", 9)
