"""What is wrong with this host, likeliest cause first: `invoke diagnose`, `headway-host diagnose`.

Three steps. Looking (look.py) reads everything once and at once, each look within a deadline. What
was seen (seen.py) is plain data. Probes, a few in a module an area, are pure: they take what was
seen and give findings, entries of the table that lint and gates share. Which finding is the cause
is decided last, by that table (wire/diagnosis.py).

It travels apart (satchels.py), and works while anything of the host is broken: the engine, dockerd,
a disk, the driver, headway's record, the clock.
"""

import time
from typing import Callable, Iterator, List, Tuple

from headway.runner.diagnosis import (
    cards,
    containers,
    log,
    machine,
    processes,
    record,
    service,
    units,
    weights,
)
from headway.runner.diagnosis.look import look, looked
from headway.runner.diagnosis.ordering import Found, ordered
from headway.runner.diagnosis.seen import Seen
from headway.runner.machine import Machine
from headway.wire.diagnosis import Cause, Diagnosed
from headway.wire.findings import known

PROBES: Tuple[Callable[[Seen], Iterator[Found]], ...] = (
    *(record.probes, units.probes, log.probes, service.probes, containers.probes),
    *(cards.probes, processes.probes, machine.probes, weights.probes),
)


def diagnose(on: Machine, asked_ms: int = 0) -> Diagnosed:
    """Look, and say what follows; `asked_ms` is the asker's clock, 0 where it is this one.

    A probe that breaks is named as not seen: what the others found is told all the same.
    """
    began = time.monotonic()
    seen = look(on, asked_ms)
    found: List[Found] = []
    unseen = [f"{name}: {why}" for name, why in seen.unseen.items()]
    for probes in PROBES:
        try:
            found.extend(probes(seen))
        except Exception as error:  # noqa: BLE001 # a host may show what nobody thought of
            area = probes.__module__.rpartition(".")[2]
            unseen.append(f"{area}: {type(error).__name__}: {error}")
    causes = ordered(found, known)
    took_ms = int((time.monotonic() - began) * 1000)
    return Diagnosed(causes, looked(seen), tuple(unseen), took_ms)


def follows(seen: Seen) -> Tuple[Cause, ...]:
    """Say what follows from what was seen; nothing is looked at."""
    return ordered((one for probes in PROBES for one in probes(seen)), known)
