"""The lines of one launch of a service: this one, or an earlier container that journald still has.

A container's own log goes with it; where Docker logs to the journal its lines outlive it, under its
full id.
"""

import calendar
import json
import time
from typing import Callable, Iterator, List, Optional, Sequence, Tuple

from headway.runner.containers import docker
from headway.runner.containers.docker import Container
from headway.runner.containers.launches import last_launch
from headway.runner.containers.logs import ContainerLogs
from headway.runner.machine import Machine
from headway.runner.tools.journal import decoded
from headway.wire.talk import LogLine

READ_S = 120
_ID = "CONTAINER_ID_FULL"
_OWN_PRIORITY = 6

Lines = Callable[[Sequence[str], int], Iterator[bytes]]


class NoLaunchError(Exception):
    """There is no such launch, or nobody has its lines: one sentence."""


def read(
    machine: Machine, name: str, wanted: str, lines: Lines
) -> Tuple[str, Tuple[LogLine, ...], str]:
    """Give a launch of PROJECT/SERVICE, its lines, and why some are lost ("" where none is).

    `wanted` is "current", "previous", or how a container's id begins.
    """
    project, _, service = name.partition("/")
    seen = docker.containers(machine.disk, project, service)
    here = seen[0] if seen else None
    if here is not None and (wanted == "current" or here.id.startswith(wanted)):
        return _of_docker(machine, name, here)
    known = _known(here, f"{project}-{service}-1", lines)
    ended = [one for one in known if here is None or one != here.id]
    fits = ended if wanted == "previous" else [one for one in ended if one.startswith(wanted)]
    if not fits or wanted == "current":
        there = ", ".join(one[:12] for one in known[-8:]) or "none"
        how = "" if known else "; only the log driver journald keeps lines of earlier containers"
        raise NoLaunchError(f"no such launch of {name}; oldest first there are {there}{how}")
    return fits[-1], tuple(_of_journal(fits[-1], lines)), ""


def _of_docker(
    machine: Machine, name: str, here: Container
) -> Tuple[str, Tuple[LogLine, ...], str]:
    journal = ContainerLogs(machine).of(last_launch(machine, name, here))
    rows = tuple(
        LogLine(_microseconds(one.cursor), one.priority, one.own, one.text) for one in journal.lines
    )
    return here.id, rows, journal.why


def _known(here: Optional[Container], name: str, lines: Lines) -> List[str]:
    """Name the containers of a service that the journal knows, oldest first, then the present."""
    argv = ["journalctl", f"CONTAINER_NAME={here.name if here else name}", "--output=json"]
    rows = lines([*argv, f"--output-fields={_ID}", "--no-pager", "--quiet"], READ_S)
    found = [str(json.loads(row).get(_ID, "")) for row in rows]
    return list(dict.fromkeys([*filter(None, found), *([here.id] if here else [])]))


def _of_journal(container: str, lines: Lines) -> Iterator[LogLine]:
    argv = ["journalctl", "--all", f"{_ID}={container}", "--output=json", "--no-pager", "--quiet"]
    for row in lines(argv, READ_S):
        entry = json.loads(row)
        at = int(entry.get("__REALTIME_TIMESTAMP", 0))
        yield LogLine(at, _OWN_PRIORITY, own=True, text=decoded(entry.get("MESSAGE")))


def _microseconds(at: str) -> int:
    whole, _, rest = at.rstrip("Z").partition(".")
    seconds = calendar.timegm(time.strptime(whole, "%Y-%m-%dT%H:%M:%S"))
    return seconds * 1_000_000 + int(rest.ljust(6, "0")[:6])
