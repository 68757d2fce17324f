"""What is swept: one variable and its values, as `--set draft_depth=0..6` says it. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from headway.control.errors import UsageError
from headway.control.inventory.model import Host, Instance, Value

MOST = 32
"""Each value is a launch, with its load."""

_RANGE = re.compile(r"(-?\d+)\.\.(-?\d+)(?:\.\.(\d+))?")
_NAME = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_HINT = "write --set draft_depth=0..6, --set options.max_num_seqs=16,32,64 or 0..64..16"
_WORDS: Mapping[str, Any] = {"true": True, "false": False, "null": None}


@dataclass(frozen=True)
class Setting:
    """A variable, dotted where it lies within a mapping, and the values it is given in turn."""

    name: str
    values: tuple[Any, ...]


def setting(words: str) -> Setting:
    """Read NAME=VALUES; values are a range (with a step: 0..64..16) or stand between commas."""
    name, equals, given = words.partition("=")
    if not equals or not _NAME.fullmatch(name) or not given:
        raise UsageError(f"--set: {words!r} names no variable and values", hint=_HINT)
    found = _RANGE.fullmatch(given)
    if found is None:
        values = tuple(_value(word) for word in given.split(","))
    else:
        first, last, step = int(found[1]), int(found[2]), int(found[3] or 1)
        if step == 0:
            raise UsageError(f"--set: {words!r} has a step of 0", hint=_HINT)
        values = tuple(
            range(first, last + 1, step) if first <= last else range(first, last - 1, -step)
        )
    if len(set(map(repr, values))) != len(values):
        raise UsageError(f"--set: {words!r} gives a value twice")
    if len(values) > MOST:
        raise UsageError(
            f"--set: {words!r} gives {len(values)} values; at most {MOST}, a launch each"
        )
    return Setting(name, values)


def with_value(host: Host, part: str, name: str, value: Any) -> Host:  # noqa: ANN401 # any YAML
    """Give the host as the inventory would describe it with this value for one instance."""
    instances = tuple(
        _set(instance, host, name, value) if instance.name == part else instance
        for instance in host.instances
    )
    return replace(host, instances=instances)


def _set(instance: Instance, host: Host, name: str, value: Any) -> Instance:  # noqa: ANN401
    head, *inner = name.split(".")
    given = instance.vars.get(head) or host.vars.get(head)
    whole = _within(given.value if given else {}, inner, value) if inner else value
    return replace(instance, vars={**instance.vars, head: Value(whole, f"--set {name}={value}")})


def _within(raw: Any, steps: list[str], value: Any) -> Any:  # noqa: ANN401
    if not steps:
        return value
    if not isinstance(raw, Mapping):
        raise UsageError(f"--set: {steps[0]!r} lies in no mapping; the variable holds {raw!r}")
    head, *rest = steps
    return {**raw, head: _within(raw.get(head, {}), rest, value)}


def _value(word: str) -> Any:  # noqa: ANN401
    if word in _WORDS:
        return _WORDS[word]
    return int(word) if re.fullmatch(r"-?\d+", word) else word
