"""Neither systemd nor Docker had to start the service again since it was started on purpose."""

from dataclasses import dataclass
from typing import Optional

from headway.wire.by_hand import restarts_of, status_argv
from headway.wire.evidence import by_hand
from headway.wire.gate import Answered, Judgement, Measurement, Subject
from headway.wire.tools import Tools
from headway.wire.verdict import Verdict

DEADLINE_S = 30


@dataclass(frozen=True)
class Params:
    """`at_most` restarts are put up with; a start on purpose sets the count to 0."""

    at_most: int = 0


def judge(params: Params, subject: Optional[Subject], _tools: Tools) -> Answered:
    """Compare the restarts of this launch with the most that is allowed."""
    if subject is None:
        return Judgement(Verdict.INVALID, ("no launch to judge",))
    verdict = Verdict.PASS if subject.restarts <= params.at_most else Verdict.FAIL
    again = by_hand(status_argv(subject))
    said = f"{restarts_of(subject)} is {subject.restarts}, at most {params.at_most} allowed"
    return Judgement(verdict, (said, again), (Measurement("restarts", subject.restarts, "count"),))
