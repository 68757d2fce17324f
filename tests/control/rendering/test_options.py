"""A mapping of options becomes the words an engine takes, and never two of one name."""

from typing import Any

import pytest

from headway.control.rendering.options import OptionError, rows


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"max_model_len": 4096}, ("--max-model-len", "4096")),
        ({"no-mmap": True}, ("--no-mmap",)),
        ({"c": 8192}, ("-c", "8192")),
        ({"-ngl": 99}, ("-ngl", "99")),
        ({"--keep_it": 1}, ("--keep_it", "1")),
        ({"served_model_name": ["a", "b"]}, ("--served-model-name", "a", "b")),
        (
            {"speculative_config": {"method": "mtp", "num_speculative_tokens": 3}},
            ("--speculative-config", '{"method":"mtp","num_speculative_tokens":3}'),
        ),
        ({"speculative_config.num_tokens": 3}, ("--speculative-config.num_tokens", "3")),
        ({"gpu_memory_utilization": 0.92}, ("--gpu-memory-utilization", "0.92")),
        ({"seed": 0}, ("--seed", "0")),
        ({"alias": ""}, ("--alias", "")),
    ],
)
def test_an_option_is_written_as_the_engine_takes_it(
    options: dict[str, Any], words: tuple[str, ...]
) -> None:
    """Flags, values, lists and JSON, each in one tuple of words."""
    assert rows(options) == (words,)


def test_false_and_nothing_are_absent() -> None:
    """An option is switched off by not being given: `no-` forms have names of their own."""
    assert rows({"metrics": False, "seed": None}) == ()


def test_an_engine_may_keep_its_underscores() -> None:
    """Not every program spells its options with dashes."""
    assert rows({"a_b": 1}, dashes=False) == (("--a_b", "1"),)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"max_model_len": 1, "max-model-len": 2}, "given twice"),
        ({"port": 1, "--port": 2}, "given twice"),
        ({"a b": 1}, "no blanks"),
        ({"a=b": 1}, "no value"),
        ({"--": 1}, "no blanks"),
        ({"": 1}, "no blanks"),
        ({"alias": []}, "empty list"),
        ({"alias": ["a", None]}, "no option's value"),
    ],
)
def test_what_is_no_option_is_refused(options: dict[str, Any], problem: str) -> None:
    """Two of one name, a name with its value in it, and lists of nothing."""
    with pytest.raises(OptionError, match=problem):
        rows(options)
