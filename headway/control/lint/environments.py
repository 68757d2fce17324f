"""Environments: values that NCCL ignores without a word, and secrets that stand in the open."""

import re
from collections.abc import Iterator, Mapping

Found = Iterator[tuple[str, str, str]]
"""A rule, the variable, and what it is about."""

# ncclTopo's strings, compared by case, and the old numbers for them (NCCL src/graph/paths.cc).
LEVELS = ("LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS")
_SWITCH = re.compile(r"NCCL_\w+_DISABLE")
_LEVEL = re.compile(r"NCCL_(?:P2P|NET_GDR)_LEVEL")
_SECRET_NAME = re.compile(r"(?:^|_)(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD)$")
_NO_SECRET = re.compile(r"|empty|none|dummy|\$\{?\w+\}?", re.IGNORECASE)


def environment_findings(values: Mapping[str, str]) -> Found:
    """Judge the variables of one environment."""
    for name, value in values.items():
        if _LEVEL.fullmatch(name) and value not in LEVELS and not value.isdecimal():
            yield "nccl-level-unknown", name, f"{name}={value}"
        if _SWITCH.fullmatch(name) and value not in ("0", "1"):
            yield "nccl-switch-ignored", name, f"{name}={value}"


def plain_secrets(values: Mapping[str, str]) -> Iterator[str]:
    """Name the variables that look like secrets, by their names, and hold something."""
    for name, value in values.items():
        if _SECRET_NAME.search(name) and not _NO_SECRET.fullmatch(value):
            yield name
