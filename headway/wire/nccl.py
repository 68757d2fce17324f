"""What NCCL takes from its environment, as data: lint, `ready` and the gate `nccl` go by one table.

What NCCL does not understand it ignores, mostly without a word (FIELD.md 2.2), so that a value is
right only where this table, or NCCL's own log, says so.
"""

import functools
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Dict, Mapping, Optional, Tuple

from headway.wire.loader import load, parse

FILE = Path(__file__).resolve().with_name("nccl.json")
PREFIX = "NCCL_"
_NUMBER = re.compile(r"\s*[+-]?(?:0[xX][0-9a-fA-F]+|[0-9]+)")
_INTERFACES = re.compile(r"\^?(?:=?[\w.:@-]+)(?:,=?[\w.:@-]+)*")


@dataclass(frozen=True)
class Variable:
    """What one variable takes: level, switch, number, word (of `words`), interfaces or text."""

    takes: str
    words: Tuple[str, ...] = ()


@dataclass(frozen=True)
class Table:
    """All of it. `replaced` are names that NCCL does not read, or no longer, with the one it does.

    `levels` are compared by case; of a number, old_levels[number] is taken, its last one at most.
    """

    source: str
    levels: Tuple[str, ...]
    old_levels: Tuple[str, ...]
    variables: Dict[str, Variable]
    replaced: Dict[str, str] = field(default_factory=dict)


@functools.cache
def table() -> Table:
    """Read the table."""
    return load(Table, parse(FILE.read_bytes()), (FILE.name,))


def level(text: str) -> Optional[str]:
    """Give the level NCCL takes out of a value; None where it takes none and keeps its default."""
    if text in table().levels:
        return text
    number = re.match(r"\d+", text)
    old = table().old_levels
    return old[min(int(number[0]), len(old) - 1)] if number else None


def heeded(name: str, value: str) -> bool:
    """Say whether NCCL takes this value as it is meant; what is not in the table, it may."""
    known = table().variables.get(name)
    if known is None:
        return True
    if known.takes == "level":
        return level(value) is not None
    if known.takes == "switch":
        return value in ("0", "1")
    if known.takes == "number":
        return _NUMBER.fullmatch(value) is not None
    if known.takes == "word":
        return all(one.upper() in known.words for one in value.split(","))
    return known.takes != "interfaces" or _INTERFACES.fullmatch(value) is not None


def no_p2p(values: Mapping[str, str]) -> bool:
    """Say whether an environment switches P2P off; NCCL_P2P_DISABLE wins over any level."""
    return values.get("NCCL_P2P_DISABLE") == "1" or level_of(values) == "LOC"


def level_of(values: Mapping[str, str]) -> Optional[str]:
    """Give the level that an environment asks for, None where it leaves it to NCCL."""
    return level(values["NCCL_P2P_LEVEL"]) if "NCCL_P2P_LEVEL" in values else None


def announced(values: Mapping[str, str]) -> Dict[str, str]:
    """Name what NCCL says of this environment in every start with two cards: name and value.

    Only these two are read in each (NCCL 2.28.9, two H200): what is set and not said to be "set by
    environment" did not take effect. A disabled P2P makes it look at no level.
    """
    if values.get("NCCL_P2P_DISABLE") == "1":
        return {"NCCL_P2P_DISABLE": "1"}
    asked = level_of(values)
    if "NCCL_P2P_LEVEL" in values:
        return {"NCCL_P2P_LEVEL": asked or values["NCCL_P2P_LEVEL"]}
    return {}
