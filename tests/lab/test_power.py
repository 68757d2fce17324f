"""The power goes at every phase: the host comes to rest by itself, on a whole release.

A cut is SIGKILL to the host's PID 1. What was written stays in the page cache: this proves
processes and order, not fsync (tests/runner/test_power_cut.py loses what was not synced).
"""

from collections.abc import Sequence
from functools import partial

import pytest

from tests.lab import stand
from tests.lab.host import Host
from tests.lab.looks import until
from tests.lab.proof import Proofs
from tests.lab.stand import TRIES, Moment, Stand, each

pytestmark = [pytest.mark.lab, pytest.mark.rollout]

RECOVERY = "systemctl show --property=ActiveState,Result headway-recover.service"
GOES_BACK = (
    *(stand.OPEN, stand.STOPPED, stand.WRITTEN, stand.STARTED),
    *(stand.PROVEN, stand.HELD, stand.RETURNING),
)
CASES = {**dict.fromkeys(GOES_BACK, "A"), stand.KEEPING: "B"}


def cut(moment: Moment, wanted: str, one: Stand) -> None:
    """Cut the power at this moment, boot, and see which release the host rests on."""
    for _ in range(TRIES):
        with one.at(moment) as controller:
            controller.kill()
            one.host.power_cut()
        hit = one.is_at(moment)
        one.host.boot()
        one.rests()
        assert one.looks() in ("A", "B")
        if hit:
            break
        one.back_to_a()
    assert hit, f"{moment.name} was never hit"
    assert one.looks() == wanted
    assert one.ran_b() is (wanted == "B"), "what is not accepted is not started after a cut"
    assert recovered(one.host), "headway-recover.service did it, and nobody else"


def recovered(host: Host) -> bool:
    """Tell whether recovery at boot ran and ended well; the controller was killed before."""
    until("recovery ended", lambda: "inactive" in host.ssh(RECOVERY).stdout)
    return "Result=success" in host.ssh(RECOVERY).stdout


def test_the_power_goes_at_every_phase(stands: Sequence[Stand], prove: Proofs) -> None:
    """Everything before the acceptance goes back to A, with B never started again; KEEPING is B."""
    trials = {moment.name: partial(cut, moment, wanted) for moment, wanted in CASES.items()}
    assert not each(stands, trials)
    prove(
        "4 power cut",
        f"kill -9 of the host's PID 1 at each of {', '.join(trials)}; booted, no controller",
        "A whole and running, B never started after the boot; after the cut in KEEPING B whole",
        f"{len(trials)} cuts",
    )
