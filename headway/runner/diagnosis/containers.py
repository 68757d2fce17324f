"""Docker's daemon and its containers, asked over its own socket, whatever state it is in."""

import contextlib
import json
from typing import Any, Dict, Iterator, Optional, Tuple

from headway.runner import plain_http
from headway.runner.diagnosis import log
from headway.runner.diagnosis.ordering import Found
from headway.runner.diagnosis.seen import Container, Seen, Unit
from headway.runner.docker_log import messages
from headway.runner.machine import Machine
from headway.runner.plain_http import SilentError
from headway.wire import engines
from headway.wire.evidence import shown

SOCKET = "/run/docker.sock"
UNIT = "docker.service"
LIMIT_S = 1.2
_MOST = 5  # troubled containers that are looked at closely
_TAIL = 60
_LOOPS = 3
_KEPT_UP = ("always", "unless-stopped", "on-failure")
_PROJECT, _SERVICE = "com.docker.compose.project", "com.docker.compose.service"
_SIGKILL, _NOTHING = 137, "0001-01-01"
_OK = 200


# --- looking ------------------------------------------------------------------------------------


def look(machine: Machine) -> Optional[Tuple[Container, ...]]:
    """Ask for all containers, closely for those in trouble; None: no socket. SilentError: hangs."""
    if machine.disk.seen(SOCKET) is None:
        return None
    rows = _get(machine, "/containers/json?all=1")
    return tuple(_closely(machine, row, n) for n, row in enumerate(sorted(rows, key=_calm)))


def _calm(row: Dict[str, Any]) -> bool:
    healthy = "unhealthy" not in row.get("Status", "")
    return row.get("State") == "running" and healthy


def _closely(machine: Machine, row: Dict[str, Any], n: int) -> Container:
    name = str((row.get("Names") or [row["Id"][:12]])[0]).lstrip("/")
    labels = row.get("Labels") or {}
    service = f"{labels[_PROJECT]}/{labels.get(_SERVICE, '')}" if _PROJECT in labels else ""
    brief = Container(name, str(row.get("State", "")), service=service)
    if n >= _MOST:
        return brief
    try:
        told = _get(machine, f"/containers/{row['Id']}/json")
    except SilentError:
        return brief
    state, policy = told.get("State", {}), told.get("HostConfig", {}).get("RestartPolicy", {})
    status = str(state.get("Status", ""))
    finished = str(state.get("FinishedAt", ""))
    return Container(
        name,
        status,
        int(state.get("ExitCode", 0)),
        bool(state.get("OOMKilled")),
        int(told.get("RestartCount", 0)),
        str(policy.get("Name", "")),
        str((state.get("Health") or {}).get("Status", "")),
        str(state.get("Error", "")),
        "" if finished.startswith(_NOTHING) else finished[:19],
        () if _calm(row) and not told.get("RestartCount") else _said(machine, row["Id"], state),
        service,
    )


def _said(machine: Machine, name: str, state: Dict[str, Any]) -> Tuple[str, ...]:
    """Read the end of a container's log; of an unhealthy one, what its check said comes last."""
    checks = (state.get("Health") or {}).get("Log") or []
    probe = tuple(str(one.get("Output", "")).strip() for one in checks[-1:])
    with contextlib.suppress(SilentError, OSError):
        path = f"/containers/{name}/logs?stdout=1&stderr=1&tail={_TAIL}"
        _, raw = plain_http.get(machine.disk.real(SOCKET), path, LIMIT_S)
        return (*(line for line, _ in messages(raw)), *filter(None, probe))
    return probe


def _get(machine: Machine, path: str) -> Any:  # noqa: ANN401 # the daemon's own JSON
    status, body = plain_http.get(machine.disk.real(SOCKET), path, LIMIT_S)
    if status != _OK:
        raise SilentError(f"it answers {status}")
    return json.loads(body)


# --- what follows from it -----------------------------------------------------------------------


def probes(seen: Seen) -> Iterator[Found]:
    """Say how the daemon stands, then each container that should run and does not."""
    silent = seen.unseen.get("containers", "")
    if is_down(seen):
        yield Found("docker-down", "", _why(seen, seen.unit(UNIT)))
    elif silent and seen.unit(UNIT)["ActiveState"] in ("active", ""):
        yield Found("docker-hangs", "", (f"{SOCKET}: {silent}",))
    there = {one.service for one in seen.containers or ()}
    for service in seen.services if seen.containers is not None else ():
        if service not in there and not seen.parked:
            yield Found("container-gone", service, (f"no container of {service}",))
    for one in seen.containers or ():
        yield from _container(one)


def is_down(seen: Seen) -> bool:
    """Say whether Docker is here, should run, and does not."""
    unit = seen.unit(UNIT)
    down = unit["LoadState"] == "loaded" and unit["ActiveState"] in ("failed", "inactive")
    return down and _wanted(unit)


def _wanted(unit: Unit) -> bool:
    return unit["UnitFileState"] == "enabled" or unit["ActiveState"] == "failed"


def _why(seen: Seen, unit: Unit) -> Tuple[str, ...]:
    told = f"{UNIT} is {unit['ActiveState']}, {unit['Result']}"
    lines = [line.text for line in seen.logs.get(UNIT, ()) if line.own]
    return (told, *(shown(text) for text in lines[-1:]))


def _container(one: Container) -> Iterator[Found]:
    finding = _finding(one)
    if not finding:
        return
    ended = f", ended {one.finished}" if one.finished and one.status != "running" else ""
    again = f", started again {one.restarts} times" if one.restarts else ""
    told = f"{one.name} is {one.status}, exit code {one.exit_code}{ended}{again}"
    last = one.said[-1:]
    yield Found(finding, one.name, tuple(map(shown, filter(None, (told, one.error, *last)))))
    if finding == "container-unhealthy":
        return
    tables = tuple(engines.engine(name) for name in engines.names())
    for cause, line in log.said(one.said, tables, ended=True)[:1]:
        yield Found(cause, one.name, (shown(line),))


def _finding(one: Container) -> str:  # noqa: PLR0911 # a table of states as a row of returns
    if one.status == "paused":
        return "container-paused"
    if one.status == "restarting" or (one.status == "running" and one.restarts >= _LOOPS):
        return "container-oom" if one.oom else "container-restarting"
    if one.status == "running":
        return "container-unhealthy" if one.health == "unhealthy" else ""
    if one.status not in ("exited", "dead") or one.policy not in _KEPT_UP:
        return ""
    if one.oom:
        return "container-oom"
    if one.exit_code == _SIGKILL:
        return "container-killed"
    return "container-exit-0" if one.exit_code == 0 else "container-exited"
