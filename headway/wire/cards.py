"""What a driver says of its cards, of each pair of them, and of who holds their memory.

Bytes, milliwatts, degrees Celsius, megahertz, percent. None: this driver or card does not say.
Read by headway/runner/cards (NVML); fixtures: two H200 under driver 580.159.04.
"""

from dataclasses import dataclass, field
from typing import Dict, Optional, Tuple

FULL_PERCENT = 95
NEAR_ZERO_PERCENT = 2
WAITING_POWER_PERCENT = 40
"""Seen on H200: computing 100 % busy, memory 25 %, 689 W of 700; waiting 100 %, 0 %, 123 W."""

MUCH_BYTES = 1 << 30
"""More than a driver keeps for itself on a card (H200: 645 MB): somebody has loaded something."""


@dataclass(frozen=True)
class Holder:
    """A process that holds memory of a card. `started` is field 22 of its /proc/PID/stat.

    `pid` counts in the namespace of whoever looked. `used` None: the driver does not say how much.
    `started` 0: there is no such process in /proc, so it must not be killed by its number.
    """

    pid: int
    started: int
    used: Optional[int]
    kind: str
    command: str = ""
    cgroup: str = ""

    def name(self) -> str:
        """Name it as `--kill` takes it: a pid alone may be another process by then."""
        return f"{self.pid}:{self.started}"


@dataclass(frozen=True)
class Card:
    """One card. `used` excludes `reserved` (memory v2). `slowed` are the clock event reasons.

    `capability` is the compute capability, "9.0"; `bus` is as NVML writes it, lower case.
    `power_limit_mw` is the enforced one; `slowdown_c` where the hardware slows down by itself.
    `recovery` is the action NVML asks for: "none", "reset", "reboot", "drain", "drain and reset".
    Replays, ECC errors, recovery and remapped rows are read with pairs only.
    """

    index: int
    uuid: str = ""
    name: str = ""
    bus: str = ""
    architecture: str = ""
    capability: str = ""
    total: Optional[int] = None
    used: Optional[int] = None
    reserved: Optional[int] = None
    free: Optional[int] = None
    power_mw: Optional[int] = None
    power_limit_mw: Optional[int] = None
    power_min_mw: Optional[int] = None
    power_max_mw: Optional[int] = None
    power_default_mw: Optional[int] = None
    temperature_c: Optional[int] = None
    slowdown_c: Optional[int] = None
    busy_percent: Optional[int] = None
    memory_busy_percent: Optional[int] = None
    sm_mhz: Optional[int] = None
    slowed: Tuple[str, ...] = ()
    pcie_gen: Optional[int] = None
    pcie_gen_max: Optional[int] = None
    pcie_width: Optional[int] = None
    pcie_width_max: Optional[int] = None
    pcie_replays: Optional[int] = None
    ecc: Optional[bool] = None
    ecc_uncorrected: Optional[int] = None
    remap_pending: Optional[bool] = None
    remap_failed: Optional[bool] = None
    recovery: Optional[str] = None
    mig: Optional[bool] = None
    persistence: Optional[bool] = None
    compute_mode: str = ""
    numa_node: Optional[int] = None
    holders: Tuple[Holder, ...] = ()

    def doing(self) -> str:
        """Word what it does now, with the figures; "busy" by itself proves nothing.

        A card that waits in a collective is 100 % busy, and so is a Blackwell card whose process
        was killed inside a kernel, with nobody on it (FIELD.md 2.4).
        """
        if self.busy_percent is None:
            return "does not say"
        if self.waiting():
            return self.waiting()
        if self.holders:
            count = len(self.holders)
            idle = f"idle, held by {count} process{'es' if count > 1 else ''}"
            return f"computing ({self._figures()})" if self.busy_percent else idle
        if self._loaded():
            return f"held by what is not seen from here ({self._figures()})"
        if self.busy_percent >= FULL_PERCENT:
            return f"shows busy with no process: a stuck reading, not work ({self._figures()})"
        return f"busy, no process seen ({self._figures()})" if self.busy_percent else "idle"

    def waiting(self) -> str:
        """Say that it waits, with both figures; "" where it computes, rests, or does not say."""
        busy, memory, power = self.busy_percent, self.memory_busy_percent, self.power_mw
        if busy is None or memory is None or power is None or not self.power_limit_mw:
            return ""
        low = 100 * power < WAITING_POWER_PERCENT * self.power_limit_mw
        full = busy >= FULL_PERCENT and memory <= NEAR_ZERO_PERCENT
        if not (full and low and self._loaded()):
            return ""
        return f"waiting, most likely for the other cards ({self._figures()})"

    def _loaded(self) -> bool:
        return bool(self.holders) or (self.used or 0) > MUCH_BYTES

    def _figures(self) -> str:
        shares = (("busy", self.busy_percent), ("memory", self.memory_busy_percent))
        said = [f"{name} {share} %" for name, share in shares if share is not None]
        return ", ".join([*said, *([_watts(self)] if self.power_mw is not None else [])])


def _watts(card: Card) -> str:
    drawn = (card.power_mw or 0) // 1000
    return f"{drawn} W of {card.power_limit_mw // 1000} W" if card.power_limit_mw else f"{drawn} W"


@dataclass(frozen=True)
class Pair:
    """What the driver grants from card `a` to card `b`: "ok", or why not; and how they are wired.

    "" is what it does not say. `topology` is the nearest common ancestor in the words of
    nvidia-smi topo: PIX, PXB, PHB, NODE, SYS. `links` counts the NVLinks between the two.
    """

    a: int
    b: int
    read: str
    write: str
    nvlink: str
    atomics: str
    topology: str
    links: int = 0


@dataclass(frozen=True)
class Xid:
    """One complaint of the driver in the kernel log, `at_s` seconds after boot.

    `number` None: a card fell off the bus, and the line has none. `action` is the name NVIDIA's
    catalogue gives what to do at once ("RESET_GPU"), `advice` the same as a sentence.
    """

    at_s: int
    bus: str
    number: Optional[int]
    meaning: str
    action: str
    advice: str
    line: str


@dataclass(frozen=True)
class KernelLog:
    """What the driver complained of in a kernel's log since boot, oldest first.

    `missing` says why it is not all, or nothing; "" where it is all.
    """

    xids: Tuple[Xid, ...] = ()
    missing: str = ""


@dataclass(frozen=True)
class CardsHost:
    """What a machine is to its cards, beside what NVML says.

    `module` is the loaded kernel module's version, "" for none; `open_module` says which kind.
    `iommu` is "off", or the types of the cards' groups: "identity" passes through, "DMA" and
    "DMA-FQ" translate; "" cannot be told. `iommu_words` are those of the kernel's command line.
    `acs` are the bridges above cards that redirect what goes between them; None: not readable.
    `nccl_files` is content by path; `parameters` what the module was loaded with. `log` says why
    the kernel log could not be read, "" where `xids` are all since boot, oldest first. `log_of`
    names the node whose log it is; "" is the host's own.
    """

    module: str = ""
    open_module: bool = False
    iommu: str = ""
    iommu_words: Tuple[str, ...] = ()
    acs: Optional[Tuple[str, ...]] = None
    nccl_files: Dict[str, str] = field(default_factory=dict)
    parameters: Dict[str, str] = field(default_factory=dict)
    xids: Tuple[Xid, ...] = ()
    log: str = ""
    log_of: str = ""


@dataclass(frozen=True)
class CardsSeen:
    """One look at all cards. `trouble` says in a sentence each why something could not be read.

    `closed` names why NVML does not open: "no library", "not loaded", "mismatch", "no permission",
    "unknown", "other", or "hangs". A card that fell off the bus is in `lost`, by its index.
    A card that is lost or may not be opened is not among `cards`, but in `trouble`. No cards at
    all is always said there. `took_ms` is what NVML itself took. `host` is read for facts only.
    """

    driver: str = ""
    nvml: str = ""
    cuda: str = ""
    cards: Tuple[Card, ...] = ()
    pairs: Tuple[Pair, ...] = ()
    trouble: Tuple[str, ...] = ()
    closed: str = ""
    lost: Tuple[int, ...] = ()
    took_ms: int = 0
    host: Optional[CardsHost] = None
