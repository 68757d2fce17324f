import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.runner.cards import acs
from headway.runner.cards.host import cards_host
from headway.runner.disk import Disk
from tests.runner.test_kernel_log import FIRST, XID, Journal

BRIDGE, CARD, OTHER = "0000:00:01.0", "0000:18:00.0", "0000:03:00.0"
VERSION = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build\n"
PARAMETERS = 'EnableMSI: 1\nRegistryDwords: "PeerMappingOverride=1"\nDmaRemapPeerMmio: ""\n'


def capability(identity: int, after: int, control: int = 0) -> bytes:
    """Return a PCIe extended capability of eight bytes, as it lies in configuration space."""
    return struct.pack("<IHH", identity | 1 << 16 | after << 20, 0, control)


def config(control: int) -> bytes:
    """Return a bridge's space: error reporting first, then access control."""
    return bytes(256) + capability(0x0001, 0x108) + capability(0x000D, 0, control) + bytes(64)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a machine with one card behind a bridge, and a network card."""
    devices = tmp_path / "sys/bus/pci/devices"
    devices.mkdir(parents=True)
    tree = tmp_path / "sys/devices/pci0000:00"
    group = tmp_path / "sys/kernel/iommu_groups/17"
    for path, vendor, kind in (
        (tree / BRIDGE, "0x8086", "0x060400"),
        (tree / BRIDGE / CARD, "0x10de", "0x030200"),
        (tree / BRIDGE / OTHER, "0x15b3", "0x020000"),
    ):
        path.mkdir(parents=True)
        (path / "vendor").write_text(vendor + "\n")
        (path / "class").write_text(kind + "\n")
        (path / "config").write_bytes(config(0))
        (devices / path.name).symlink_to(path)
    group.mkdir(parents=True)
    (group / "type").write_text("DMA-FQ\n")
    (tree / BRIDGE / CARD / "iommu_group").symlink_to(group)
    for name, text in {
        "proc/cmdline": "BOOT_IMAGE=/vmlinuz root=/dev/sda1 ro iommu=pt intel_iommu=on quiet\n",
        "proc/driver/nvidia/version": VERSION,
        "proc/driver/nvidia/params": PARAMETERS,
        "etc/nccl.conf": "NCCL_P2P_LEVEL=SYS\n",
        "home/llm/.nccl.conf": "NCCL_DEBUG=INFO\n",
        "dev/kmsg": FIRST + XID,
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_a_machine_is_read_whole(root: Path) -> None:
    """What makes the first all-reduce hang on a PCIe box is all here: FIELD.md 2.5."""
    host = cards_host(Disk(str(root)), Journal())
    assert (host.module, host.open_module) == ("580.159.04", True)
    assert (host.iommu, host.iommu_words) == ("DMA-FQ", ("iommu=pt", "intel_iommu=on"))
    assert host.acs == ()
    assert host.nccl_files == {
        "/etc/nccl.conf": "NCCL_P2P_LEVEL=SYS\n",
        "/home/llm/.nccl.conf": "NCCL_DEBUG=INFO\n",
    }
    assert host.parameters == {"EnableMSI": "1", "RegistryDwords": '"PeerMappingOverride=1"'}
    assert ([xid.number for xid in host.xids], host.log) == ([79], "")


def test_a_machine_without_any_of_it_is_read_too(tmp_path: Path) -> None:
    """A guest shows little of its node."""
    host = cards_host(Disk(str(tmp_path)), Journal())
    assert (host.module, host.iommu, host.acs, host.nccl_files) == ("", "", None, {})
    assert host.log.startswith("not visible from here")


def test_no_groups_at_all_is_off(root: Path) -> None:
    """`iommu=off`, or a machine that has none."""
    (root / f"sys/devices/pci0000:00/{BRIDGE}/{CARD}/iommu_group").unlink()
    (root / "sys/kernel/iommu_groups/17/type").unlink()
    (root / "sys/kernel/iommu_groups/17").rmdir()
    assert cards_host(Disk(str(root)), Journal()).iommu == "off"


@pytest.mark.parametrize(
    ("control", "bridges"),
    [(0x0C, (BRIDGE,)), (0x04, (BRIDGE,)), (0x08, (BRIDGE,)), (0x1D & ~0x0C, ()), (0, ())],
)
def test_a_bridge_that_redirects_is_named(
    root: Path, control: int, bridges: tuple[str, ...]
) -> None:
    """ReqRedir+ and CmpltRedir+ of lspci; source validation and the rest do no harm."""
    (root / f"sys/devices/pci0000:00/{BRIDGE}/config").write_bytes(config(control))
    assert cards_host(Disk(str(root)), Journal()).acs == bridges


def test_a_space_of_64_bytes_is_not_readable(root: Path) -> None:
    """Without root the kernel gives no more: "redirects nothing" would be a guess."""
    (root / f"sys/devices/pci0000:00/{BRIDGE}/config").write_bytes(bytes(64))
    assert cards_host(Disk(str(root)), Journal()).acs is None


@given(data=st.binary(max_size=400))
def test_no_space_makes_the_reader_fail(data: bytes) -> None:
    """A broken chain of capabilities ends, whatever it points at."""
    assert acs.redirects(bytes(256) + data) in (True, False, None)
