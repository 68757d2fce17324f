"""A double of pynvml: answers by call and card, or raises NVML's own errors; nothing hangs here.

    Driver(cards=2, lost=[1], says={"DeviceGetPowerUsage": 123_000})

What is not said is NotSupported, as in a virtual machine. Answers of one card go by (call, index).
"""

from collections.abc import Callable, Iterable, Mapping
from types import SimpleNamespace as Struct
from typing import Any

import pynvml

NO_PERMISSION, LOST, RESET, UNKNOWN = 4, 15, 16, 999
NOT_SUPPORTED, FUNCTION_NOT_FOUND = 3, 13

H200: Mapping[str, Any] = {
    "SystemGetDriverVersion": "580.159.04",
    "SystemGetNVMLVersion": "13.580.159.04",
    "SystemGetCudaDriverVersion": 13000,
    "DeviceGetName": "NVIDIA H200",
    "DeviceGetArchitecture": 9,
    "DeviceGetCudaComputeCapability": (9, 0),
    "DeviceGetMemoryInfo": Struct(
        total=150_754_820_096, used=8_543_797_248, reserved=644_939_776, free=141_566_083_072
    ),
    "DeviceGetPowerUsage": 123_000,
    "DeviceGetEnforcedPowerLimit": 700_000,
    "DeviceGetPowerManagementDefaultLimit": 700_000,
    "DeviceGetPowerManagementLimitConstraints": [200_000, 700_000],
    "DeviceGetTemperature": 34,
    "DeviceGetUtilizationRates": Struct(gpu=100, memory=0),
    "DeviceGetClockInfo": 1980,
    "DeviceGetCurrentClocksEventReasons": 0x24,
    "DeviceGetCurrPcieLinkGeneration": 5,
    "DeviceGetMaxPcieLinkGeneration": 5,
    "DeviceGetCurrPcieLinkWidth": 16,
    "DeviceGetMaxPcieLinkWidth": 16,
    "DeviceGetEccMode": [1, 1],
    "DeviceGetTotalEccErrors": 0,
    "DeviceGetPersistenceMode": 1,
    "DeviceGetComputeMode": 0,
    "DeviceGetMigMode": [0, 0],
    "DeviceGetRemappedRows": (0, 0, 0, 0),
    "DeviceGetFieldValues": [Struct(nvmlReturn=0, value=Struct(uiVal=0))],
    "DeviceGetComputeRunningProcesses_v3": [],
    "DeviceGetGraphicsRunningProcesses_v3": [],
    "DeviceGetP2PStatus": 0,
    "DeviceGetTopologyCommonAncestor": 30,
}
"""What two H200 under driver 580.159.04 answered (tests/gpu/fixtures)."""


class Driver:
    """Stands where pynvml stands; `asked` is every call with its words, handles as indexes."""

    NVMLError = pynvml.NVMLError

    def __init__(
        self,
        cards: int = 2,
        says: Mapping[Any, Any] = H200,
        errors: Mapping[Any, int] | None = None,
        also: Mapping[Any, Any] | None = None,
    ) -> None:
        """`errors` are codes by call, or by (call, index); `also` goes over `says`."""
        own: dict[Any, Any] = {
            "DeviceGetCount": cards,
            "Init": "",
            "Shutdown": "",
            **{("DeviceGetUUID", index): f"GPU-{index}" for index in range(cards)},
            **{
                ("DeviceGetPciInfo", index): Struct(busId=f"00000000:{0x18 + index:02X}:00.0")
                for index in range(cards)
            },
        }
        self._says = {**own, **says, **(also or {})}
        self._errors = dict(errors or {})
        self.asked: list[tuple[Any, ...]] = []

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Answer any call of NVML's."""
        if not name.startswith("nvml"):
            raise AttributeError(name)
        return lambda *words: self._answer(name.removeprefix("nvml"), words)

    def _answer(self, call: str, words: tuple[Any, ...]) -> Any:
        self.asked.append((call, *words))
        for key in _keys(call, words):
            if key in self._errors:
                raise self.NVMLError(self._errors[key])
        if call == "DeviceGetHandleByIndex":
            return words[0]
        for key in _keys(call, words):
            if key in self._says:
                return self._says[key]
        raise self.NVMLError(NOT_SUPPORTED)


def _keys(call: str, words: tuple[Any, ...]) -> Iterable[Any]:
    """Give what an answer may stand under, the closest first."""
    plain = [word for word in words if isinstance(word, int)]
    return [*((call, *plain[:n]) for n in range(len(plain), 0, -1)), call]


def process(pid: int, used: int | None = 1 << 30) -> Struct:
    """Return an entry of a process list."""
    return Struct(pid=pid, usedGpuMemory=used, gpuInstanceId=0xFFFFFFFF)
