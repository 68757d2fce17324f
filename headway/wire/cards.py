"""What a driver says of its cards, of each pair of them, and of who holds their memory.

Bytes, milliwatts, degrees Celsius, megahertz, percent. None: this driver or card does not say.
Read by headway/runner/cards (NVML); fixtures: two H200 under driver 580.159.04.
"""

from dataclasses import dataclass
from typing import Optional, Tuple


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
class CardsSeen:
    """One look at all cards. `trouble` says in a sentence each why something could not be read.

    A card that is lost or may not be opened is not among `cards`, but in `trouble`. No cards at
    all is always said there. `took_ms` is what NVML itself took.
    """

    driver: str = ""
    nvml: str = ""
    cuda: str = ""
    cards: Tuple[Card, ...] = ()
    pairs: Tuple[Pair, ...] = ()
    trouble: Tuple[str, ...] = ()
    took_ms: int = 0
