"""The lab keeps its own promises: real hosts, apart from each other, and nothing left behind."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.lab.command import LabError, run
from tests.lab.host import BRIDGE, CGROUP, Host, HostSpec
from tests.lab.lab import INOTIFY, REPO, Lab
from tests.lab.record import hardware_address, links, mounts_below, unified_hierarchy

pytestmark = pytest.mark.lab

Hosts = Callable[..., list[Host]]

HELD = """
import sys, time
from pathlib import Path
from tests.lab.host import HostSpec
from tests.lab.lab import Lab
lab = Lab(Path(sys.argv[1]))
lab.open()
lab.up([HostSpec("doomed")])
print("up", flush=True)
time.sleep(600)
"""


@pytest.fixture
def state(lab: Lab, tmp_path: Path) -> Iterator[Path]:
    """Clear the machine, which this run still holds, and give a place for another lab."""
    lab.clear()
    yield tmp_path / "lab"
    lab.prepare()


def left_behind(state: Path) -> list[str]:
    """Return what of a lab is on this machine now."""
    cgroup = unified_hierarchy() / CGROUP
    return [
        *(str(place) for place in mounts_below(state)),
        *([str(cgroup)] if cgroup.exists() else []),
        *(link for link in links() if link == BRIDGE),
        *(path.name for path in state.iterdir() if path.name != "lock"),
    ]


def test_a_killed_holder_leaves_nothing_that_down_does_not_take_away(state: Path) -> None:
    """Hosts outlive the process that booted them; the record says what is to be undone."""
    limit = INOTIFY.read_text()
    argv = [sys.executable, "-c", HELD, str(state)]
    with subprocess.Popen(argv, cwd=REPO, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"up\n"
        os.kill(holder.pid, signal.SIGKILL)
    orphan = Lab.look(state).hosts["doomed"]
    assert orphan.answers()

    Lab(state).down()

    assert left_behind(state) == []
    assert not orphan.answers()
    assert hardware_address("vb-doomed") is None
    assert INOTIFY.read_text() == limit


def test_a_bridge_that_the_lab_did_not_make_is_refused_and_stays(state: Path) -> None:
    """Somebody else's network of that name is not ours to remove."""
    run(["ip", "link", "add", BRIDGE, "type", "bridge"])
    foreign = hardware_address(BRIDGE)
    try:
        with pytest.raises(LabError, match="not the lab's"):
            Lab(state).open()
        Lab(state).down()
        assert hardware_address(BRIDGE) == foreign
    finally:
        run(["ip", "link", "delete", BRIDGE])


def test_a_mount_that_the_lab_did_not_make_is_refused_and_stays(state: Path) -> None:
    """Clean-up removes folders, so it must never reach into somebody else's file system."""
    place = state / "theirs"
    place.mkdir(parents=True)
    run(["mount", "-t", "tmpfs", "theirs", str(place)])
    (place / "precious").touch()
    try:
        with pytest.raises(LabError, match="not by the lab"):
            Lab(state).open()
        assert (place / "precious").exists()
    finally:
        run(["umount", str(place)])


def test_a_second_lab_is_refused_in_one_line(lab: Lab) -> None:
    """One lab a machine: two would share a bridge and addresses."""
    with pytest.raises(LabError, match=f"held by process {os.getpid()}"):
        Lab(lab.state).open(wait_s=0)


def test_hosts_share_nothing_and_have_no_way_out(hosts: Hosts) -> None:
    """Each has its own systemd, disk, identity and network; none has a route to the world."""
    gpu1, gpu2 = hosts("gpu1", "gpu2")
    gpu1.ssh(["systemd-run", "--unit=only-here", "sleep", "60"])
    gpu1.path("/etc/only-here").touch()

    assert gpu1.ssh(["systemctl", "is-active", "only-here"]).stdout == "active\n"
    assert gpu2.ssh(["systemctl", "is-active", "only-here"]).stdout == "inactive\n"
    assert gpu2.ssh(["ls", "/etc/only-here"]).returncode == 2
    for identity in ("/etc/machine-id", "/proc/sys/kernel/random/boot_id"):
        assert gpu1.ssh(["cat", identity]).stdout != gpu2.ssh(["cat", identity]).stdout
    assert gpu1.ssh(["ip", "-4", "route"]).stdout.startswith("10.77.0.0/24 dev host0")
    assert "default" not in gpu1.ssh(["ip", "-4", "route"]).stdout
    assert gpu1.ssh(["date", "--set=2001-01-01"]).returncode == 1


def test_a_power_cut_ends_everything_and_the_disk_is_there_at_boot(hosts: Hosts) -> None:
    """What was enabled starts again, what only ran does not, and the journal has both boots."""
    [gpu1] = hosts("gpu1", fresh=True)
    unit = "[Service]\nExecStart=sleep 600\n[Install]\nWantedBy=multi-user.target\n"
    gpu1.path("/etc/systemd/system/enabled.service").write_text(unit)
    gpu1.ssh("systemctl enable --now enabled; systemd-run --unit=transient sleep 600")

    gpu1.power_cut()
    assert not gpu1.answers()
    gpu1.boot()

    assert gpu1.ssh(["systemctl", "is-active", "enabled"]).stdout == "active\n"
    assert gpu1.ssh(["systemctl", "is-active", "transient"]).stdout == "inactive\n"
    assert len(gpu1.ssh(["journalctl", "--list-boots", "--quiet"]).stdout.splitlines()) >= 2


def test_a_reset_host_is_as_new_but_for_its_key(hosts: Hosts) -> None:
    """Whoever knows the host goes on knowing it; whatever a test did to it is gone."""
    [gpu1] = hosts("gpu1")
    gpu1.path("/etc/done-by-a-test").touch()

    gpu1.reset()

    assert gpu1.ssh(["ls", "/etc/done-by-a-test"]).returncode == 2
    assert gpu1.ssh(["systemctl", "is-system-running", "--wait"]).stdout == "running\n"


def test_an_unplugged_host_runs_on(hosts: Hosts) -> None:
    """The cable is not the power: the host can still be looked at from the machine."""
    [gpu1] = hosts("gpu1")
    gpu1.unplug()
    try:
        assert not gpu1.answers()
        assert gpu1.inside(["hostname"]) == "gpu1\n"
    finally:
        gpu1.plug()
    gpu1.wait(5)


def test_ops_is_root_only_by_password(hosts: Hosts) -> None:
    """The login that many fleets have: no root over SSH, sudo that asks."""
    [ops] = hosts(HostSpec("ops1", login="ops"))
    as_root = ["ssh", "-F", str(ops.ssh_config), "-l", "root", "ops1", "true"]

    assert subprocess.run(as_root, capture_output=True, check=False).returncode == 255
    assert ops.ssh(["sudo", "-n", "true"]).returncode == 1
    assert ops.ssh(["sudo", "-S", "id", "-u"], stdin="lab-ops\n").stdout == "0\n"
