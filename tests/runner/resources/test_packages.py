"""A package is present; getting there never upgrades, removes or touches drivers by the way."""

from pathlib import Path

import pytest

from headway.runner import resources
from headway.runner.resources.package import needs_maintenance
from headway.wire.resources import Package
from tests.runner.resources.scripted import Reply, machine_at

STATUS = """Package: adduser
Status: install ok installed
Version: 3.134

Package: gone
Status: deinstall ok config-files
Version: 1

Package: kept
Status: hold ok installed
Architecture: amd64
"""
APT = "apt-get --yes --no-install-recommends --no-remove"
SIMULATE = (
    f"{APT} --option=Dpkg::Options::=--force-confold --option=DPkg::Lock::Timeout=120 "
    "--simulate install numactl"
)
INSTALL = SIMULATE.replace(" --simulate", "")
WOULD = "Inst libnuma1 (2.0.16 Debian:12 [amd64])\nInst numactl (2.0.16 Debian:12 [amd64])\n"


def _host(root: Path) -> Path:
    status = root / "var/lib/dpkg/status"
    status.parent.mkdir(parents=True)
    status.write_text(STATUS)
    return status


@pytest.mark.parametrize(
    ("name", "there"),
    [("adduser", True), ("kept:amd64", True), ("gone", False), ("add", False), ("user", False)],
)
def test_presence_is_read_without_a_command(tmp_path: Path, name: str, *, there: bool) -> None:
    """A removed package whose settings stay is not installed."""
    machine, run = machine_at(tmp_path)
    _host(tmp_path)
    said = resources.diff(Package(name), machine)
    assert said == (None if there else f"package {name} is not installed")
    assert run.calls == []


def test_an_absent_package_is_tried_dry_and_then_installed(tmp_path: Path) -> None:
    """Nobody is asked and no service is restarted."""
    machine, run = machine_at(tmp_path)
    status = _host(tmp_path)

    def install(_: object) -> tuple[int, str, str]:
        status.write_text(STATUS + "\nPackage: numactl\nStatus: install ok installed\n")
        return 0, "", ""

    run.table.update({SIMULATE: (0, WOULD, ""), INSTALL: install})
    resources.apply(Package("numactl"), machine)
    assert run.calls == [SIMULATE, INSTALL]
    for env in run.environments:
        assert env == {"DEBIAN_FRONTEND": "noninteractive", "NEEDRESTART_MODE": "l"}


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        ((0, "Inst libc6 [2.36] (2.37 D [amd64])\n", ""), "would upgrade libc6; install it by"),
        ((0, "Remv llama (1)\nInst numactl (2)\n", ""), "would remove llama; install it by hand"),
        ((0, "Inst nvidia-driver (2)\n", ""), "brings nvidia-driver: use --maintenance"),
        ((100, "", "Reading...\nE: Could not get lock\nE: other\n"), "apt-get: E: Could not get"),
    ],
)
def test_what_would_happen_along_with_it_is_refused(
    tmp_path: Path, reply: Reply, says: str
) -> None:
    """Nothing was installed by then."""
    machine, run = machine_at(tmp_path, {SIMULATE: reply})
    _host(tmp_path)
    with pytest.raises(resources.ResourceError, match=says):
        resources.apply(Package("numactl"), machine)
    assert run.calls == [SIMULATE]


def test_lists_are_fetched_once_for_an_unknown_package(tmp_path: Path) -> None:
    """A fresh image has no lists."""
    lost = (100, "", "E: Unable to locate package numactl\n")
    machine, run = machine_at(tmp_path, {SIMULATE: lost})
    _host(tmp_path)
    with pytest.raises(resources.ResourceError, match="apt-get: E: Unable to locate package"):
        resources.apply(Package("numactl"), machine)
    assert run.calls == [SIMULATE, "apt-get update", SIMULATE]


def test_an_install_that_changed_nothing_did_not_hold(tmp_path: Path) -> None:
    """Look, change, look again."""
    machine, _ = machine_at(tmp_path, {SIMULATE: (0, WOULD, "")})
    _host(tmp_path)
    with pytest.raises(resources.ResourceError, match="did not hold: package numactl is not"):
        resources.apply(Package("numactl"), machine)


@pytest.mark.parametrize(
    "name",
    ["linux-image-amd64", "kernel-core", "nvidia-driver", "zfs-dkms", "docker.io", "containerd.io"],
)
def test_kernel_driver_and_containers_need_maintenance(tmp_path: Path, name: str) -> None:
    """They take engines down, or leave user space and module apart."""
    machine, run = machine_at(tmp_path)
    _host(tmp_path)
    with pytest.raises(resources.ResourceError, match="use --maintenance"):
        resources.apply(Package(name), machine)
    assert run.calls == []
    with pytest.raises(resources.ResourceError, match="did not hold"):
        resources.apply(Package(name), machine, maintenance=True)


def test_others_do_not_and_a_role_may_say_so() -> None:
    """`maintenance: true` in a role marks a package the pattern does not know."""
    assert not needs_maintenance(Package("numactl"))
    assert needs_maintenance(Package("mft", maintenance=True))


def test_an_rpm_host_is_asked_and_filled_by_its_own_tools(tmp_path: Path) -> None:
    """There is no dpkg file to read."""
    asks = "rpm --query --quiet numactl"
    install = "dnf --assumeyes --setopt=install_weak_deps=False install numactl"
    machine, run = machine_at(tmp_path, {asks: (1, "", ""), install: (1, "", "Error: no such\n")})
    with pytest.raises(resources.ResourceError, match="dnf: Error: no such"):
        resources.apply(Package("numactl"), machine)
    assert run.calls == [asks, install]


def test_an_option_is_no_package(tmp_path: Path) -> None:
    """It would be read as one by apt."""
    machine, run = machine_at(tmp_path)
    _host(tmp_path)
    with pytest.raises(resources.ResourceError, match="'--purge' is no package name"):
        resources.apply(Package("--purge"), machine)
    assert run.calls == []
