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
Send = Callable[[], None]
Hold = Callable[[int], Send]
"""Takes hold of whoever has a pid now; what it gives sends SIGKILL to that process alone."""


def kill(meant: Process, look: Look, allowed: Allowed, hold: Optional[Hold] = None) -> str:
    """Send SIGKILL to `meant` if it still is who it was; "" is done or gone, else why not."""
    try:
        send = (hold or pidfd)(meant.pid)
        now = look(meant.pid)
        why = _refusal(meant, now, allowed) if now is not None else ""
        if now is not None and not why:
            send()
    except ProcessLookupError:
        return ""
    except OSError as error:
        return f"pid {meant.pid} cannot be ended: {error.strerror}"
    return why


def _refusal(meant: Process, now: Process, allowed: Allowed) -> str:
    """Say why whoever has the number now is not to be ended for `meant`; "" where it is."""
    if now.started != meant.started:
        return f"pid {meant.pid} is another process by now, started at {now.started}: no kill"
    if now.cgroup != meant.cgroup:
        return f"pid {meant.pid} lies in {now.cgroup} now, not in {meant.cgroup}: no kill"
    return "" if allowed(now) else f"pid {meant.pid} ({now.name}) is spared by now: no kill"


def pidfd(pid: int) -> Send:
    """Hold a process by a pidfd; before Linux 5.3 by its number alone, looked at a moment ago."""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        raise
    except (OSError, AttributeError):
        return lambda: os.kill(pid, signal.SIGKILL)
    return _Held(fd)


class _Held:
    """A process held by the kernel for us, until this is forgotten."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def __call__(self) -> None:
        """Send SIGKILL."""
        signal.pidfd_send_signal(self._fd, signal.SIGKILL)

    def __del__(self) -> None:
        os.close(self._fd)
