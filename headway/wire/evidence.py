"""How checks word their evidence: the lines that decided, and the command that asks again."""

import shlex
from typing import Iterable, List, Sequence, Tuple

from headway.wire.tools import Listener

LINE = 300  # characters of a line that are shown
TAIL = 12  # lines of an output that are shown


def by_hand(argv: Sequence[str]) -> str:
    """Word the command that asks the same question again."""
    return "by hand: " + shlex.join(argv)


def shown(line: str) -> str:
    """Cut a line to what people read."""
    line = line.rstrip()
    return line if len(line) <= LINE else line[: LINE - 1] + "…"


def holder(listener: Listener) -> str:
    """Name who listens: process, command and cgroup."""
    if not listener.pid:
        return f"a process that cannot be seen from here ({listener.address})"
    return f"pid {listener.pid} ({shown(listener.command)}) in {listener.cgroup or '/'}"


def tail(what: str, output: bytes) -> Tuple[str, ...]:
    """Show the last lines of an output under a word for it; () when it is empty."""
    lines = [line for line in output.decode(errors="replace").splitlines() if line.strip()]
    return tuple(f"{what}: {shown(line)}" for line in lines[-TAIL:])


def some(lines: Iterable[str], most: int = 5) -> List[str]:
    """Show the first few lines and how many more there are."""
    rows = [shown(line) for line in lines]
    return rows if len(rows) <= most else [*rows[:most], f"... and {len(rows) - most} more"]
