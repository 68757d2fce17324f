"""Tests of the fleet, pytest with testinfra, pass against this host through the network."""

from dataclasses import dataclass
from typing import Optional, Tuple

from headway.wire.gate import Answered, Judgement, Subject
from headway.wire.tools import Tools
from headway.wire.verdict import Verdict

WHERE = "outside"


@dataclass(frozen=True)
class Params:
    """`tests` are files or folders of the fleet, as pytest takes them."""

    tests: Tuple[str, ...]


def judge(_params: Params, _subject: Optional[Subject], _tools: Tools) -> Answered:
    """Judge nothing here: the controller does, with `where: outside`."""
    said = "this gate is judged by the controller: give it `where: outside`"
    return Judgement(Verdict.INVALID, (said,))
