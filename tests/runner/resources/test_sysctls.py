"""A sysctl: the running value and the file that brings it back at boot."""

from pathlib import Path

import pytest

from headway.runner import resources
from headway.runner.machine import Machine
from headway.runner.resources.sysctl import proc_path
from headway.wire.record import Absent, Before, WasSysctl
from headway.wire.resources import Sysctl
from tests.runner.resources.scripted import machine_at

FILE = "etc/sysctl.d/90-headway-net.core.rmem_max.conf"


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    """Give a kernel with one setting."""
    setting = tmp_path / "proc/sys/net/core/rmem_max"
    setting.parent.mkdir(parents=True)
    setting.write_text("1\t2\t3\n")
    return setting


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """Give the machine of that kernel."""
    return machine_at(tmp_path)[0]


def test_the_running_value_and_the_file_are_set(
    tmp_path: Path, kernel: Path, machine: Machine
) -> None:
    """Blanks do not count: the kernel writes tabs where people write spaces."""
    sysctl = Sysctl("net.core.rmem_max", "1 2 4")
    assert resources.diff(sysctl, machine) == "net.core.rmem_max is 1 2 3, not 1 2 4"
    assert resources.text_now(sysctl, machine) == "1 2 3"
    resources.apply(sysctl, machine)
    assert kernel.read_text() == "1 2 4\n"
    assert (tmp_path / FILE).read_text() == "net.core.rmem_max = 1 2 4\n"


def test_a_value_that_only_runs_is_not_as_wanted(
    tmp_path: Path, kernel: Path, machine: Machine
) -> None:
    """After a reboot it would be gone."""
    sysctl = Sysctl("net.core.rmem_max", "1 2 3")
    assert "does not keep it over a reboot" in str(resources.diff(sysctl, machine))
    resources.apply(sysctl, machine)
    (tmp_path / FILE).chmod(0o600)
    assert "another mode or owner" in str(resources.diff(sysctl, machine))
    assert kernel.read_text() == "1 2 3\n"


def test_value_and_absence_come_back(tmp_path: Path, kernel: Path, machine: Machine) -> None:
    """The before-image holds both."""
    sysctl = Sysctl("net.core.rmem_max", "9")
    was = resources.before(sysctl, machine)
    assert was == (
        Before("sysctl:net.core.rmem_max", WasSysctl("1 2 3")),
        Before("/" + FILE, Absent()),
    )
    resources.apply(sysctl, machine)
    resources.restore(was, machine)
    assert kernel.read_text() == "1 2 3\n"
    assert not (tmp_path / FILE).exists()


@pytest.mark.usefixtures("kernel")
def test_a_setting_this_kernel_lacks_is_refused(tmp_path: Path, machine: Machine) -> None:
    """Its file is not written either: it would fail at every boot."""
    sysctl = Sysctl("net.nothing.here", "1")
    assert resources.diff(sysctl, machine) == "net.nothing.here does not exist in this kernel"
    with pytest.raises(resources.ResourceError, match=r"^net\.nothing\.here does not exist"):
        resources.apply(sysctl, machine)
    assert list((tmp_path / "etc/sysctl.d").iterdir()) == []


def test_a_value_the_kernel_refuses_is_told_and_not_kept(
    tmp_path: Path, kernel: Path, machine: Machine
) -> None:
    """EINVAL here, and not a boot that fails; a folder stands for the kernel that says no."""
    machine.disk.poke("/proc/sys/net/core/rmem_max", b"7\n")
    sysctl = Sysctl("net.core.rmem_max", "x")
    kernel.unlink()
    kernel.symlink_to("/proc/version")  # the kernel's own refusal of a write
    with pytest.raises(resources.ResourceError, match="the kernel does not take 'x'"):
        resources.apply(sysctl, machine)
    assert not (tmp_path / FILE).exists()


@pytest.mark.parametrize(
    ("key", "path"),
    [
        ("vm.swappiness", "/proc/sys/vm/swappiness"),
        ("net.ipv4.conf.eth0/100.rp_filter", "/proc/sys/net/ipv4/conf/eth0.100/rp_filter"),
        ("net/ipv4/conf/eth0.100/rp_filter", "/proc/sys/net/ipv4/conf/eth0.100/rp_filter"),
    ],
)
def test_keys_are_read_as_sysctl_reads_them(key: str, path: str) -> None:
    """An interface with a dot in its name is why (sysctl.d(5))."""
    assert proc_path(key) == path
