"""The processes of this launch lie in memory: none of them has been swapped out."""

from dataclasses import dataclass
from typing import List, Optional, Tuple

from headway.wire.evidence import by_hand, some
from headway.wire.gate import Answered, Judgement, Measurement, Subject
from headway.wire.tools import Tools
from headway.wire.verdict import Verdict

DEADLINE_S = 30
_KIB, _MIB = 1024, 1024 * 1024


@dataclass(frozen=True)
class Params:
    """How much may be swapped out, over all processes of the launch.

    A server that swaps answers, and each answer waits for a disk. A few pages that are never
    touched are normal on a host with swap.
    """

    at_most_mib: int = 64


def judge(params: Params, subject: Optional[Subject], tools: Tools) -> Answered:
    """Add up VmSwap of the whole process tree, workers included: they share its cgroup."""
    if subject is None:
        return Judgement(Verdict.INVALID, ("no launch to judge",))
    rows = _swapped(subject, tools)
    again = by_hand(["grep", "VmSwap", *(f"/proc/{pid}/status" for pid, _, _ in rows[:8])])
    if not rows:
        said = f"no process of {subject.unit} shows VmSwap: this kernel has no swap accounting"
        return Judgement(Verdict.INVALID, (said,))
    total = sum(swapped for _, _, swapped in rows)
    most = params.at_most_mib * _MIB
    said = f"{total // _MIB} MiB of {len(rows)} processes are swapped out"
    worst = sorted(rows, key=lambda row: -row[2])
    named = [f"pid {pid} ({name}): {size // _MIB} MiB" for pid, name, size in worst if size]
    verdict = Verdict.PASS if total <= most else Verdict.FAIL
    limit = f", at most {params.at_most_mib} MiB allowed" if verdict is Verdict.FAIL else ""
    measured = (Measurement("swapped", total, "bytes", len(rows)),)
    return Judgement(verdict, (said + limit, *some(named), again), measured)


def _swapped(subject: Subject, tools: Tools) -> List[Tuple[int, str, int]]:
    """Give pid, name and swapped bytes of each process that says so."""
    found = []
    for pid in tools.proc.pids(subject.cgroup):
        status = tools.proc.status(pid)
        words = status.get("VmSwap", "").split()
        if words and words[0].isdigit():
            found.append((pid, status.get("Name", "?"), int(words[0]) * _KIB))
    return found
