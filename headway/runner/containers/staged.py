"""Compose's own answer about a release before any of it is written: is it what the release says.

The release's files are laid out below the scratch folder as they will lie on the host, and Compose
is asked about those. What it reads besides is not there: a file that Compose needs and the release
does not hold is found out now, not after a rollback.
"""

import os
from typing import Any, Iterator, Mapping, Optional, Set, Tuple

from headway.runner.containers import compose, docker
from headway.runner.containers.compose import Answer
from headway.runner.containers.docker import DockerError
from headway.runner.containers.logs import READABLE
from headway.runner.machine import Machine
from headway.wire.marks import ROOT
from headway.wire.release import Part, Release
from headway.wire.resources import FILES_LABEL, File, Service, Stack, container_name

BELOW = ROOT + "/stage/compose"


def relaunched(machine: Machine, target: Release, start: Release) -> Tuple[str, ...]:
    """Check the stacks of a release with Compose; name the unchanged parts that restart with them.

    DockerError says in one line what of it would not come out as the release says. A service whose
    own part is the same restarts where Compose would make another container of it: a variable or
    an anchor of a shared file changed.
    """
    names = []
    for part in target.parts:
        for stack in (each for each in part.resources if isinstance(each, Stack)):
            names += list(_checked(machine, stack, part, target, start))
    return tuple(names)


def _checked(
    machine: Machine, stack: Stack, part: Part, target: Release, start: Release
) -> Iterator[str]:
    try:
        _lay_out(machine, part)
        below = machine.disk.real(BELOW)
        said = compose.answer(machine, stack, below=below)
    finally:
        machine.disk.rmtree(BELOW)
    now = _now(machine, stack, start)
    driver = str(docker.info(machine.disk).get("LoggingDriver", ""))
    files = {each.path for each in part.resources if isinstance(each, File)}
    for owner in target.parts:
        for service in (each for each in owner.resources if isinstance(each, Service)):
            if service.project != stack.project:
                continue
            found = said.services.get(service.service)
            problem = _problem(service, found, driver, files) or _taken(machine, service, found)
            if problem is not None:
                raise DockerError(f"{container_name(service.project, service.service)}: {problem}")
            before = now.services.get(service.service)
            same = start.part(owner.name) == owner
            if same and before and found and _differ(before, found):
                yield owner.name


def _differ(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    return compose.launched_as(before) != compose.launched_as(after)


def _lay_out(machine: Machine, part: Part) -> None:
    """Write the part's files below the scratch folder, readable by root alone."""
    machine.disk.rmtree(BELOW)
    for file in (each for each in part.resources if isinstance(each, File)):
        path = BELOW + file.path
        machine.disk.mkdirs(os.path.dirname(path), 0o700)
        machine.disk.write(path, machine.blobs.read(file.blob), 0o600, *machine.disk.me())


def _now(machine: Machine, stack: Stack, start: Release) -> Answer:
    """Ask about the files that lie there now, where the release before has this project, too."""
    held = (each for part in start.parts for each in part.resources if isinstance(each, Stack))
    old = next((each for each in held if each.project == stack.project), None)
    if old is None or compose.recorded(machine.disk, stack.project) != old:
        return Answer({})
    try:
        return compose.answer(machine, old)
    except DockerError:
        return Answer({})  # what lies there was broken since: drift says so, and is written anew


def _problem(
    service: Service, found: Optional[Mapping[str, Any]], driver: str, files: Set[str]
) -> Optional[str]:
    """Say what Compose would do otherwise than the release says."""
    if found is None:
        return "Compose knows no such service here; look at the file list and at profiles"
    if found.get("image") not in (service.pin.name(), service.pin.ref):
        return f"Compose would run image {found.get('image')}, and {service.pin.name()} is pinned"
    logging = (found.get("logging") or {}).get("driver") or driver
    if logging not in READABLE:
        return (
            f"log driver {logging} cannot be read back, so nothing could be judged; "
            f"use one of {', '.join(READABLE)}"
        )
    replicas = (found.get("deploy") or {}).get("replicas", found.get("scale") or 1)
    if int(replicas) != 1:
        return f"it wants {replicas} containers; one container is one launch: write more services"
    labelled = FILES_LABEL in (found.get("labels") or {})
    bare = [] if labelled else list(_mounted(found, files))
    if bare:
        return f"it mounts {bare[0]}, which headway took for none of its own; write it in used_by"
    return None


def _mounted(found: Mapping[str, Any], files: Set[str]) -> Iterator[str]:
    """Name the release's files that a service mounts, alone or within a folder."""
    for volume in found.get("volumes") or ():
        source = str(volume.get("source", ""))
        if volume.get("type") == "bind":
            yield from (path for path in files if (path + "/").startswith(source + "/"))


def _taken(machine: Machine, service: Service, found: Optional[Mapping[str, Any]]) -> Optional[str]:
    """Say whose container has the name that this one will want."""
    name = (found or {}).get("container_name") or f"{service.project}-{service.service}-1"
    seen = docker.container(machine.disk, str(name))
    if seen is None or (seen.project, seen.service) == (service.project, service.service):
        return None
    whose = f"service {seen.service} of project {seen.project}" if seen.project else "no project"
    return f"the name {name} is taken by container {seen.id[:12]} of {whose}; `docker rm` it first"
