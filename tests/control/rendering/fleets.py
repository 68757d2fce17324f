"""Fleets of a few files, and hosts as an inventory would give them."""

from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent
from typing import Any

from headway.control.fleet import Fleet
from headway.control.inventory.model import Host, Instance, Value

CHECK = '''"""Proves nothing."""
from dataclasses import dataclass

@dataclass(frozen=True)
class Params:
    port: int
    model: str = ""
'''


def fleet(root: Path, files: Mapping[str, str]) -> Fleet:
    """Write a fleet with these files, and with a gate kind `probe` of two parameters."""
    for name, text in {"checks/probe.py": CHECK, **files}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text))
    return Fleet(root)


def host(
    instances: Mapping[str, str], variables: Mapping[str, Any] | None = None, **own: Any
) -> Host:
    """Make a host with instances by name and role; `own` are variables of every instance."""
    return Host(
        name="gpu1",
        address="10.77.0.11",
        groups=("engines",),
        vars=values(variables or {}),
        instances=tuple(
            Instance(name, role, values(own), "inventory/hosts.yaml:9")
            for name, role in instances.items()
        ),
    )


def values(variables: Mapping[str, Any]) -> dict[str, Value]:
    """Give variables a place in an inventory."""
    return {
        name: Value(value, f"inventory/hosts.yaml:{line}")
        for line, (name, value) in enumerate(variables.items(), start=20)
    }
