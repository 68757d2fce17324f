"""Ends one process and no other: by pidfd, looked at again while the kernel holds it for us.

Once the pidfd is open, a number given out anew cannot fool us: either /proc then shows another
start time, and nothing is sent, or the signal goes to the process that was looked at.
"""

import os
import signal
from typing import Callable, Optional

from headway.runner.cards.evict.process import Process

Look = Callable[[int], Optional[Process]]
Allowed = Callable[[Process], bool]


def kill(meant: Process, look: Look, allowed: Allowed) -> str:
    """Send SIGKILL to `meant` if it still is who it was; "" is done or gone, else why not."""
    fd = _open(meant.pid)
    try:
        now = look(meant.pid)
        if now is None:
            return ""
        if now.started != meant.started:
            return (
                f"pid {meant.pid} is another process by now, of start time {now.started}: no kill"
            )
        if now.cgroup != meant.cgroup:
            return f"pid {meant.pid} lies in {now.cgroup} now, not in {meant.cgroup}: no kill"
        if not allowed(now):
            return f"pid {meant.pid} ({now.name}) is not to be ended any more: no kill"
        return _send(fd, meant.pid)
    finally:
        if fd is not None:
            os.close(fd)


def _open(pid: int) -> Optional[int]:
    """Hold a process; None when it is gone, or where the kernel is older than 5.3."""
    try:
        return os.pidfd_open(pid)
    except (OSError, AttributeError):
        return None


def _send(fd: Optional[int], pid: int) -> str:
    try:
        if fd is not None:
            signal.pidfd_send_signal(fd, signal.SIGKILL)
        else:
            os.kill(pid, signal.SIGKILL)  # looked at a moment ago: the best an old kernel offers
    except ProcessLookupError:
        return ""
    except OSError as error:
        return f"pid {pid} cannot be signalled: {error.strerror}"
    return ""
