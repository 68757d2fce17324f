"""Known conditions: what each means in a sentence, what helps, and where that is known from.

One table, in two files: what gates and the engines' tables name stands in findings.json; all else,
lint's and what only a look at a whole host finds, in findings_apart.json, which goes to a host with
`diagnose` alone (satchels.py).
"""

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Dict, Tuple

from headway.wire.loader import load, parse

FILE = Path(__file__).resolve().with_name("findings.json")
APART = FILE.with_name("findings_apart.json")


@dataclass(frozen=True)
class Known:
    """A condition by its id: `sentence` says what happens, `help` what to do about it.

    `source` names a report, a source file or a run. A `degradation` works, but worse than it
    should: a run with one never sets a baseline.

    The rest is for `diagnose`. `weight` (0 to 100) is how likely this is what somebody was woken
    for; `command` is what to type next: `invoke ...` at the fleet, anything else on the host.
    `explains` names the findings, or the groups of them, that follow from this one: of the same
    unit or container, or of any where this one is `wide`.
    """

    sentence: str
    help: str
    source: str
    degradation: bool = False
    weight: int = 0
    command: str = ""
    group: str = ""
    explains: Tuple[str, ...] = ()
    wide: bool = False


@functools.cache
def findings() -> Dict[str, Known]:
    """Read the whole table, by id; on a host, as far as it came there."""
    files = [file for file in (FILE, APART) if file.exists()]
    rows: Dict[str, Known] = {}
    for file in files:
        rows.update(load(Dict[str, Known], parse(file.read_bytes()), ("findings",)))
    return rows


def known(name: str) -> Known:
    """Look a condition up."""
    return findings()[name]
