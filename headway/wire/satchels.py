"""Which files of the runner travel apart, sent to the hosts that need them and only once.

The runner itself stays small: what only a host with cards needs (NVML) or Compose projects need,
only a release that is judged by its answers (prompts, measuring), or only one whose weights are to
be fetched, comes as a satchel into the same folder, runner/HASH.
"""

from typing import Dict, Tuple

FILE = "satchels.json"
"""Lies in the runner's folder: satchel by name, as the Blob it is sent as."""

_CHECKS = "headway_checks/"
_ACCEPTANCE = (
    *("asking/", "texts/", "config.py", "metrics.py", "needle.py", "decode.py", "burst.py"),
    *("chat.py", "swap.py", "soak.py", "watch.py", "thermal.py", "gpu.py"),
)
SATCHELS: Dict[str, Tuple[str, ...]] = {
    "cards": (
        "headway/runner/cards/",
        "pynvml.py",
        *(_CHECKS + name for name in ("carding/", "nccl.py")),
    ),
    "stacks": (
        "headway/runner/containers/",
        *(f"headway/runner/resources/{name}.py" for name in ("stack", "service", "image")),
        _CHECKS + "images.py",
    ),
    "reading": ("headway/runner/reading/",),
    "acceptance": tuple(_CHECKS + name for name in _ACCEPTANCE),
    "weights": ("headway/runner/fetching/", _CHECKS + "weights.py"),
    "diagnosis": ("headway/runner/diagnosis/", "headway/wire/findings_apart"),
}


def satchel_of(path: str) -> str:
    """Name the satchel a file of the runner travels in; "" where it goes with the runner."""
    owners = (name for name, prefixes in SATCHELS.items() if path.startswith(prefixes))
    return next(owners, "")


def satchels_for(gate_kinds: Tuple[str, ...]) -> Tuple[str, ...]:
    """Name the satchels that hold the checks of these kinds of gates."""
    found = (satchel_of(f"{_CHECKS}{kind}.py") for kind in gate_kinds)
    return tuple(dict.fromkeys(name for name in found if name))
