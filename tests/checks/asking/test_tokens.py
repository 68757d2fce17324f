"""Prompts are made to a length in tokens by few requests, quickly and in little memory."""

import json
import time
import tracemalloc
from typing import Any

import pytest

from tests.checks.tables import Tables, check, subject, tools_of

prompts = check("asking.prompts")
service = check("asking.service")
tokens = check("asking.tokens")

MODELS = {"GET /v1/models": {"json": {"data": [{"id": "copy"}]}}}
COUNTS = {"POST /tokenize": {"counts": "prompt"}}


def met(**more: Any) -> Any:
    """Meet an engine of a table; four characters are a token."""
    return service.meet(tools_of({"http": {**MODELS, **more}}), subject(), "vllm")


def built(ruler: Any, wanted: int) -> tuple[str, int]:
    """Build a prompt and its request, as a probe does."""
    salt = prompts.salt()
    text, counted = ruler.fitted(
        "prose", wanted, lambda characters: salt + prompts.filler("prose", characters)
    )
    return json.dumps({"prompt": text}), counted


def test_150k_tokens_in_under_a_second_and_100_mb() -> None:
    """By one estimate and one correction, not by cutting the text into tokens."""
    ruler = tokens.Ruler(met(**COUNTS))

    began = time.process_time()
    _, counted = built(ruler, 150_000)
    took_s = time.process_time() - began

    tracemalloc.start()
    built(tokens.Ruler(met(**COUNTS)), 150_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert not tokens.off(counted, 150_000)
    assert took_s < 1
    assert peak < 100_000_000


@pytest.mark.parametrize("wanted", [200, 1000, 4000, 32_000])
def test_few_requests_count(wanted: int) -> None:
    """A sample, a draft and its correction; short prompts may take more."""
    made = met(**COUNTS)
    table = made.tools.http

    _, counted = built(tokens.Ruler(made), wanted)

    assert not tokens.off(counted, wanted)
    assert isinstance(table, Tables)
    assert table.asked.count("/tokenizePOST") <= (6 if wanted < 1000 else 3)


def test_an_engine_without_tokenize_counts_by_its_usage() -> None:
    """One token is generated for it, and the gates know of that token."""
    usage = {"usage": {"prompt_tokens": 500, "completion_tokens": 1}}
    ruler = tokens.Ruler(met(**{"POST /v1/completions": {"json": usage}}))

    text, counted = ruler.fitted("prose", 1000, lambda length: prompts.filler("prose", length))

    assert (len(text), counted, ruler.generated) == (4000, None, 1)


@pytest.mark.parametrize(
    "answer", [{"json": {"tokens": []}}, {"status": 404}, {"body": "<html>"}, "no answer"]
)
def test_a_count_that_is_none_is_not_believed(answer: Any) -> None:
    """llama-server answers a body it does not know with 200 and no tokens."""
    ruler = tokens.Ruler(met(**{"POST /tokenize": answer}))

    assert ruler.count("some text") is None
    assert not ruler.counts


def test_off_by_more_than_one_percent() -> None:
    """Exactly one percent is not off."""
    assert [tokens.off(n, 1000) for n in (989, 990, 1010, 1011)] == [True, False, False, True]
