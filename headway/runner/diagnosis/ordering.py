"""Which finding is the cause, and which only follows from it: decided purely, by the table."""

from dataclasses import dataclass, field
from typing import Callable, Dict, Iterable, List, Tuple

from headway.wire.diagnosis import Cause
from headway.wire.findings import Known

EVIDENCE_LINES = 3
Table = Callable[[str], Known]


@dataclass(frozen=True)
class Found:
    """A finding on this host. `about` is the unit, card, path or container; "" is the machine.

    `evidence` are lines as they were read, and numbers. `values` fill what stands between braces
    in the table's command.
    """

    finding: str
    about: str = ""
    evidence: Tuple[str, ...] = ()
    values: Dict[str, str] = field(default_factory=dict)


def ordered(found: Iterable[Found], table: Table) -> Tuple[Cause, ...]:
    """Put causes before what they explain, then what is likelier first; the same one once.

    Two that explain each other explain nothing: the likelier one is the cause.
    """
    rows = _once(found, table)
    because = [
        tuple(
            dict.fromkeys(
                other.finding for other in rows if other is not row and _leads(other, row, table)
            )
        )
        for row in rows
    ]
    ranks = sorted(
        range(len(rows)), key=lambda n: (bool(because[n]), -table(rows[n].finding).weight, n)
    )
    return tuple(_worded(rows[n], table(rows[n].finding), because[n]) for n in ranks)


def _once(found: Iterable[Found], table: Table) -> List[Found]:
    """Keep each once, and only what the table has a weight for: the rest is no trouble."""
    kept: Dict[Tuple[str, str], Found] = {}
    for one in found:
        if table(one.finding).weight:
            kept.setdefault((one.finding, one.about), one)
    return list(kept.values())


def _leads(cause: Found, effect: Found, table: Table) -> bool:
    if not _explains(cause, effect, table):
        return False
    likelier = table(cause.finding).weight > table(effect.finding).weight
    return likelier or not _explains(effect, cause, table)


def _explains(cause: Found, effect: Found, table: Table) -> bool:
    """Say whether the table lets one explain the other, of the same thing or of the machine."""
    about = {cause.about, effect.about}
    if len(about - {""}) > 1 and not (table(cause.finding).wide or table(effect.finding).wide):
        return False
    known = table(effect.finding)
    return bool({effect.finding, known.group} & set(table(cause.finding).explains) - {""})


def _worded(one: Found, known: Known, because: Tuple[str, ...]) -> Cause:
    command = known.command
    for name, value in {"about": one.about, **one.values}.items():
        command = command.replace("{" + name + "}", value)
    evidence = one.evidence[:EVIDENCE_LINES]
    return Cause(one.finding, one.about, known.sentence, evidence, known.help, command, because)
