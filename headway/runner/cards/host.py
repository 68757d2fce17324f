"""What a machine is to its cards: module, IOMMU, ACS, NCCL's files, module parameters, Xids."""

import os
import re
from typing import Dict, List, Optional, Tuple

from headway.runner.cards import acs, opening
from headway.runner.cards.xid import xids
from headway.runner.disk import Disk
from headway.runner.kernel_log import kernel_log
from headway.wire.cards import CardsHost, KernelLog
from headway.wire.tools import Run

PCI = "/sys/bus/pci/devices"
PARAMETERS = "/proc/driver/nvidia/params"
NCCL_FILE = ".nccl.conf"
_NVIDIA, _DISPLAY = "0x10de", "0x03"
_IOMMU_WORD = re.compile(r"^(?:iommu|intel_iommu|amd_iommu|iommu\.\S+|pcie_acs_override)(?:=|$)")
_MOST_XIDS = 100


def cards_host(disk: Disk, run: Run) -> CardsHost:
    """Read it all; what cannot be read is left as CardsHost has it."""
    version = _text(disk, opening.MODULE)
    kernel = complaints(disk, run)
    functions = _functions(disk)
    return CardsHost(
        module=opening.module_version(version),
        open_module="Open Kernel Module" in version,
        iommu=_iommu(disk, functions),
        iommu_words=tuple(word for word in _text(disk, "/proc/cmdline").split() if _is_iommu(word)),
        acs=_acs(disk, functions),
        nccl_files=_nccl_files(disk),
        parameters=_parameters(_text(disk, PARAMETERS)),
        xids=kernel.xids,
        log=kernel.missing,
    )


def complaints(disk: Disk, run: Run) -> KernelLog:
    """Read the newest of what the driver complained of since boot."""
    lines, missing = kernel_log(disk, run)
    return KernelLog(tuple(xids(lines))[-_MOST_XIDS:], missing)


def _is_iommu(word: str) -> bool:
    return _IOMMU_WORD.match(word) is not None


def _functions(disk: Disk) -> List[str]:
    """Name the PCI functions that are NVIDIA's cards, as /sys does."""
    return [
        name
        for name in disk.names(PCI)
        if _text(disk, f"{PCI}/{name}/vendor").strip() == _NVIDIA
        and _text(disk, f"{PCI}/{name}/class").startswith(_DISPLAY)
    ]


def _iommu(disk: Disk, functions: List[str]) -> str:
    """Name the types of the cards' IOMMU groups; "off" where the machine has no groups at all."""
    if not functions:
        return ""
    types = {_text(disk, f"{PCI}/{name}/iommu_group/type").strip() for name in functions}
    if types == {""}:
        return "off" if not disk.names("/sys/kernel/iommu_groups") else ""
    return ", ".join(sorted(types - {""}))


def _acs(disk: Disk, functions: List[str]) -> Optional[Tuple[str, ...]]:
    """Name the bridges above cards that send peer traffic up; None where they are not readable."""
    if not functions:
        return None
    found: List[str] = []
    for bridge in sorted({bridge for name in functions for bridge in _above(disk, name)}):
        try:
            config = disk.read(f"{PCI}/{bridge}/config") or b""
        except OSError:
            return None
        redirects = acs.redirects(config)
        if redirects is None:
            return None
        found.extend([bridge] if redirects else [])
    return tuple(found)


def _above(disk: Disk, name: str) -> List[str]:
    """Name the bridges between a card and the root, outermost first: its folder lies in theirs."""
    path = os.path.realpath(disk.real(f"{PCI}/{name}"))
    return [part for part in path.split("/") if acs.ADDRESS.match(part)][:-1]


def _nccl_files(disk: Disk) -> Dict[str, str]:
    """Read what NCCL reads beside its environment, whoever's home it lies in."""
    homes = ("/root", *(f"/home/{name}" for name in disk.names("/home")))
    paths = ("/etc/nccl.conf", *(f"{home}/{NCCL_FILE}" for home in homes))
    return {path: _text(disk, path) for path in paths if disk.seen(path) is not None}


def _parameters(text: str) -> Dict[str, str]:
    """Read `Name: value` lines; what is empty is left out."""
    pairs = (line.partition(":") for line in text.splitlines())
    return {name.strip(): value.strip() for name, _, value in pairs if value.strip(' "')}


def _text(disk: Disk, path: str) -> str:
    try:
        return (disk.read(path) or b"").decode(errors="replace")
    except OSError:
        return ""
