"""What a transition works with: the seams to the host, bundled, and the hands made of them."""

from dataclasses import dataclass
from typing import Callable, Tuple

from headway.runner import ballast
from headway.runner.clock import Clock
from headway.runner.desk import Desk
from headway.runner.freeing import Freeing, freeing_of
from headway.runner.machine import Machine
from headway.runner.records import Records
from headway.runner.steps import Steps
from headway.runner.teller import Teller
from headway.runner.watch import Watch
from headway.wire.gate import Gate, Report
from headway.wire.release import Part


@dataclass(frozen=True)
class Question:
    """A gate to be judged of a part. `load_ms` is its last load here, 0 where there is none.

    `leaving` are the units that are stopped before the part starts; `between`: they are, and the
    part is not started yet. Gates `beside` it are asked all the while. `killed`: what ran of the
    part before did not go by itself.
    """

    gate: Gate
    part: Part
    load_ms: int = 0
    leaving: Tuple[str, ...] = ()
    between: bool = False
    beside: Tuple[Gate, ...] = ()
    killed: bool = False


Judge = Callable[[Question], Report]
JudgeFor = Callable[[Teller, Desk], Judge]
FreeingFor = Callable[[Machine, Teller, Desk, Clock, Watch], Freeing]


@dataclass(frozen=True)
class Work:
    """What a transition works with: the seams, and the hands made of them."""

    machine: Machine
    records: Records
    clock: Clock
    watch: Watch
    judge: Judge
    tell: Teller
    desk: Desk
    steps: Steps
    freeing: Freeing


def work_of(  # noqa: PLR0913 # the seams of a transition
    machine: Machine,
    clock: Clock,
    watch: Watch,
    judge: JudgeFor,
    name: str,
    *,
    freeing: FreeingFor = freeing_of,
) -> Work:
    """Put the seams of transition `name` together; `judge` is made with its teller and desk."""
    records = Records(machine.disk, lambda: ballast.drop_if_full(machine.disk))
    tell = Teller(records, name, clock)
    desk = Desk(records, tell, clock, watch)
    steps = Steps(machine, tell, clock, watch)
    frees = freeing(machine, tell, desk, clock, watch)
    return Work(machine, records, clock, watch, judge(tell, desk), tell, desk, steps, frees)
