"""One card, field by field: tables of the call, its words, and what its answer fills in.

What holds as long as the driver is loaded is read once; what moves is read at every look, so that
a gate may look ten times a second. Calls and units: FIELD.md 2.4 and nvml.h.
"""

from __future__ import annotations

from headway.runner.cards.holding import holder
from headway.runner.cards.nvml import GPU_IS_LOST, NvmlError

TYPE_CHECKING = False  # plain.py says why not typing's
if TYPE_CHECKING:
    from typing import Callable, Dict, List, Optional, Tuple

    from headway.runner.cards.nvml import Nvml, Said
    from headway.runner.cards.plain import Fields

    Row = Tuple[str, Tuple[Said, ...], Callable[[Said], Fields]]

_MEMORY_V2 = 0x02000028  # nvmlMemory_v2: `used` without what the driver reserves
_RECOVERY_FIELD = 230  # NVML_FI_DEV_GET_GPU_RECOVERY_ACTION
_SM, _GPU_CORE, _SLOWDOWN, _UNCORRECTED, _AGGREGATE = 1, 0, 1, 1, 1

ARCHITECTURES = {
    2: "Kepler",
    3: "Maxwell",
    4: "Pascal",
    5: "Volta",
    6: "Turing",
    7: "Ampere",
    8: "Ada",
    9: "Hopper",
    10: "Blackwell",
    13: "Rubin",
}
RECOVERIES = (
    *("none", "reset", "reboot", "drain", "drain and reset"),
    *("recover the IMEX domain", "bus reset", "reboot"),
)
COMPUTE_MODES = ("default", "exclusive thread", "prohibited", "exclusive process")
SLOWED = {
    0x1: "idle",
    0x2: "application clocks",
    0x4: "software power cap",
    0x8: "hardware slowdown",
    0x10: "sync boost",
    0x20: "software thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "hardware power brake",
    0x100: "display clocks",
}


def _as(name: str) -> Callable[[Said], Fields]:
    return lambda said: {name: said}


def _flag(name: str) -> Callable[[Said], Fields]:
    return lambda said: {name: bool(said)}


def _slowed(bits: int) -> Fields:
    known = [word for bit, word in SLOWED.items() if bits & bit]
    rest = bits & ~sum(SLOWED)
    return {"slowed": (*known, *([hex(rest)] if rest else []))}


def _recovery(values: Said) -> Fields:
    code = values[0].value.uiVal
    known = code < len(RECOVERIES) and values[0].nvmlReturn == 0
    return {"recovery": RECOVERIES[code] if known else None}


STILL: Tuple[Row, ...] = (
    ("DeviceGetUUID", (), _as("uuid")),
    ("DeviceGetName", (), _as("name")),
    ("DeviceGetPciInfo", (), lambda pci: {"bus": pci.busId.lower()}),
    ("DeviceGetArchitecture", (), lambda said: {"architecture": ARCHITECTURES.get(said, "")}),
    ("DeviceGetCudaComputeCapability", (), lambda two: {"capability": f"{two[0]}.{two[1]}"}),
    ("DeviceGetMaxPcieLinkGeneration", (), _as("pcie_gen_max")),
    ("DeviceGetMaxPcieLinkWidth", (), _as("pcie_width_max")),
    ("DeviceGetPowerManagementDefaultLimit", (), _as("power_default_mw")),
    (
        "DeviceGetPowerManagementLimitConstraints",
        (),
        lambda two: {"power_min_mw": two[0], "power_max_mw": two[1]},
    ),
    ("DeviceGetTemperatureThreshold", (_SLOWDOWN,), _as("slowdown_c")),
    ("DeviceGetEccMode", (), lambda two: {"ecc": bool(two[0])}),
    ("DeviceGetMigMode", (), lambda two: {"mig": bool(two[0])}),
    ("DeviceGetPersistenceMode", (), _flag("persistence")),
    (
        "DeviceGetComputeMode",
        (),
        lambda said: {"compute_mode": COMPUTE_MODES[said] if said < len(COMPUTE_MODES) else ""},
    ),
)
MOVING: Tuple[Row, ...] = (
    (
        "DeviceGetMemoryInfo",
        (_MEMORY_V2,),
        lambda memory: {
            name: getattr(memory, name, None) for name in ("total", "used", "reserved", "free")
        },
    ),
    ("DeviceGetPowerUsage", (), _as("power_mw")),
    ("DeviceGetEnforcedPowerLimit", (), _as("power_limit_mw")),
    ("DeviceGetTemperature", (_GPU_CORE,), _as("temperature_c")),
    (
        "DeviceGetUtilizationRates",
        (),
        lambda rates: {"busy_percent": rates.gpu, "memory_busy_percent": rates.memory},
    ),
    ("DeviceGetClockInfo", (_SM,), _as("sm_mhz")),
    ("DeviceGetCurrentClocksEventReasons", (), _slowed),
    ("DeviceGetCurrPcieLinkGeneration", (), _as("pcie_gen")),
    ("DeviceGetCurrPcieLinkWidth", (), _as("pcie_width")),
)
HEALTH: Tuple[Row, ...] = (
    ("DeviceGetPcieReplayCounter", (), _as("pcie_replays")),
    ("DeviceGetTotalEccErrors", (_UNCORRECTED, _AGGREGATE), _as("ecc_uncorrected")),
    ("DeviceGetFieldValues", ([_RECOVERY_FIELD],), _recovery),
    (
        "DeviceGetRemappedRows",
        (),
        lambda four: {"remap_pending": bool(four[2]), "remap_failed": bool(four[3])},
    ),
)
"""Read with pairs only: these go to the card's own firmware and take their time."""

_OLDER = {
    "DeviceGetMemoryInfo": ("DeviceGetMemoryInfo",),
    "DeviceGetCurrentClocksEventReasons": ("DeviceGetCurrentClocksThrottleReasons",),
}
"""What a driver of before 535 says in other words."""


class CardReader:
    """Reads one card again and again; NvmlError when there is no such card, or it is lost."""

    def __init__(self, nvml: Nvml, index: int, *, host_pids: bool) -> None:
        self._nvml = nvml
        self.index = index
        self._host_pids = host_pids
        self.handle = nvml.ask("DeviceGetHandleByIndex", index)
        self._trouble: List[str] = []
        self._still = self._fields(STILL)
        self._still["numa_node"] = numa_node(self._still.get("bus", ""))
        self._still_trouble = tuple(self._trouble)

    def read(self, *, health: bool) -> Tuple[Fields, Tuple[str, ...]]:
        """Read it now, and say in a sentence each what it would not say."""
        self._trouble = list(self._still_trouble)
        moving = self._fields(MOVING)
        extra = self._fields(HEALTH) if health else {}
        card = {"index": self.index, **self._still, **moving, **extra, "holders": self._holders()}
        return card, tuple(self._trouble)

    def _fields(self, rows: Tuple[Row, ...]) -> Fields:
        fields: Fields = {}
        for call, words, fill in rows:
            said = self._ask(call, *words)
            if said is None and call in _OLDER:
                said = self._ask(*_OLDER[call])
            if said is not None:
                fields.update(fill(said))
        return fields

    def _ask(self, call: str, *words: Said) -> Said:
        try:
            return self._nvml.ask(call, self.handle, *words)
        except NvmlError as error:
            if error.code == GPU_IS_LOST:
                raise
            self._trouble.append(f"card {self.index}: {error}")
            return None

    def _holders(self) -> Tuple[Fields, ...]:
        """Name who holds memory; a process that computes and draws is named once."""
        found: Dict[int, Fields] = {}
        for kind in ("Graphics", "Compute"):
            said = self._ask(f"DeviceGet{kind}RunningProcesses_v3")
            if said is None:
                said = self._ask(f"DeviceGet{kind}RunningProcesses_v2")
            for process in said or ():
                known = not self._host_pids
                found[process.pid] = holder(
                    process.pid, process.usedGpuMemory, kind.lower(), known=known
                )
        return tuple(found[pid] for pid in sorted(found))


def numa_node(bus: str) -> Optional[int]:
    """Read which memory node a card hangs on; NVML does not say it in most machines."""
    try:
        with open(f"/sys/bus/pci/devices/{bus[-12:]}/numa_node") as file:
            node = int(file.read())
    except (OSError, ValueError):
        return None
    return None if node < 0 else node
