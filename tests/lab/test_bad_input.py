"""Hosts that are unfit, or that forbid it: one line, the right exit code, nothing changed there.

Cases are data: tests/cases/bad_input/. Each breaks a host from outside, types a verb and mends it.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.control.bad_input import Case, cases, is_one_line
from tests.lab.host import Host, HostSpec
from tests.lab.lab import Lab
from tests.lab.looks import FOLDERS, RECORD, Entry, tree
from tests.lab.proof import Proofs
from tests.lab.record import pids
from tests.lab.workbench import OTHERWISE, Workbench

pytestmark = [pytest.mark.lab, pytest.mark.rollout]

ITEM = "6 bad input"
SPECS = {
    "sick1": HostSpec("sick1"),
    "sick2": HostSpec("sick2", login="ops"),
    "nopy": HostSpec("nopy", without=("/usr/bin/python3",)),
    "old": HostSpec("old", "bullseye"),
}
PLACES = (*FOLDERS, "/root", "/home")


def stands(benches: Mapping[str, Workbench]) -> None:
    """See that sick1 runs an accepted release; where it does already, nothing is to be done."""
    bench = benches.get("sick1")
    if bench is not None:
        bench.describe(Case("accepted"))
        done = bench.type("rollout --host sick1")
        assert done.returncode == 0, done.stderr


def seen(host: Host) -> tuple[dict[str, Entry], set[int], object]:
    """Look at what must not change: files, the engine's processes, where the host stands."""
    return tree(host, PLACES), pids(host.cgroup / "system.slice/web.service"), _stands(host)


def _stands(host: Host) -> object:
    path = host.path(f"{RECORD}/state.json")
    if not path.exists():
        return None
    try:
        state = json.loads(path.read_bytes())
    except ValueError:
        return path.read_bytes()
    return [state[name] for name in ("phase", "accepted", "rejected", "parked", "transition")]


@pytest.mark.parametrize(
    ("group", "what"),
    [
        ("login", "logins, keys, shells and sudo that do not let us in"),
        ("unfit", "hosts without Python or systemd, hosts met for the first time"),
        ("stage", "units, disks and owners that a release cannot have there"),
        ("record", "records that forbid it, or that somebody changed"),
    ],
)
def test_it_is_one_line_and_nothing_is_changed(
    group: str,
    what: str,
    lab: Lab,
    hosts: Callable[..., list[Host]],
    tmp_path: Path,
    prove: Proofs,
) -> None:
    """Files outside the record, the running engine and where the host stands are as they were."""
    found = cases(group)
    names = list(dict.fromkeys(case.host for case in found))
    booted = hosts(*(SPECS[name] for name in names), fresh=group == "unfit")
    benches = {host.name: Workbench(lab, host, tmp_path / host.name) for host in booted}
    stands(benches)
    for case in found:
        bench = benches[case.host]
        bench.describe(case, **OTHERWISE)
        with bench.broken(case):
            before = seen(bench.host)
            done = bench.type(case.verb or f"rollout --host {bench.host.name}")
            after = seen(bench.host)
        is_one_line(case, done.returncode, done.stdout, done.stderr)
        assert after == before, f"{case.name}: changed the host"
    stands(benches)
    prove(
        ITEM,
        what,
        "one line each and the exit code of DESIGN 4; files, engine and record as before",
        f"{len(found)} cases",
    )
