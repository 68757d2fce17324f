"""The folder that the stand-in NVML answers from, written and edited; see standin_nvml.c."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

DRIVER = "580.159.04"
TRANSLATES = (535, 113)  # from here on drivers give pids of the caller's namespace

# What two real ones answered at rest (driver 580.159.04); a key that lacks is NotSupported.
H200: Mapping[str, object] = {
    "name": "NVIDIA H200",
    "pci_device": "0x233510de",
    "memory_bytes": 150_754_820_096,
    "reserved_bytes": 644_939_776,
    "base_bytes": 0,
    "capability": "9.0",
    "architecture": 9,
    "power_mw": 76_000,
    "power_limit_mw": 700_000,
    "power_enforced_mw": 700_000,
    "power_default_mw": 700_000,
    "power_min_mw": 200_000,
    "power_max_mw": 700_000,
    "temperature_c.0": 34,
    "utilization_gpu": 0,
    "utilization_memory": 0,
    "clock_mhz.0": 345,
    "clock_mhz.1": 345,
    "clock_mhz.2": 3201,
    "clock_max_mhz.0": 1980,
    "clock_max_mhz.1": 1980,
    "clock_max_mhz.2": 3201,
    "clock_reasons": "0x1",
    "pcie_gen": 5,
    "pcie_gen_max": 5,
    "pcie_gen_card": 5,
    "pcie_width": 16,
    "pcie_width_max": 16,
    "pcie_replays": 0,
    "persistence": 1,
    "pstate": 0,
    "compute_mode": 0,
    "display_mode": 0,
    "display_active": 0,
    "ecc": 1,
    "ecc_pending": 1,
    **{f"ecc_errors.{kind}.{since}": 0 for kind in (0, 1) for since in (0, 1)},
    "remapped_rows": "0 0 0 0",
    "mig": 0,
    "mig_pending": 0,
    "field.230": 0,  # NVML_FI_DEV_GET_GPU_RECOVERY_ACTION
    **{f"nvlink.{link}": 1 for link in range(18)},
    **{f"nvlink_kind.{link}": 2 for link in range(18)},  # to a switch
}
PAIRS = "* * topology 30\n" + "".join(f"* * p2p {index} 0\n" for index in range(4))


@dataclass(frozen=True)
class State:
    """A state folder, as this machine sees it."""

    state: Path

    def reset(self, count: int, *, driver: str = DRIVER, **values: object) -> None:
        """Make it so many cards at rest; entries of processes that live on are gone too."""
        for folder in ("cards", "processes", "proc", "proc-driver/nvidia"):
            (self.state / folder).mkdir(parents=True, exist_ok=True)
        for old in [*(self.state / "cards").iterdir(), *(self.state / "processes").iterdir()]:
            old.unlink()
        for index in range(count):
            own = {
                "minor": index,
                "uuid": f"GPU-{index:08x}-57a4-4d14-8000-{0:012x}",
                "bus": f"00000000:{0x18 + index:02X}:00.0",
            }
            self.card(index, **{**H200, **own, **values})
        self._write("pairs", PAIRS)
        self._write("faults", "")
        self._write("proc-driver/nvidia/params", 'RegistryDwords: ""\n')
        version = tuple(map(int, driver.split(".")[:2]))
        pids = "namespace" if version >= TRANSLATES else "initial"
        self.system(driver=driver, module=driver, nvml=f"13.{driver}", cuda=13000, pids=pids)

    def card(self, index: int, **values: object) -> None:
        """Change values of a card: a dot in a key is two underscores here; None is NotSupported."""
        self._change(f"cards/{index}", values)

    def system(self, **values: object) -> None:
        """Change driver, module, nvml, cuda or pids; /proc/driver/nvidia/version follows."""
        self._change("system", values)
        if "module" in values:
            kind = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64"
            self._write("proc-driver/nvidia/version", f"{kind}  {values['module']}  STAND-IN\n")

    def pair(self, one: int, other: int, words: str) -> None:
        """Say `topology LEVEL` or `p2p INDEX STATUS` of two cards, in this direction."""
        with (self.state / "pairs").open("a") as lines:
            lines.write(f"{one} {other} {words}\n")

    @contextmanager
    def fault(self, function: str, what: int | str, card: int | str = "") -> Iterator[None]:
        """Let a call give an error code, or `hang`, on one card or on all, for a while."""
        before = (self.state / "faults").read_text()
        self._write("faults", f"{before}{function} {what} {card}\n")
        try:
            yield
        finally:
            self._write("faults", before)

    def entry(self, name: str, *lines: str) -> None:
        """Write an entry of no process of ours, such as `pid 4242`, `card 0 20000000`."""
        self._write(f"processes/{name}", "".join(f"{line}\n" for line in lines))

    def _change(self, name: str, values: Mapping[str, object]) -> None:
        path = self.state / name
        lines = path.read_text().splitlines() if path.exists() else []
        had = dict(line.split(" ", 1) for line in lines)
        merged = {**had, **{key.replace("__", "."): value for key, value in values.items()}}
        kept = [f"{key} {value}\n" for key, value in merged.items() if value is not None]
        self._write(name, "".join(kept))

    def _write(self, name: str, text: str) -> None:
        """Write a file whole: NVML may be asked at any moment."""
        hidden = (self.state / name).with_name(f".{Path(name).name}")
        hidden.write_text(text)
        hidden.rename(self.state / name)
