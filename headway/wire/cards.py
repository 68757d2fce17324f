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

    `capability` is the compute capability, "9.0". `recovery` is the action that NVML asks for:
    "none", "reset", "reboot", "drain" or "drain and reset". `holders` also name graphics.
    """

    index: int
    uuid: str
    name: str
    bus: str = ""
    capability: str = ""
    total: Optional[int] = None
    used: Optional[int] = None
    reserved: Optional[int] = None
    free: Optional[int] = None
    power_mw: Optional[int] = None
    power_limit_mw: Optional[int] = None
    temperature_c: Optional[int] = None
    busy_percent: Optional[int] = None
    memory_busy_percent: Optional[int] = None
    sm_mhz: Optional[int] = None
    slowed: Tuple[str, ...] = ()
    pcie_gen: Optional[int] = None
    pcie_gen_max: Optional[int] = None
    pcie_width: Optional[int] = None
    pcie_width_max: Optional[int] = None
    ecc: Optional[bool] = None
    ecc_uncorrected: Optional[int] = None
    recovery: Optional[str] = None
    numa_node: Optional[int] = None
    holders: Tuple[Holder, ...] = ()


@dataclass(frozen=True)
class Pair:
    """What the driver grants from card `a` to card `b`: "ok", or why not; and how they are wired.

    `topology` is the nearest common ancestor as NVML names it, "nvlink" apart in its own field.
    """

    a: int
    b: int
    read: str
    write: str
    nvlink: str
    atomics: str
    topology: str


@dataclass(frozen=True)
class CardsSeen:
    """One look at all cards. `trouble` says in a sentence each why something could not be read.

    No cards and no trouble: there is no NVIDIA driver here, and none was expected.
    `took_ms` is what NVML itself took.
    """

    driver: str = ""
    nvml: str = ""
    cuda: str = ""
    cards: Tuple[Card, ...] = ()
    pairs: Tuple[Pair, ...] = ()
    trouble: Tuple[str, ...] = ()
    took_ms: int = 0
