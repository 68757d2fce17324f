"""NVML, asked call by call: the one home of pynvml, imported late, in a child that may be ended.

An answer of None is "this driver or this card does not say": NotSupported and FunctionNotFound
are no trouble. Everything else that goes wrong is an NvmlError with NVML's own number.
"""

from __future__ import annotations

import time

TYPE_CHECKING = False  # plain.py says why not typing's
if TYPE_CHECKING:
    from typing import Any

    Said = Any
    """What pynvml takes and gives: numbers, strings, its own ctypes structures and handles."""

NOT_SUPPORTED, NO_PERMISSION, DRIVER_NOT_LOADED = 3, 4, 9
LIBRARY_NOT_FOUND, FUNCTION_NOT_FOUND, GPU_IS_LOST = 12, 13, 15
RESET_REQUIRED, VERSION_MISMATCH, UNKNOWN = 16, 18, 999
_UNSAID = (NOT_SUPPORTED, FUNCTION_NOT_FOUND)


class NvmlError(Exception):
    """NVML could not answer: its number and its words."""

    def __init__(self, code: int, words: str) -> None:
        super().__init__(words)
        self.code = code


class Nvml:
    """An open NVML; `library` is pynvml, or a double of it. `spent_ns` is what NVML took so far."""

    def __init__(self, library: Said) -> None:
        self._library = library
        self.spent_ns = 0
        self.ask("Init")

    def ask(self, call: str, *words: Said) -> Said:
        """Ask nvmlCALL once; None where it is not supported or not known, else NvmlError."""
        began = time.monotonic_ns()
        try:
            return getattr(self._library, "nvml" + call)(*words)
        except self._library.NVMLError as error:
            if error.value in _UNSAID:
                return None
            raise NvmlError(error.value, f"nvml{call}: {error}") from None
        finally:
            self.spent_ns += time.monotonic_ns() - began

    def close(self) -> None:
        """Let go of the device files, which would be in the way of a reset."""
        self.ask("Shutdown")


def open_nvml() -> Nvml:
    """Load pynvml and open NVML: NvmlError says why that is not possible."""
    import pynvml

    return Nvml(pynvml)
