"""Every resource of the part is still as the release wants it."""

from dataclasses import dataclass
from typing import Optional

from headway.wire.evidence import by_hand, some
from headway.wire.gate import Answered, Judgement, Subject
from headway.wire.resources import File, Unit
from headway.wire.tools import Tools
from headway.wire.verdict import Verdict

DEADLINE_S = 120


@dataclass(frozen=True)
class Params:
    """Nothing to say: the release says it all."""


def judge(_params: Params, _subject: Optional[Subject], tools: Tools) -> Answered:
    """Fail on any difference; a part that holds nothing cannot be judged by this."""
    resources = tools.part.resources
    if not resources:
        return Judgement(Verdict.INVALID, (f"{tools.part.name} holds no resource to look at",))
    units = [resource.name for resource in resources if isinstance(resource, Unit)]
    files = [resource.path for resource in resources if isinstance(resource, File)]
    again = [by_hand(["systemctl", "cat", *units])] if units else []
    again += [by_hand(["stat", "-c", "%a %U:%G %s %n", *files])] if files else []
    different = tools.host.differences(tools.part)
    if different:
        return Judgement(Verdict.FAIL, (*some(different, 10), *again))
    return Judgement(Verdict.PASS, (f"{len(resources)} resources are as wanted", *again))
