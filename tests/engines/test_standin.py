"""The stand-in answers in the shapes of the real engines, and what it counts agrees with itself."""

import ast
import http.client
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from headway.wire import engines
from tests.engines import archive
from tests.engines.launch import StandIn, standin
from tests.engines.standin.knobs import KnobError, Knobs, turned
from tests.engines.standin.tokens import pieces

RECORDED: dict[str, Any] = yaml.safe_load(
    (Path(__file__).parents[1] / "cases/engines/answers.yaml").read_text()
)
NEEDLE = "It is so. The secret marker is ZEBRA-3898-QUARTZ. All is well. The secret marker is"
ASK = {"model": "copy", "prompt": NEEDLE, "max_tokens": 8}
CHAT = {"model": "copy", "messages": [{"role": "user", "content": "Say hello."}], "max_tokens": 8}
STREAM = {"stream": True, "stream_options": {"include_usage": True}}
REQUESTS: dict[str, tuple[str, Any]] = {
    "completion": ("/v1/completions", ASK),
    "chat": ("/v1/chat/completions", CHAT),
    "completion-stream": ("/v1/completions", {**ASK, **STREAM}),
    "chat-stream": ("/v1/chat/completions", {**CHAT, **STREAM}),
    "models": ("/v1/models", None),
    "too-long": ("/v1/completions", {**ASK, "prompt": "x " * 9000}),
    "wrong-model": ("/v1/completions", {**ASK, "model": "other"}),
    "404": ("/nothing", None),
    "tokenize": ("/tokenize", {"prompt": "a b"}),
    "props": ("/props", None),
    "slots": ("/slots", None),
}


@pytest.fixture(params=engines.names())
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, StandIn]]:
    """Run one of each engine."""
    with standin(tmp_path, engine=request.param, context=8192, slots=2) as running:
        yield request.param, running


def ask(running: StandIn, path: str, body: Any = None) -> bytes:
    """Send one request, take the answer's body."""
    connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=5)
    method = "GET" if body is None else "POST"
    connection.request(method, path, None if body is None else json.dumps(body))
    answer = connection.getresponse().read()
    connection.close()
    return answer


def events(raw: bytes) -> list[Any]:
    """Read the events of a stream."""
    return [json.loads(line) for line in re.findall(rb"^data: ?(\{.*)$", raw, re.MULTILINE)]


def foreign(said: Any, recorded: list[Any], at: str = "") -> list[str]:
    """Name what an answer says that no recorded one does: a key, or a value of another type."""
    there = [one for one in recorded if one is not None]
    if said is None or not there:
        return []
    if isinstance(said, Mapping):
        found = []
        for key, value in said.items():
            known = [one[key] for one in there if isinstance(one, Mapping) and key in one]
            found += foreign(value, known, f"{at}/{key}") if known else [f"{at}/{key}"]
        return found
    if isinstance(said, list):
        items = [item for one in there if isinstance(one, list) for item in one]
        return [row for item in said for row in foreign(item, items, at)]
    kinds = {int if isinstance(one, float) else type(one) for one in there}
    kind = int if isinstance(said, float) else type(said)
    return [] if kind in kinds else [f"{at}: {said!r}"]


def test_its_answers_have_the_shapes_of_recorded_ones(engine: tuple[str, StandIn]) -> None:
    """No key and no type that the real engine never sent; the two never run here are skipped."""
    name, running = engine
    recorded = RECORDED.get(name, {})
    for what, (path, body) in REQUESTS.items():
        if what not in recorded:
            continue
        raw = ask(running, path, body)
        streamed = what.endswith("stream")
        texts = recorded[what] if streamed else [recorded[what]]
        wanted = [json.loads(text) for text in texts]
        for said in events(raw) if streamed else [json.loads(raw)]:
            assert foreign(said, wanted) == [], what
    if recorded:
        shown = set(re.findall(r"^([\w:]+)", ask(running, "/metrics").decode(), re.MULTILINE))
        assert shown <= set(recorded["series"].split())


def test_it_copies_what_followed_the_same_words(engine: tuple[str, StandIn]) -> None:
    """So a needle is found; in a chat it says the marker and no more."""
    _, running = engine

    said = json.loads(ask(running, "/v1/completions", ASK))["choices"][0]
    message = {"role": "user", "content": NEEDLE}
    chat = json.loads(ask(running, "/v1/chat/completions", {**CHAT, "messages": [message]}))

    assert said["text"].startswith(" ZEBRA-3898-QUARTZ")
    assert said["finish_reason"] == "length"
    assert chat["choices"][0]["message"]["content"] == "ZEBRA-3898-QUARTZ."


def test_what_it_counts_agrees(engine: tuple[str, StandIn]) -> None:
    """Its tokenizer, an answer's usage, a stream's usage and its counters say the same."""
    name, running = engine
    table = engines.engine(name)
    counted = json.loads(ask(running, table.paths["tokenize"], {table.tokenize["text"]: NEEDLE}))
    tokens = counted[table.tokenize["tokens"]] if table.tokenize["tokens"] else counted

    whole = json.loads(ask(running, "/v1/completions", ASK))["usage"]
    last = events(ask(running, "/v1/completions", {**ASK, **STREAM}))[-1]["usage"]

    count = tokens if isinstance(tokens, int) else len(tokens)
    assert whole["prompt_tokens"] == last["prompt_tokens"] == count == len(pieces(NEEDLE))
    assert whole["completion_tokens"] == last["completion_tokens"] == ASK["max_tokens"]
    page = ask(running, "/metrics").decode()
    (generated,) = re.findall(rf"^{table.counters['generated'][0]}\S* (\S+)", page, re.MULTILINE)
    assert float(generated) == 2 * int(str(ASK["max_tokens"]))
    assert running.seen()["requests"] == 2


def test_a_prompt_asked_again_comes_from_the_cache(tmp_path: Path) -> None:
    """By blocks of 16 tokens, and never the last token."""
    with standin(tmp_path, engine="vllm", cached_in_usage=True) as running:
        used = [json.loads(ask(running, "/v1/completions", ASK))["usage"] for _ in range(2)]

    cached = [one["prompt_tokens_details"]["cached_tokens"] for one in used]
    assert cached == [0, 16]


def test_faults_are_for_the_requests_they_are_picked_for() -> None:
    """From the third on every second one, until the sixth."""
    knobs = turned(Knobs(), {"wrong": True, "faults_from": 3, "faults_every": 2, "faults_until": 6})

    assert [n for n in range(1, 10) if knobs.of_request(n).wrong] == [3, 5]


@pytest.mark.parametrize("values", [{"vibes": 1}, {"slots": "many"}, {"wrong": 1}, {"slots": True}])
def test_a_knob_that_is_none_is_refused(values: dict[str, Any]) -> None:
    """A case with a typing error would test a sound engine."""
    with pytest.raises(KnobError):
        turned(Knobs(), values)


def test_one_file_of_it_runs_on_a_host(tmp_path: Path) -> None:
    """Nothing but the standard library, in the grammar of the oldest Python that hosts have."""
    for source in sorted((Path(__file__).parent / "standin").glob("*.py")):
        ast.parse(source.read_text(), source.name, feature_version=(3, 9))
    archive.write(tmp_path / "engine.pyz")
    words = [sys.executable, "-I", "-S", str(tmp_path / "engine.pyz"), "--set", "engine=tgi"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        told = process.stdout.readline()
        process.kill()

    assert json.loads(told)["port"] > 0
