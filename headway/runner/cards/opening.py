"""Why NVML cannot be opened, or a card cannot: a sentence each, with what to do next."""

from __future__ import annotations

import re

from headway.runner.cards import nvml

TYPE_CHECKING = False  # plain.py says why not typing's
if TYPE_CHECKING:
    from typing import Callable, Dict, Optional

MODULE = "/proc/driver/nvidia/version"
LIBRARY = "libnvidia-ml.so."
_VERSION = re.compile(r"\b\d{3}\.\d+(?:\.\d+)?\b")


def module_version(text: str) -> str:
    """Find the version in what /proc/driver/nvidia/version says; "" where there is none."""
    found = _VERSION.search(text.partition("GCC")[0])
    return found.group() if found else ""


def library_version(maps: str) -> str:
    """Find NVML's own version in a process's /proc/PID/maps, by the name of the file it mapped."""
    names = re.findall(re.escape(LIBRARY) + r"(\d+\.\d+(?:\.\d+)?)$", maps, re.MULTILINE)
    return names[0] if names else ""


def _no_library(module: str, _library: str) -> str:
    if module:
        return (
            f"the kernel module {module} is loaded, but libnvidia-ml.so.1 is not here: install the "
            "driver's user space of that version (in a container, give it the utility capability)"
        )
    return "there is no NVIDIA driver here: neither libnvidia-ml.so.1 nor a loaded kernel module"


def _not_loaded(module: str, library: str) -> str:
    if module:
        return (
            f"the kernel module {module} is loaded and does not answer: no card is bound to it; "
            "lspci -nnk shows what they are bound to"
        )
    return (
        f"the NVIDIA kernel module is not loaded (user space is {library or 'here'}): "
        "modprobe nvidia, then see what the kernel log says"
    )


def _mismatch(module: str, library: str) -> str:
    return (
        f"the kernel module is {module or 'of another version'} and user space is "
        f"{library or 'not'}: reboot, or reload the module; nothing new opens the cards until then"
    )


def _no_permission(_module: str, _library: str) -> str:
    return "no permission to open /dev/nvidiactl: look at its mode, and at the container's devices"


def _unknown(module: str, _library: str) -> str:
    return (
        f"NVML says Unknown Error under the kernel module {module or 'that is not seen here'}: a "
        "container was cut off from /dev/nvidia* (restart it), or the driver is broken (reboot)"
    )


_OPENING: Dict[int, Callable[[str, str], str]] = {
    nvml.LIBRARY_NOT_FOUND: _no_library,
    nvml.DRIVER_NOT_LOADED: _not_loaded,
    nvml.VERSION_MISMATCH: _mismatch,
    nvml.NO_PERMISSION: _no_permission,
    nvml.UNKNOWN: _unknown,
}

_CARD = {
    nvml.GPU_IS_LOST: "fallen off the bus, NVML says GPU is lost: reboot the machine",
    nvml.NO_PERMISSION: "no permission to open /dev/nvidia{minor}: look at its mode and devices",
    nvml.RESET_REQUIRED: "NVML wants it reset before anything uses it: nvidia-smi --gpu-reset",
}


_NAMES = {
    nvml.LIBRARY_NOT_FOUND: "no library",
    nvml.DRIVER_NOT_LOADED: "not loaded",
    nvml.VERSION_MISMATCH: "mismatch",
    nvml.NO_PERMISSION: "no permission",
    nvml.UNKNOWN: "unknown",
}


def closed(error: nvml.NvmlError) -> str:
    """Name why NVML did not open, as CardsSeen.closed has it."""
    return _NAMES.get(error.code, "other")


def is_lost(error: nvml.NvmlError) -> bool:
    """Say whether a card fell off the bus."""
    return error.code == nvml.GPU_IS_LOST


def why_closed(error: nvml.NvmlError, module: str, library: str) -> str:
    """Say why NVML did not open; `module` and `library` are versions, "" where not known."""
    wording: Optional[Callable[[str, str], str]] = _OPENING.get(error.code)
    return wording(module, library) if wording else f"NVML does not open: {error}"


def why_no_card(error: nvml.NvmlError, index: int) -> str:
    """Say why a card could not be read."""
    return f"card {index}: " + _CARD.get(error.code, str(error)).format(minor=index)
