"""How fast a rollout is where nothing changes; `invoke dev.bench` prints the same figures."""

from pathlib import Path

import pytest

from tests.lab.lab import Lab
from tests.lab.proof import Proofs
from tests.lab.speed import measure

pytestmark = [pytest.mark.lab, pytest.mark.rollout]

MOST_RATIO = 2.0
MOST_OVERHEAD_MS = 2000
MOST_RUNNER_BYTES = 100_000


def test_an_unchanged_fleet_costs_little_more_than_its_logins(
    lab: Lab, prove: Proofs, tmp_path: Path
) -> None:
    """At most twice `paramiko connect + exec true`, one exec a host, a small runner, sent once."""
    figures = measure(lab, tmp_path, rounds=5)
    for line in figures.lines():
        prove("5 speed", "ten lab hosts, whole processes in turns", line)
    assert figures.ten.ratio <= MOST_RATIO
    assert figures.one.ratio <= MOST_RATIO
    assert (figures.first_execs <= 2, figures.unchanged_execs) == (True, 1)
    assert figures.overhead_ms < MOST_OVERHEAD_MS
    assert figures.runner_bytes <= MOST_RUNNER_BYTES
