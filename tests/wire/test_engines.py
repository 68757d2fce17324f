"""What is known of the engines holds against what real ones wrote."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from headway.wire import engines
from headway.wire.findings import findings

CASES = Path(__file__).parents[1] / "cases" / "engines"
CAUSES: list[dict[str, Any]] = yaml.safe_load((CASES / "causes.yaml").read_text())

DEGRADATIONS: list[list[str]] = yaml.safe_load((CASES / "degradations.yaml").read_text())


def lines(name: str) -> list[str]:
    """Read a recorded log."""
    return (CASES / name).read_text().splitlines()


@pytest.mark.parametrize("case", CAUSES, ids=lambda case: case["log"])
def test_the_first_cause_of_a_recorded_start_is_found(case: dict[str, Any]) -> None:
    """A failed start is explained by its first cause; a good one with warnings is not failed."""
    found = engines.first_cause(lines(case["log"]), [engines.engine(case["engine"])])

    assert (found.pattern.id if found else None) == case["cause"]


@pytest.mark.parametrize("case", CAUSES, ids=lambda case: case["log"])
def test_all_tables_together_find_the_same_cause(case: dict[str, Any]) -> None:
    """Last words are looked for without knowing which engine it was."""
    tables = [engines.engine(name) for name in engines.names()]

    found = engines.first_cause(lines(case["log"]), tables)

    assert (found.pattern.id if found else None) == case["cause"]


def test_an_error_counts_only_where_the_engine_failed() -> None:
    """A program may log an error and go on; once it ended, its first error is the best guess."""
    table = engines.engine("vllm")
    said = ["ValueError: no such draft model, going on without", "INFO: ready"]

    alive, ended = (engines.first_cause(said, [table], ended=ended) for ended in (False, True))

    assert alive is None
    assert ended is not None
    assert ended.line == said[0]


@pytest.mark.parametrize("name", engines.names())
def test_a_table_is_whole(name: str) -> None:
    """Every pattern compiles and has an id of its own; what may fail a start has a finding."""
    table = engines.engine(name)
    groups = (table.ready, table.causes, table.symptoms, table.errors, table.named, table.facts)
    patterns = [one for group in groups for one in group]

    assert len({one.id for one in patterns}) == len(patterns)
    assert all(engines.matching("", [one]) is None for one in patterns)
    assert {"health", "models", "completion", "metrics"} <= set(table.paths)
    for one in (*table.causes, *table.symptoms, *table.errors, *table.named):
        assert one.finding in findings(), one.id


@pytest.mark.parametrize("name", engines.names())
def test_what_a_table_says_of_settings_can_be_looked_up(name: str) -> None:
    """Log lines compile and give a group, paths exist, and spans speak of names that are used."""
    table = engines.engine(name)
    places = [place for one in table.settings.values() for place in (*one.asked, *one.reads)]
    fields = {*table.paths.values(), *table.reasoning}
    series = {one for names in table.counters.values() for one in names}
    labelled = {place.at.partition("{")[0] for place in places if place.of == "metrics"}

    assert {"context", "kv_dtype", "draft_depth", "version"} <= table.settings.keys()
    assert table.spans.keys() <= fields | series | labelled
    assert set(table.absent_when_off) <= table.counters.keys()
    for place in places:
        files = place.of.endswith((".json", ".jinja"))
        assert files or place.of in {"log", "metrics", "argv", "default", *table.paths}
        assert place.of != "log" or re.compile(place.at).groups == 1 + ("?P<off>" in place.at)
    for wanted in filter(None, (table.requested, table.resolved)):
        assert wanted in table.paths or table.pattern(wanted), wanted


@pytest.mark.parametrize(
    ("span", "words"),
    [
        (engines.Span(since="0.18.0"), "from 0.18.0 on"),
        (engines.Span("0.8.5", "0.11.2"), "from 0.8.5 on, up to 0.11.2"),
        (engines.Span("0.5.6", before="/old"), "from 0.5.6 on, /old before"),
        (engines.Span(), ""),
    ],
)
def test_a_span_is_worded(span: engines.Span, words: str) -> None:
    """People compare it with the version they run."""
    assert str(span) == words


@pytest.mark.parametrize(("engine", "finding", "line"), DEGRADATIONS)
def test_a_degradation_is_known_by_its_line(engine: str, finding: str, line: str) -> None:
    """A run with such a finding never sets a baseline; engines word the same one differently."""
    found = engines.matching(line, engines.engine(engine).named)

    assert found is not None
    assert found.finding == finding
    assert findings()[finding].degradation


def test_a_pool_that_shrank_is_a_degradation() -> None:
    """It is seen by numbers, not by a line."""
    assert findings()["kv-pool-shrunk"].degradation


def test_every_finding_says_what_happens_what_helps_and_how_it_is_known() -> None:
    """A finding without help is a riddle at night."""
    for name, known in findings().items():
        assert all((known.sentence, known.help, known.source)), name


def test_an_unknown_engine_is_named_with_those_there_are() -> None:
    """A typo is answered with the choice."""
    with pytest.raises(engines.EngineError, match=r"'vlm'.*llama_cpp, sglang, tgi, vllm"):
        engines.engine("vlm")
