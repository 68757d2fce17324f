"""Counters are read out of Prometheus text as the engine's table names them."""

from decimal import Decimal

from tests.checks.tables import check, subject, tools_of

counters = check("asking.counters")
service = check("asking.service")

PAGE = b"""# HELP vllm:generation_tokens_total Number of generation tokens processed.
# TYPE vllm:generation_tokens_total counter
vllm:generation_tokens_total{engine="0",model_name="a} 7"} 32.0
vllm:generation_tokens_total{engine="1",model_name="b"} 1.5e+03
vllm:generation_tokens_created{engine="0"} 1.7e+09
plain 4
nan NaN
"""


def test_samples_have_labels_and_values() -> None:
    """Another series whose name begins alike is another series; braces in labels are labels."""
    found = counters.samples(PAGE, "vllm:generation_tokens_total")

    assert [(one.labels["engine"], one.value) for one in found] == [("0", 32), ("1", 1500)]
    assert found[0].labels["model_name"] == "a} 7"


def test_a_label_picks_among_the_series_of_a_metric() -> None:
    """Tables of engines name a counter of failures so; one that is not there is none."""
    named = 'vllm:generation_tokens_total{engine="%d"}'

    assert counters.total(PAGE, (named % 1,)) == 1500
    assert counters.total(PAGE, (named % 2,)) is None


def test_a_counter_is_added_up_under_the_first_name_there_is() -> None:
    """Names changed over the versions; two of them at once are not two counts."""
    names = ("gone", "vllm:generation_tokens_total", "plain")

    assert counters.total(PAGE, names) == Decimal(1532)
    assert counters.total(PAGE, ("plain",)) == 4
    assert counters.total(PAGE, ("gone",)) is None
    assert counters.total(PAGE, ("nan",)) is None


def test_a_quantile_is_what_came_meanwhile() -> None:
    """What the histogram took before is not ours; over the last edge it is at least that edge."""

    def page(*counts: int) -> bytes:
        edges = zip(("0.5", "1.0", "+Inf"), counts, strict=True)
        return "".join(f'q_bucket{{le="{edge}"}} {n}\n' for edge, n in edges).encode()

    before = page(100, 100, 100)
    assert counters.quantile_ms(before, page(196, 200, 200), ("q",), 95) == 500
    assert counters.quantile_ms(before, page(190, 200, 200), ("q",), 95) == 1000
    assert counters.quantile_ms(before, page(100, 100, 200), ("q",), 95) == 1000
    assert counters.quantile_ms(before, before, ("q",), 95) is None
    assert counters.quantile_ms(PAGE, PAGE, ("q",), 95) is None


def test_a_reading_knows_counters_by_meaning() -> None:
    """Whatever the engine calls them; where it shows none, there is no reading."""
    world = {
        "http": {
            "GET /v1/models": {"json": {"data": [{"id": "copy"}]}},
            "GET /metrics": [{"body": PAGE.decode()}, {"status": 404}, "no answer"],
        }
    }
    met = service.meet(tools_of(world), subject(), "vllm")

    found = counters.read(met)
    assert (found.of("generated"), found.of("preempted"), found.steps) == (1532, 0, 1532)
    assert found.counted["preempted"] is None
    assert (counters.read(met), counters.read(met)) == (None, None)
