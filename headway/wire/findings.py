"""Known conditions: what each means in a sentence, what helps, and where that is known from."""

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Dict

from headway.wire.loader import load, parse

FILE = Path(__file__).resolve().with_name("findings.json")


@dataclass(frozen=True)
class Known:
    """A condition by its id: `sentence` says what happens, `help` what to do about it.

    `source` names a report, a source file or a run. A `degradation` works, but worse than it
    should: a run with one never sets a baseline.
    """

    sentence: str
    help: str
    source: str
    degradation: bool = False


@functools.cache
def findings() -> Dict[str, Known]:
    """Read the whole table, by id."""
    return load(Dict[str, Known], parse(FILE.read_bytes()), ("findings",))


def known(name: str) -> Known:
    """Look a condition up."""
    return findings()[name]
