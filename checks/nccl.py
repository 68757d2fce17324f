"""The cards talk to each other as they should: granted by the driver, used by NCCL, fast, right.

Asked twice. Between stop and start, while the cards are free, an all-reduce runs in the engine's
own environment. After the start, NCCL's own log of this launch says what it uses. What the driver
grants, what NCCL uses, and whether the engine's own all-reduce is on are three different answers.
"""

from dataclasses import dataclass
from typing import Optional

from headway.wire.gate import Answered, Judgement, Subject
from headway.wire.tools import Tools
from headway.wire.verdict import Verdict

WHEN = "between"
DEADLINE_S = 60


@dataclass(frozen=True)
class Params:
    """What is expected.

    `via` is the transport every ordered pair must use: P2P, SHM or NET; "" only tells.
    `min_gbps` is the least bus bandwidth, as nccl-tests words it, in GB/s; `slower_percent` is how
    much below the baseline it may be. `seconds` bound the run, 20 at most; 0 makes none. With an
    `engine`, what its log says of its own all-reduce is told, and `own: true` wants that on.
    """

    via: str = ""
    min_gbps: int = 0
    slower_percent: int = 10
    seconds: int = 20
    engine: str = ""
    own: bool = False


def judge(params: Params, subject: Optional[Subject], tools: Tools) -> Answered:
    """Measure while nothing of the part runs; read what it said once it does."""
    from headway_checks.carding import afterwards, bandwidth

    if tools.between:
        expected = bandwidth.Expected(params.via, params.min_gbps, params.slower_percent)
        return bandwidth.judged(expected, params.seconds, tools)
    if subject is None:
        return Judgement(Verdict.INVALID, ("no launch to judge",))
    asked = afterwards.Asked(params.via, params.engine, params.own)
    return afterwards.judged(asked, subject, tools)
