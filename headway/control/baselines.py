"""Pinned measurements of a class and role, in baselines.yaml: what "worse" is measured by.

    h200x2/vllm:
      measured_on: {host: gpu1, release: 3f9a12c04b7e, at: '2026-11-30T04:00:00Z', by: root@ops}
      gates:
        decode:
          tokens_s: {value: 98765, unit: milli-tokens/s, n: 5, spread: 120}

It lies in git: a number moves when a person moves it, and never because a host measured again.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from headway.control.errors import ConfigError
from headway.control.fleet import BASELINES, Fleet
from headway.control.inventory.model import CLASS, Host
from headway.wire.gate import Baseline, Measurement
from headway.wire.loader import dump

_HEAD = (
    "# What relative thresholds go by. `invoke baseline --host HOST` writes it; keep it in git.\n"
)


@dataclass(frozen=True)
class Pinned:
    """A measurement in whole units; `n` runs went into it, `spread` is their standard deviation."""

    value: int
    unit: str
    n: int = 1
    spread: int = 0


@dataclass(frozen=True)
class MeasuredOn:
    """Where the numbers come from; `at` is a UTC time as in ISO 8601."""

    host: str
    release: str
    at: str
    by: str


@dataclass(frozen=True)
class Entry:
    """The baseline of one class and role: measurements by gate and name."""

    measured_on: MeasuredOn
    gates: dict[str, dict[str, Pinned]] = field(default_factory=dict)


Baselines = Mapping[str, Entry]


def name_of(host: Host, role: str) -> str:
    """Name the baseline that holds for a role on this host; "" where the host has no class."""
    value = host.vars.get(CLASS)
    if value is None:
        return ""
    if not isinstance(value.value, str) or "/" in value.value:
        problem = f"class wants a word without a slash, got {value.value!r}"
        raise ConfigError(value.where, problem)
    return f"{value.value}/{role}"


def read(fleet: Fleet) -> Baselines:
    """Read all pinned baselines; what does not fit is a ConfigError at its line."""
    return fleet.document(fleet.root / BASELINES).load(dict[str, Entry])


def baseline_of(pinned: Baselines, name: str, gate: str) -> Baseline | None:
    """Give what a gate's relative thresholds go by; None where nothing is pinned for it."""
    entry = pinned.get(name)
    if entry is None or gate not in entry.gates:
        return None
    rows = entry.gates[gate].items()
    measured = (Measurement(key, one.value, one.unit, one.n, one.spread) for key, one in rows)
    return Baseline(name, tuple(measured))


def write(path: Path, pinned: Baselines) -> None:
    """Write the file whole, sorted, a number a line, so that a change shows as a small diff."""
    from headway.control.yaml_nodes import written  # 18 ms that few verbs need

    rows = ({name: dump(_sorted(entry))} for name, entry in sorted(pinned.items()))
    entries = (written(row) for row in rows)
    new = path.with_suffix(".yaml.new")
    new.write_text(_HEAD + "".join(f"\n{entry}" for entry in entries), encoding="utf-8")
    new.replace(path)


def _sorted(entry: Entry) -> Entry:
    gates = {gate: dict(sorted(rows.items())) for gate, rows in sorted(entry.gates.items())}
    return replace(entry, gates=gates)
