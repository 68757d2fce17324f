"""What acceptance had to show, on real engines in whole rollouts, and on the stand-in engine."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.engines.judged import Asked, Unit, report_of
from tests.engines.launch import standin
from tests.lab.fleet import evidence
from tests.lab.lab import Lab
from tests.lab.looks import argv
from tests.lab.proof import Proofs
from tests.lab.real import OPTIONS, UNIT, Real, real_engine

pytestmark = [pytest.mark.lab, pytest.mark.acceptance]

GATES = """\
  - health: {engine: llama_cpp, model: copy, deadline_s: 60}
  - options: {engine: llama_cpp}
  - needle: {engine: llama_cpp, depths: [1000, 2000, 4000], positions_percent: [50]}
  - decode: {engine: llama_cpp, texts: [prose], runs: 3, max_cv_percent: 100}
  - burst: {engine: llama_cpp, requests: 6, at_once: 3}
  - soak:
      engine: llama_cpp
      length_s: 5
      at_once: 2
      prompt_tokens: 60
      max_tokens: 16
      max_slower_percent: 60
"""


@pytest.fixture(scope="module")
def real(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Real]:
    """Give a host that accepted the engine once."""
    with real_engine(lab, "accept", tmp_path_factory.mktemp("accept"), GATES) as one:
        yield one


def measured(report: Mapping[str, Any]) -> dict[str, int]:
    """Give a report's measurements by name."""
    return {one["name"]: one["value"] for one in report["measurements"]}


def test_needles_to_4k_on_the_real_engine(real: Real, prove: Proofs) -> None:
    """A real engine quotes fresh markers in exact tokens; each depth takes under 5 s."""
    said = real.accepted
    assert said.code == 0, (said.sentence, said.stderr)
    report = said.report("needle")

    assert report["verdict"] == "PASS", evidence(report)
    colds = [measured(report)[f"cold_ttft@{depth}"] for depth in (1000, 2000, 4000)]
    assert max(colds) < 5000
    assert re.search(r"4000 tokens, marker at 50 %: (39[6-9]|40[0-3])\d counted", evidence(report))
    prove(
        "needle, real engine",
        "llama-server with the copy model is rolled out; markers at 1k, 2k and 4k tokens",
        "quoted exactly, cold and warm, and the release accepted",
        f"cold after {', '.join(map(str, colds))} ms",
    )


def test_decode_agrees_with_the_engine_within_3_percent(real: Real, prove: Proofs) -> None:
    """What we measure from outside is what llama-server says of the same requests."""
    report = real.accepted.report("decode")

    found = measured(report)
    ours, own = found["tokens_s"], found["own_tokens_s"]
    assert abs(ours - own) * 100 <= own * 3, evidence(report)
    prove(
        "decode within 3 %",
        "three runs of 256 tokens, measured from outside and by llama-server's own timings",
        "the two rates agree",
        f"{ours / 1000:.1f} and {own / 1000:.1f} tokens/s, {abs(ours - own) * 100 / own:.2f} %",
    )


def test_a_burst_on_the_real_engine(real: Real) -> None:
    """One slot, three at once: two of them wait, and all are right."""
    report = real.accepted.report("burst")

    assert report["verdict"] == "PASS", evidence(report)
    assert "6 of 6 answered, 3 at once" in evidence(report)


def test_a_soak_of_the_real_engine(real: Real, prove: Proofs) -> None:
    """Seconds here, hours elsewhere: every answer right, and no more memory at the end."""
    report = real.accepted.report("soak")

    assert report["verdict"] == "PASS", evidence(report)
    found = re.search(r"(\d+) of \1 answered, 2 at once, in 5 s", evidence(report))
    assert found, evidence(report)
    prove(
        "soak, real engine",
        "two requests at a time of llama-server for 5 s, the last third compared with the first",
        f"{found[1]} of {found[1]} with their own markers, PASS",
        next(line for line in report["evidence"] if line.startswith("resident memory")),
    )


def test_a_wrong_rope_base_goes_back(real: Real, prove: Proofs) -> None:
    """Healthy, with every option it was given, and wrong: only the needle sees it."""
    before = argv(real.host, UNIT)

    said = real.rollout(options={**OPTIONS, "rope-freq-base": "10000"})

    assert said.code == 1, (said.sentence, said.stderr)
    assert (said.report("health")["verdict"], said.report("options")["verdict"]) == ("PASS", "PASS")
    report = said.report("needle")
    assert (report["verdict"], report["fate"]) == ("FAIL", "SAME"), evidence(report)
    assert "is not quoted, it says:" in report["evidence"][0]
    assert argv(real.host, UNIT) == before
    prove(
        "wrong rope base",
        "llama-server is rolled out with --rope-freq-base 10000",
        "health and options PASS, needle FAIL at its first depth, exit 1, the old argv runs",
        f"needle took {report['took_ms']} ms",
    )


def test_garbage_past_150k(tmp_path: Path, prove: Proofs) -> None:
    """Coherent to 150k tokens and noise past them: a needle that is deep enough sees it."""
    asked = Asked("needle", {"depths": [4000, 100_000, 160_000], "positions_percent": [50]}, 60)
    with standin(tmp_path, engine="vllm", garbage_past=150_000) as engine:
        report = report_of(asked, Unit(engine), tmp_path, "vllm")

    said = "\n".join(report.evidence)
    assert report.verdict.value == "FAIL", said
    assert "160000 tokens, marker at 50 %, cold" in report.evidence[0]
    assert "100000 tokens, marker at 50 %:" in said
    prove(
        "garbage past 150k",
        "a stand-in engine writes noise from 150k tokens of context on; needles at 4k, 100k, 160k",
        "4k and 100k quoted, FAIL at 160k with what came instead",
        f"{report.took_ms} ms",
    )


def test_a_burst_of_128_under_one_core(tmp_path: Path, prove: Proofs) -> None:
    """Our side measures the engine, not itself; the evidence says where it would be the limit."""
    with standin(tmp_path, engine="vllm", tokens_s=50, ttft_ms=20) as engine:
        report = report_of(Asked("burst", {}, 60), Unit(engine), tmp_path, "vllm")

    said = "\n".join(report.evidence)
    assert report.verdict.value == "PASS", said
    assert "128 of 128 answered, 64 at once" in said
    ours = {one.name: one.value for one in report.measurements}["our_cpu"]
    assert ours < 100
    limit = re.search(r"(\d+) pieces/s came, (\d+) would fill a core", said)
    assert limit
    prove(
        "128 of 128",
        "128 requests, 64 at once, of a stand-in that streams 50 tokens/s each, an event a token",
        f"128 of 128, each with its own marker; our side took {ours} % of a core",
        f"{limit[1]} events/s came, {limit[2]} would fill a core",
    )
