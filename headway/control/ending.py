"""How a verb ends: one line that says where, what and what to do next; never a traceback."""

import contextlib
import gc
import os
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from invoke.exceptions import Exit as InvokeExit

from headway.control.desk import Desk
from headway.control.errors import HeadwayError
from headway.wire.phase import Exit


def ended(desk: Desk, verb: Callable[[], Exit]) -> NoReturn:
    """Run a verb, close its desk, and leave with its exit code.

    A fault of our own ends with 6 when a host had begun (it goes on by itself), else with 2.
    """
    try:
        with desk:
            code = verb()
    except HeadwayError as error:
        code = error.exit_code
        desk.complain(error)
    except KeyboardInterrupt:
        # A rollout hears Ctrl-C itself; this is one that was pressed while nothing was in hand.
        code = Exit.UNKNOWN if desk.began else Exit.USAGE
        desk.complain(HeadwayError(f"{desk.verb}: interrupted"))
    except BrokenPipeError:
        # `invoke history | head`: whoever read has seen enough. Python would complain once more
        # while flushing stdout at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = Exit.UNKNOWN if desk.began else Exit.ACCEPTED
    except Exception as error:  # noqa: BLE001 # the one place where a fault of ours ends
        code = Exit.UNKNOWN if desk.began else Exit.USAGE
        desk.complain(_fault(desk, error))
    gc.freeze()  # all goes with the process: to look through it once more takes 40 ms
    raise InvokeExit(code=int(code))


def _fault(desk: Desk, error: Exception) -> HeadwayError:
    first = (str(error) or "no message").splitlines()[0]
    kept = _kept(desk.redacted(traceback.format_exc()))
    goes_on = "; a host had begun and goes on by itself: invoke status" if desk.began else ""
    return HeadwayError(
        f"{desk.verb}: a fault in headway itself: {type(error).__name__}: {first}",
        hint=f"the traceback is in {kept}{goes_on}",
    )


def _kept(text: str) -> str:
    folder = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "headway"
    path = folder / f"traceback-{time.strftime('%Y%m%dT%H%M%S')}-{os.getpid()}.txt"
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch(mode=0o600)
        path.write_text(text)
        return str(path)
    return f"no file, {folder} cannot be written"
