"""The real tools of the host, put together for the checks of one part."""

from typing import Callable, Tuple

from headway.runner.machine import Machine
from headway.runner.tools.host import RealHost
from headway.runner.tools.http import RealHttp
from headway.runner.tools.journal import RealJournals
from headway.runner.tools.limit import limited
from headway.runner.tools.proc import RealProc
from headway.wire.release import Part
from headway.wire.tools import Tools

Differences = Callable[[Part], Tuple[str, ...]]


def tools_of(
    machine: Machine,
    part: Part,
    differences: Differences,
    left_s: Callable[[], int],
    leaving: Tuple[str, ...] = (),
) -> Tools:
    """Hand a check its tools; no request and no command outlasts what `left_s` gives."""
    return Tools(
        http=RealHttp(left_s),
        run=limited(machine.run, left_s),
        journal=RealJournals(machine.run),
        proc=RealProc(),
        host=RealHost(machine, differences),
        part=part,
        leaving=leaving,
    )
