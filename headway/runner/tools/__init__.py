"""The real tools of the host, put together for the checks of one part."""

from typing import Callable, Optional, Tuple

from headway.runner.machine import Machine
from headway.runner.tools.cards import RealCards
from headway.runner.tools.host import RealHost
from headway.runner.tools.http import RealHttp
from headway.runner.tools.journals import journals_of
from headway.runner.tools.limit import limited
from headway.runner.tools.proc import RealProc
from headway.wire.gate import Baseline
from headway.wire.release import Part
from headway.wire.tools import Tools
from headway.wire.verdict import Fate

Differences = Callable[[Part], Tuple[str, ...]]


def tools_of(  # noqa: PLR0913 # what the tools of a gate hang on
    machine: Machine,
    part: Part,
    differences: Differences,
    left_s: Callable[[], int],
    *,
    leaving: Tuple[str, ...] = (),
    between: bool = False,
    killed: bool = False,
    baseline: Optional[Baseline] = None,
    fate: Callable[[], Tuple[Fate, str]] = lambda: (Fate.SAME, ""),
) -> Tools:
    """Hand a check its tools; no request and no command outlasts what `left_s` gives."""
    return Tools(
        http=RealHttp(left_s),
        run=limited(machine.run, left_s),
        journal=journals_of(machine),
        proc=RealProc(),
        host=RealHost(machine, differences),
        cards=RealCards(left_s),
        part=part,
        leaving=leaving,
        between=between,
        killed=killed,
        baseline=baseline,
        fate=fate,
        left_s=left_s,
    )
