"""Environments: values that NCCL ignores without a word, and secrets that stand in the open."""

import re
from collections.abc import Iterator, Mapping

from headway.wire import nccl

Found = Iterator[tuple[str, str, str]]
"""A rule, the variable, and what it is about."""

RULES = {
    "level": "nccl-level-unknown",
    "switch": "nccl-switch-ignored",
    "number": "nccl-number-ignored",
    "word": "nccl-word-unknown",
    "interfaces": "nccl-interfaces-unread",
}
"""The rule about a value NCCL does not heed, by what its variable takes (wire/nccl.json)."""

_SECRET_NAME = re.compile(r"(?:^|_)(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD)$")
_NO_SECRET = re.compile(r"|empty|none|dummy|\$\{?\w+\}?", re.IGNORECASE)


def environment_findings(values: Mapping[str, str]) -> Found:
    """Judge the variables of one environment, each by itself and against the others."""
    table = nccl.table()
    for name, value in values.items():
        if name in table.replaced:
            yield "nccl-variable-unread", name, f"{name} (write {table.replaced[name]})"
        elif not nccl.heeded(name, value):
            yield RULES[table.variables[name].takes], name, f"{name}={value}"
    if values.get("NCCL_P2P_DISABLE") == "1":
        if "NCCL_P2P_LEVEL" in values:
            detail = f"NCCL_P2P_DISABLE=1 with NCCL_P2P_LEVEL={values['NCCL_P2P_LEVEL']}"
            yield "nccl-level-overruled", "NCCL_P2P_LEVEL", detail
        if values.get("NCCL_SHM_DISABLE") == "1":
            detail = "NCCL_P2P_DISABLE=1 with NCCL_SHM_DISABLE=1"
            yield "nccl-through-network", "NCCL_SHM_DISABLE", detail


def plain_secrets(values: Mapping[str, str]) -> Iterator[str]:
    """Name the variables that look like secrets, by their names, and hold something."""
    for name, value in values.items():
        if _SECRET_NAME.search(name) and not _NO_SECRET.fullmatch(value):
            yield name
