"""A disk that fills up in the middle: going back works on it, thanks to the ballast."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.lab.fleet import Fleet
from tests.lab.host import Host
from tests.lab.lab import Lab
from tests.lab.looks import RECORD, Whole, whole
from tests.lab.proof import Proofs

pytestmark = [pytest.mark.lab, pytest.mark.rollout]

UNIT = "engine.service"
SIZE_MIB = 120  # ballast takes 32 of them, and stage wants 64 to spare
DISK = f"""
mkdir -p /small {RECORD} && mount -t tmpfs -o size={SIZE_MIB}m small /small
mkdir -m 700 /small/record && mount --bind /small/record {RECORD}
mkdir /small/srv && mount --bind /small/srv /srv
"""
FILL = "dd if=/dev/zero of=/small/fill bs=4k 2>/dev/null; false"
A = {"colour": "red", "extra": "/srv/only-a"}
B = {"colour": "blue", "extra": "/srv/deep/only-b"}


def free_mib(host: Host) -> int:
    """Ask how much room there is on the small disk."""
    return int(host.ssh("stat -f -c %a /small").stdout) * 4096 >> 20


def test_going_back_on_a_full_disk(
    lab: Lab, tmp_path: Path, hosts: Callable[..., list[Host]], prove: Proofs
) -> None:
    """The record and a file of A's lie on a small disk, which B fills before it fails.

    Then B is accepted, the disk fills, and a person on the host rolls back.
    """
    [host] = hosts("full", fresh=True)
    host.inside(["sh", "-ec", DISK])
    fleet = Fleet(lab, tmp_path / "fleet")
    fleet.describe(host, engine=A)
    first = fleet.invoke("rollout", host)
    assert first.code == 0, first.sentence
    a = whole(host, UNIT)

    fleet.describe(host, engine={**B, "ask": ["sh", "-c", FILL]})
    said = fleet.invoke("rollout", host)
    assert said.code == 1, said.sentence
    assert back_on(host, a)
    left = free_mib(host)
    state = json.loads(host.ssh(["cat", f"{RECORD}/state.json"]).stdout)
    assert (state["phase"], len(state["rejected"])) == ("IDLE", 1), said.sentence

    host.ssh("rm /small/fill")
    fleet.describe(host, engine=B)
    assert fleet.invoke("rollout", host, "--again").code == 0
    host.ssh(FILL)
    assert free_mib(host) == 0
    typed = host.ssh(["headway-host", "rollback"])
    assert typed.returncode == 0, typed.stdout
    assert back_on(host, a)
    prove(
        "4 full disk",
        f"B filled the {SIZE_MIB} MiB that hold the record and a file of A's, and failed; later, "
        "accepted, it filled them again and a person typed `headway-host rollback`",
        "A whole and running both times",
        f"{left} MiB free after the first, {free_mib(host)} after the second, of the ballast",
    )


def back_on(host: Host, a: Whole) -> bool:
    """Tell whether A is whole; its file on the small disk is seen from inside only."""
    files = host.ssh("find /srv -type f -exec cat {} +").stdout
    return files == "extra of red\n" and whole(host, UNIT).differences(a) == []
