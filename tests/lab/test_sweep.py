"""Sweeps and baselines on a lab host: what is measured, pinned, and held against a release."""

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
import yaml

from tests.lab.fleet import Fleet
from tests.lab.host import HostSpec
from tests.lab.lab import REPO, Lab
from tests.lab.looks import services, whole
from tests.lab.measured import UNIT, Measured
from tests.lab.proof import Proofs

pytestmark = [pytest.mark.lab, pytest.mark.acceptance]


@pytest.fixture(scope="module")
def measured(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Measured]:
    """Give a host that accepted the engine once."""
    [host] = lab.up([HostSpec("measured")])
    one = Measured(Fleet(lab, tmp_path_factory.mktemp("measured")), host)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADWAY_HISTORY", str(one.fleet.folder / "history.sqlite"))
        said = one.rollout()
        assert said.code == 0, (said.sentence, said.stderr)
        yield one
    host.ssh(["systemctl", "stop", UNIT])


def typed(measured: Measured, *words: str) -> subprocess.CompletedProcess[str]:
    """Type a verb as a person does, and read what stands there."""
    return subprocess.run(
        [sys.executable, "-m", "invoke", *words],
        cwd=measured.fleet.folder,
        env={**os.environ, "PYTHONPATH": str(REPO)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_sweep_ends_on_the_accepted_release(measured: Measured, prove: Proofs) -> None:
    """One launch a value, a table and a plot; the longest acceptance is not the fastest."""
    before, launch = whole(measured.host, UNIT), services(measured.host, UNIT)[UNIT].invocation

    done = typed(
        measured,
        *("sweep", "--host", "measured", "--set", "draft_depth=0..3", "--gate", "decode"),
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert whole(measured.host, UNIT).differences(before) == []
    assert services(measured.host, UNIT)[UNIT].invocation != launch
    *_, fastest, longest = done.stdout.strip().splitlines()
    assert fastest.startswith("fastest: draft_depth=1 with "), done.stdout
    assert longest.startswith("the longest acceptance is slower: draft_depth=3, 2.1 tok/step")
    plot = [line for line in done.stdout.splitlines() if "█" in line]
    assert [line.split()[0] for line in plot] == ["0", "1", "2", "3"]
    assert done.stdout.count("PASS") == len(plot)
    prove(
        "sweep",
        "sweep --set draft_depth=0..3 --gate decode on a stand-in whose deeper drafts take longer",
        "a launch a value, table and plot, and the accepted release runs again byte for byte",
        f"{fastest}; {longest}",
    )


def test_a_slower_release_goes_back_by_the_baseline(measured: Measured, prove: Proofs) -> None:
    """Numbers are measured, pinned, and a release is worse than them by more than is allowed."""
    checked = measured.fleet.invoke("check", measured.host, "--gate", "needle,decode")
    assert checked.code == 0, (checked.sentence, checked.stderr)
    assert [one["report"]["gate"] for one in checked.bodies("reported")] == ["needle", "decode"]

    pinned = typed(measured, "baseline", "--host", "measured")
    assert pinned.returncode == 0, pinned.stderr
    file = yaml.safe_load((measured.fleet.folder / "baselines.yaml").read_text())
    rate = file["lab/measured"]["gates"]["decode"]["tokens_s"]["value"]
    fine = measured.rollout(within_percent=20, draft_depth=2)
    said = measured.rollout(within_percent=20, percent=150)

    assert fine.code == 0, (fine.sentence, fine.stderr)
    report = said.report("decode")
    assert said.code == 1, (said.sentence, said.stderr, report)
    assert report["verdict"] == "FAIL", report["evidence"]
    [line] = [one for one in report["evidence"] if one.startswith("tokens_s:")]
    assert f"{rate} in lab/measured: worse by" in line
    assert services(measured.host, UNIT)[UNIT].active == "active"
    environment = measured.host.path("/etc/engine/env").read_text().replace("\\", "")
    assert '"token_percent": 100' in environment
    prove(
        "baseline",
        "check --gate needle,decode, baseline, and a release whose tokens take 1.5 times as long",
        "decode FAIL against the pinned rate, exit 1, the old release runs",
        line,
    )
