"""A, then B, then back: every byte is as it was, from the host's own record and nothing else."""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.lab.fleet import Fleet
from tests.lab.host import Host, HostSpec
from tests.lab.lab import Lab
from tests.lab.looks import Whole, services, state, whole
from tests.lab.proof import Proofs
from tests.lab.recipes import OPS_PASSWORD

pytestmark = [pytest.mark.lab, pytest.mark.rollout]
Boot = Callable[..., list[Host]]
ITEM = "2 there and back"
UNITS = ("engine.service", "second.service")
SETTING = "/proc/sys/net/ipv4/ip_unprivileged_port_start"

A = {"colour": "red", "extra": "/srv/only-a", "mode": "0640"}
B = {"colour": "blue", "extra": "/srv/deep/only-b", "mode": "0600", "setting": "999"}
C = {"colour": "green", "options": {"ctx_size": 2048}}


@pytest.fixture
def fleet(lab: Lab, tmp_path: Path) -> Fleet:
    """Give an empty fleet."""
    return Fleet(lab, tmp_path / "fleet")


def rolled_out(fleet: Fleet, host: Host, **parts: Mapping[str, object]) -> Whole:
    """Bring the host to these parts and look at it."""
    fleet.describe(host, **parts)
    said = fleet.invoke("rollout", host)
    assert said.code == 0, (said.sentence, said.stderr)
    return whole(host, *UNITS)


def test_a_b_c_and_back_twice_from_the_record_alone(
    fleet: Fleet, hosts: Boot, prove: Proofs
) -> None:
    """What a rollback needs lies on the host: here role, templates and inventory are gone."""
    [host] = hosts("back1", fresh=True)
    host.path("/srv/only-a").parent.mkdir(exist_ok=True)
    host.path("/srv/only-a").write_text("somebody's own")
    host.path("/srv/only-a").chmod(0o604)
    bare = whole(host, *UNITS)
    kernel = host.ssh(["cat", SETTING]).stdout
    a = rolled_out(fleet, host, engine=A)
    b = rolled_out(fleet, host, engine=B)
    assert host.ssh(["cat", SETTING]).stdout == "999\n"
    c = rolled_out(fleet, host, engine=C)
    assert a.differences(b), "the releases must differ for going back to show anything"
    assert b.differences(c)

    fleet.forget()
    first = fleet.invoke("rollback", host)
    assert (first.code, first.told("host_ended")[0]["outcome"]) == (0, "rolled back")
    back = whole(host, *UNITS)
    assert back.differences(b) == []

    typed = host.ssh(["headway-host", "rollback"])
    assert typed.returncode == 0, typed.stderr
    assert whole(host, *UNITS).differences(a) == []
    assert host.ssh(["cat", SETTING]).stdout == kernel
    assert host.path("/srv/only-a").read_text() == "extra of red\n"
    assert not host.path("/srv/deep").exists()
    prove(
        ITEM,
        "rolled out A, B, C; deleted role, template, check and inventory; rolled back twice, the "
        "second time by `headway-host rollback` on the host",
        "B's, then A's files, modes, absences, unit states, sysctl and running argv, byte for byte",
        f"{len(b.files)} paths compared, {len(a.differences(b))} of them differ between A and B",
    )

    third = host.ssh(["headway-host", "rollback"])
    assert third.returncode == 8, "there is no older release, and nothing is touched"
    assert whole(host, *UNITS).differences(a) == []
    assert [one["withdrawn"] for one in state(host)["accepted"]] == [False, True, True]
    assert bare.files["/srv/only-a"].mode == 0o604


def test_an_unchanged_neighbour_keeps_its_launch(fleet: Fleet, hosts: Boot, prove: Proofs) -> None:
    """Two engines on one machine: there, back, and gone again, only the part in hand restarts."""
    [host] = hosts("back2", fresh=True)
    neighbour = {"colour": "grey", "port": 8001}
    alone = rolled_out(fleet, host, second=neighbour)
    before = services(host, *UNITS)["second.service"]
    a = rolled_out(fleet, host, engine=A, second=neighbour)
    rolled_out(fleet, host, engine=B, second=neighbour)
    for wanted in (a, alone):
        said = fleet.invoke("rollback", host)
        assert said.code == 0, said.sentence
        assert whole(host, *UNITS).differences(wanted) == []
    after = services(host, *UNITS)
    assert after["second.service"] == before
    assert after["engine.service"].active == "inactive"
    prove(
        ITEM,
        "two engines on a host, one of them brought, changed, rolled back and taken away again",
        "the other one is the same launch",
        f"InvocationID {before.invocation[:8]}..., PID {before.pid} over 4 transitions",
    )


KINDS = {
    HostSpec("oldest", "bullseye"): "Python 3.9, systemd 247",
    HostSpec("newest", "trixie"): "Python 3.13, systemd 257",
    HostSpec("sudoer", login="ops"): "a login that is root by sudo with a password only",
}


def test_there_and_back_on_every_kind_of_host(
    lab: Lab, tmp_path: Path, hosts: Boot, prove: Proofs
) -> None:
    """The oldest and the newest system that is promised, and one where root has no login."""

    def there_and_back(host: Host) -> list[str]:
        fleet = Fleet(lab, tmp_path / host.name)
        a = rolled_out(fleet, host, engine=A)
        rolled_out(fleet, host, engine=B)
        if host.spec.login == "root":
            said = fleet.invoke("rollback", host)
            assert said.code == 0, said.sentence
        else:
            rollback = ["sudo", "--stdin", "/usr/local/sbin/headway-host", "rollback"]
            typed = host.ssh(rollback, stdin=OPS_PASSWORD)
            assert typed.returncode == 0, typed.stderr
        return whole(host, *UNITS).differences(a)

    with ThreadPoolExecutor() as pool:
        differences = list(pool.map(there_and_back, hosts(*KINDS, fresh=True)))
    assert differences == [[], [], []]
    for what in KINDS.values():
        prove(ITEM, f"A, B and back on a host with {what}", "A's files, unit states and argv")
