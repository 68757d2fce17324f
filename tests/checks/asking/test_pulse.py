"""While an engine is asked, its counters say whether it works, and whether for us alone."""

import time
from typing import Any

import pytest

from headway.wire.verdict import Verdict
from tests.checks.tables import check, subject, tools_of

answers = check("asking.answers")
counters = check("asking.counters")
pulse = check("asking.pulse")
service = check("asking.service")

MODELS = {"GET /v1/models": {"json": {"data": [{"id": "copy"}]}}}
SECOND_US = 1_000_000


def met(*pages: Any) -> Any:
    """Meet an engine that shows these pages of metrics, one after the other."""
    return service.meet(
        tools_of({"http": {**MODELS, "GET /metrics": list(pages)}}), subject(), "vllm"
    )


def page(generated: int, running: int = 0, beats: int = 0) -> dict[str, str]:
    """Write a page of metrics."""
    rows = {
        "vllm:generation_tokens_total": generated,
        "vllm:num_requests_running": running,
        "vllm:iteration_tokens_total_count": beats,
    }
    return {"body": "".join(f"{name} {value}\n" for name, value in rows.items())}


def reading(at_s: int, steps: int, running: int) -> Any:
    """Make a reading at a time."""
    return counters.Reading(at_s * SECOND_US, {"generated": steps, "running": running})


@pytest.mark.parametrize(
    ("readings", "verdict", "said"),
    [
        ([(0, 5, 1), (30, 5, 1), (61, 5, 1)], Verdict.FAIL, "stood still for 61 s with 1 requests"),
        ([(0, 5, 1), (30, 6, 1), (61, 6, 1)], Verdict.INVALID, "while its counters moved"),
        ([(0, 5, 1), (30, 6, 1), (90, 6, 1)], Verdict.FAIL, "stood still for 60 s"),
        ([(0, 5, 0), (30, 5, 0), (61, 5, 0)], Verdict.INVALID, "with 0 requests running"),
        ([(0, 5, 1), (30, 5, 1)], Verdict.INVALID, "stood still for 30 s"),
        ([(0, 5, 1)], Verdict.INVALID, "too few looks"),
        ([], Verdict.INVALID, "too few looks"),
    ],
)
def test_silence_is_judged_by_the_counters(
    readings: list[tuple[int, int, int]], verdict: Verdict, said: str
) -> None:
    """DESIGN 5: flat for 60 s with requests running is the engine's fault; all else is not."""
    watching = pulse.Pulse(met({"status": 404}))
    watching.readings = [reading(*row) for row in readings]

    found = watching.silence(0, 0)

    assert found.verdict is verdict
    assert said in found.evidence[0]


@pytest.mark.parametrize(
    ("unanswered_s", "until_s", "verdict", "said"),
    [
        (2, 63, Verdict.FAIL, "its metrics answered no more for 61 s with 1 requests running"),
        (2, 50, Verdict.INVALID, "our own time was over while its counters moved"),
        (0, 63, Verdict.INVALID, "our own time was over while its counters moved"),
    ],
)
def test_metrics_that_fall_silent_stand_still(
    unanswered_s: int, until_s: int, verdict: Verdict, said: str
) -> None:
    """VLLM after SIGTERM kept a stream open for 300 s, its engine dead and its port closed.

    Metrics that nobody asked meanwhile were not silent.
    """
    watching = pulse.Pulse(met({"status": 404}))
    watching.readings = [reading(0, 5, 1), reading(2, 9, 1)]
    watching.unanswered_us = unanswered_s * SECOND_US

    found = watching.silence(0, until_s * SECOND_US)

    assert found.verdict is verdict
    assert found.evidence[0] == said


def test_a_prefill_that_only_the_scheduler_shows_is_work() -> None:
    """A prompt is counted by vLLM when it is read whole; its steps count meanwhile."""
    first, later = (counters.Reading(n, {"heartbeat": n, "generated": 5}) for n in (1, 2))

    assert first.steps != later.steps


def test_the_requests_of_others_are_seen_twice_to_be_believed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One that ended may be counted a moment longer; one that stays is another client's."""
    monkeypatch.setattr(pulse, "_EVERY_S", 0.01)
    for pages, foreign in (
        ([page(1), page(1, 2), page(1, 1), page(1, 1)], 0),
        ([page(1), page(1, 2), page(1, 3), page(1, 1)], 1),
    ):
        with pulse.Pulse(met(*pages)) as watching:
            watching.asking(1)
            time.sleep(0.2)
        assert max(0, watching.foreign) == foreign


def test_how_far_a_counter_went() -> None:
    """From before our requests to after them; one that is not there did not stand still."""
    with pulse.Pulse(met(page(10), page(25))) as watching:
        pass

    assert watching.went("generated") == 15
    assert watching.went("preempted") is None


def test_an_engine_that_comes_to_rest_is_waited_for() -> None:
    """What a gate before this one left behind goes."""
    assert pulse.idle(met(page(1, 1), page(1))).requests == 0
    with pytest.raises(answers.Settled) as busy:
        pulse.idle(met(page(1, 1)), 0)
    assert busy.value.answer.verdict is Verdict.INVALID


def test_a_look_without_an_answer_is_kept_until_one_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a row of them the first counts."""
    silent, shown = {"status": 503}, page(5, 1)
    monkeypatch.setattr(pulse, "_EVERY_S", 60)
    with pulse.Pulse(met(shown, silent)) as watching:
        assert watching.unanswered_us == 0
        began = time.monotonic_ns() // 1000
    assert watching.unanswered_us >= began > 0
    with pulse.Pulse(met(silent, shown)) as watching:
        assert watching.unanswered_us > 0
    assert watching.unanswered_us == 0
