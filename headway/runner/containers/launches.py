"""A service's container as who is judged: its present launch, and what became of an earlier one.

One launch is full id + StartedAt: a container that is started again keeps its id. Who ended it
shows in Docker's events: a stop or kill on request leaves a `kill` before the `die`.
"""

import os
import time
from typing import Optional, Tuple

from headway.runner.containers import docker, record
from headway.runner.containers.docker import Container, DockerError
from headway.runner.machine import Machine
from headway.runner.subject import boot_id
from headway.runner.systemd import KILLED
from headway.runner.tools.proc import RealProc
from headway.wire.gate import Subject
from headway.wire.verdict import Fate

_KILL_S = 30
_ANSWER_S = 60  # Docker stops its containers first, each within its own grace
_ASK_AGAIN_S = 0.2
_PID_FILE = "/run/docker.pid"
_SIGNALLED = (137, 143)  # 128 + SIGKILL, 128 + SIGTERM
_LAUNCH = "@"


def current(machine: Machine, name: str) -> Optional[Subject]:
    """Look at the present launch of a service; None where it does not run."""
    found = _running(machine, name)
    return None if found is None else _subject(machine, name, found)


def container_id(subject: Subject) -> str:
    """Give the full id of the container that a launch is of."""
    return subject.id.partition(_LAUNCH)[0]


def fate(before: Subject, machine: Machine) -> Tuple[Fate, Optional[Subject], str]:
    """Say what became of a launch, who is there now, and how it ended in a few words."""
    after = current(machine, before.unit)
    if before.boot_id != boot_id():
        return Fate.TAKEN, after, "the machine was started anew"
    if after is not None and after.id == before.id and after.restarts == before.restarts:
        return Fate.SAME, after, ""
    seen = docker.container(machine.disk, container_id(before))
    if seen is not None and seen.restarts > before.restarts:
        how = f"it ended and Docker started it again, {seen.restarts} times by now"
        return Fate.DIED, after, how
    if after is not None:
        return Fate.REPLACED, after, f"container {after.id[:12]} runs in its place"
    if seen is None:
        return Fate.TAKEN, None, f"container {before.id[:12]} was removed"
    gone, how = _gone(machine, seen)
    return gone, None, how


def absent(name: str, machine: Machine) -> Tuple[Fate, Optional[Subject], str]:
    """Say how the last launch of a service that does not run ended, and which one that was."""
    project, _, service = name.partition("/")
    seen = docker.containers(machine.disk, project, service)
    if not seen:
        return Fate.TAKEN, None, "it has no container"
    last = seen[0]
    if last.started_at.startswith("0001-"):
        return Fate.TAKEN, None, f"it was made and not started {last.error}".strip()
    gone, how = _gone(machine, last)
    return gone, _subject(machine, name, last), how


def start(machine: Machine, name: str, deadline_s: int) -> None:
    """Start the container that was made for a service, or raise DockerError.

    Where Docker itself was started anew meanwhile, it is told once more.
    """
    made = record.read(machine.disk, name)
    if made is None or not made.id:
        raise DockerError(f"{name} has no container to start")
    words, what, since = ["start", made.id], f"{name} did not start", _docker_since(machine)
    try:
        docker.command(machine.run, words, what, deadline_s)
    except DockerError:
        answers(machine)
        if _docker_since(machine) == since:
            raise
        docker.command(machine.run, words, what, deadline_s)


def answers(machine: Machine, deadline_s: float = _ANSWER_S) -> None:
    """Wait until Docker answers, or raise DockerError: somebody may be starting it anew."""
    end = time.monotonic() + deadline_s
    while True:
        try:
            docker.info(machine.disk)
        except DockerError:
            if time.monotonic() >= end:
                raise
        else:
            return
        time.sleep(_ASK_AGAIN_S)


def stop(machine: Machine, name: str, deadline_s: int) -> str:
    """Stop a service's containers within their stop_grace_period, and see that they are down.

    Says how it ended: "stopped", "killed" or "was down".
    """
    project, _, service = name.partition("/")
    ways = [_stop(machine, one, deadline_s) for one in _up(machine, project, service)]
    return "was down" if not ways else KILLED if KILLED in ways else "stopped"


def state(machine: Machine, name: str) -> Tuple[str, str, int]:
    """Say how a service stands in systemd's words: "active" or "failed", Docker's, its restarts."""
    project, _, service = name.partition("/")
    seen = docker.containers(machine.disk, project, service)
    if not seen:
        return "inactive", "no container", 0
    one = next((each for each in seen if each.running()), seen[0])
    words = one.status if one.running() else f"{one.status}, code {one.exit_code}"
    return ("active" if one.running() else "failed"), words, one.restarts


def last_launch(machine: Machine, name: str, seen: Container) -> Subject:
    """Give the launch that a container is of, running or over."""
    return _subject(machine, name, seen)


def _stop(machine: Machine, one: Container, deadline_s: int) -> str:
    what = f"{one.project}/{one.service} did not stop"
    try:
        docker.command(machine.run, ["stop", one.id], what, deadline_s)
    except DockerError:
        docker.command(machine.run, ["kill", one.id], what, _KILL_S)
    after = docker.container(machine.disk, one.id)
    if after is not None and after.running():
        raise DockerError(f"{one.project}/{one.service} still runs after SIGKILL")
    return KILLED if after is not None and after.exit_code == _SIGNALLED[0] else "stopped"


def _up(machine: Machine, project: str, service: str) -> Tuple[Container, ...]:
    """Name the containers of a service that run or are about to: one waits for its restart."""
    seen = docker.containers(machine.disk, project, service)
    return tuple(one for one in seen if one.status in ("running", "restarting", "paused"))


def _running(machine: Machine, name: str) -> Optional[Container]:
    project, _, service = name.partition("/")
    seen = docker.containers(machine.disk, project, service)
    return next((one for one in seen if one.running()), None)


def _subject(machine: Machine, name: str, seen: Container) -> Subject:
    proc = RealProc(machine.disk.root)
    return Subject(
        unit=name,
        id=seen.id + _LAUNCH + seen.started_at,
        started_us=proc.started_us(seen.pid) if seen.pid else 0,
        boot_id=boot_id(),
        pid=seen.pid,
        cgroup=proc.cgroup(seen.pid) if seen.pid else "",
        restarts=seen.restarts,
    )


def _gone(machine: Machine, seen: Container) -> Tuple[Fate, str]:
    """Tell whether a launch that is over ended by itself or was stopped, and how.

    137 is SIGKILL and no proof of an OOM kill. Where Docker holds no event of it any more, a signal
    that people use as well is taken for theirs.
    """
    how = _how_it_ended(seen)
    if seen.oom_killed:
        return Fate.DIED, how
    noted = [one.get("Action") or one.get("status") for one in docker.events(machine.disk, seen.id)]
    last = noted[max((at for at, what in enumerate(noted) if what == "start"), default=0) :]
    if "kill" in last or "stop" in last:
        return Fate.TAKEN, f"stopped by somebody else ({how})"
    if "die" not in last and _docker_since(machine) > float(docker.seconds(seen.started_at)):
        return Fate.TAKEN, f"Docker itself was started anew, which stops what it runs ({how})"
    if "die" in last or seen.exit_code not in _SIGNALLED:
        return Fate.DIED, how
    return Fate.TAKEN, f"gone, and Docker does not know how ({how})"


def _docker_since(machine: Machine) -> float:
    """Say when Docker was started, in seconds since 1970, by its pid file; 0 where it has none."""
    try:
        return os.stat(machine.disk.real(_PID_FILE)).st_mtime
    except OSError:
        return 0.0


def _how_it_ended(seen: Container) -> str:
    if seen.oom_killed:
        return "OOM kill"
    if seen.error:
        return seen.error
    signal = seen.exit_code - 128
    if 0 < signal < 65:  # noqa: PLR2004 # the kernel's signals
        return f"exit code {seen.exit_code}: signal {signal}"
    return f"exit code {seen.exit_code}" + (", by itself" if not seen.exit_code else "")
