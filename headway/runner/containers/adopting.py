"""A Compose project that runs without headway, as parts of a release: what of it can be held.

Docker's labels say which files Compose was given. An image is held by its id, whatever its tag is
by now. What was in somebody's shell when it was brought up is nowhere: where Compose would make
another container of these files than the one that runs, that is said.
"""

import os
from typing import Dict, Iterable, Iterator, List, Mapping, Optional, Tuple

from headway.runner.adoption import file_of, options, stamp
from headway.runner.changes import ADOPTED_ROLE
from headway.runner.containers import compose, docker, record
from headway.runner.containers.docker import Container, DockerError
from headway.runner.containers.record import Made
from headway.runner.machine import Machine
from headway.runner.resources import ResourceError
from headway.wire.release import Part, Release, SubjectSpec
from headway.wire.resources import File, Image, Pin, Service, Stack, container_name

_FILES = "com.docker.compose.project.config_files"
_FOLDER = "com.docker.compose.project.working_dir"
_ENV_FILE = "com.docker.compose.project.environment_file"
_ANY_PROFILE = ("*",)  # no label says which ones were on
_LARGEST = 256 * 1024  # bytes of a mounted file; a larger one is weights, not settings
_MOST_FILES = 64  # in a mounted folder of settings


def unmanaged(machine: Machine, release: Release, mine: Iterable[str]) -> Dict[str, str]:
    """Name the services of a release that run here without headway, with the part of each."""
    known = set(mine)
    found: Dict[str, str] = {}
    for part in release.parts:
        for each in (res for res in part.resources if isinstance(res, Service)):
            name = container_name(each.project, each.service)
            if name not in known and docker.containers(machine.disk, each.project, each.service):
                found[name] = part.name
    return found


def parts_of(
    machine: Machine, names: Iterable[str], parts: Mapping[str, str]
) -> Tuple[Tuple[Part, ...], Tuple[str, ...]]:
    """Hold these services and what Compose was given for them; name what cannot be held.

    `parts` says which part a service is; without it that is PROJECT.SERVICE. Notes in headway's
    own record which containers these are, and touches nothing else.
    """
    made: List[Part] = []
    unheld: List[str] = []
    projects: Dict[str, List[str]] = {}
    for name in names:
        projects.setdefault(name.partition("/")[0], []).append(name)
    for project, services in projects.items():
        try:
            held, rest = _project(machine, project, services, parts)
        except (DockerError, ResourceError) as error:
            unheld.extend(f"{name}: {error}" for name in services)
            continue
        made.extend(held)
        unheld.extend(rest)
    return tuple(made), tuple(unheld)


def _project(
    machine: Machine, project: str, names: List[str], parts: Mapping[str, str]
) -> Tuple[List[Part], List[str]]:
    seen = {name: _container(machine, name) for name in names}
    there = {name: one for name, one in seen.items() if one is not None}
    if not there:
        return [], []
    labels = next(iter(there.values())).labels
    files, unheld = _files(machine, labels, there.values())
    folder = labels.get(_FOLDER, "/")
    env_file = _env_file(machine, labels)
    given = tuple(path for path in labels.get(_FILES, "").split(",") if path)
    owns = tuple(one.service for one in there.values())
    reads = tuple(path for path in files if path not in given and path != env_file)
    stack = Stack(project, folder, given, owns, env_file, _ANY_PROFILE, reads)
    machine.disk.mkdirs(compose.FOLDER, 0o700)
    text = compose.record_text(stack)
    machine.disk.write(compose.path(project), text, 0o600, *machine.disk.me())
    first = parts.get(next(iter(there))) or f"{project}."
    held = [Part(first.rpartition(".")[0] or project, ADOPTED_ROLE, (*files.values(), stack))]
    for name, one in there.items():
        record.write(machine.disk, name, Made(one.id, one.policy))
        held.append(_part(machine, one, parts.get(name) or f"{project}.{one.service}"))
        if compose.hashes(machine, stack).get(one.service) != one.config_hash:
            unheld.append(f"{name}: Compose would make another container of its files by now")
    return held, unheld


def _container(machine: Machine, name: str) -> Optional[Container]:
    project, _, service = name.partition("/")
    found = docker.containers(machine.disk, project, service)
    if len(found) > 1:
        raise DockerError(f"{len(found)} containers of one service; one container is one launch")
    return found[0] if found else None


def _part(machine: Machine, one: Container, name: str) -> Part:
    pin = Pin(docker.named(machine.disk, one.id), image_id=one.image)
    return Part(
        name,
        ADOPTED_ROLE,
        (Image(pin), Service(one.project, one.service, pin)),
        options(one.argv),
        (),
        SubjectSpec(container_name(one.project, one.service)),
    )


def _files(
    machine: Machine, labels: Mapping[str, str], containers: Iterable[Container]
) -> Tuple[Dict[str, File], List[str]]:
    """Hold the files Compose was given and the settings that containers mount; name the rest."""
    paths = [path for path in labels.get(_FILES, "").split(",") if path]
    env_file = _env_file(machine, labels)
    held = {path: file_of(machine, path) for path in [*paths, *([env_file] if env_file else [])]}
    unheld: List[str] = []
    for one in containers:
        for source in docker.bound(machine.disk, one.id):
            settings = _settings(machine, source)
            if settings is None:
                unheld.append(stamp(machine, source))
            for path in settings or ():
                held.setdefault(path, file_of(machine, path))
    return held, list(dict.fromkeys(unheld))


def _env_file(machine: Machine, labels: Mapping[str, str]) -> Optional[str]:
    """Say which file gave variables: the one that was named, else `.env` beside the project."""
    named = labels.get(_ENV_FILE, "")
    path = named or labels.get(_FOLDER, "") + "/.env"
    seen = machine.disk.seen(path)
    return path if seen is not None and seen.kind == "file" else None


def _settings(machine: Machine, source: str) -> Optional[Tuple[str, ...]]:
    """Name the files of a mount that is settings; None where it is weights, or no file at all."""
    seen = machine.disk.seen(source)
    if seen is None or seen.kind not in ("file", "dir"):
        return ()
    if seen.kind == "file":
        return (source,) if seen.size <= _LARGEST else None
    found = list(_below(machine, source))
    if len(found) > _MOST_FILES or any(size > _LARGEST for _, size in found):
        return None
    return tuple(path for path, _ in found)


def _below(machine: Machine, folder: str) -> Iterator[Tuple[str, int]]:
    """Give the files of a folder with their sizes, one more than is ever held at most."""
    left = _MOST_FILES + 1
    for place, _, names in os.walk(machine.disk.real(folder)):
        for name in sorted(names):
            path = folder + place[len(machine.disk.real(folder)) :] + "/" + name
            seen = machine.disk.seen(path)
            if seen is not None and seen.kind == "file" and left > 0:
                left -= 1
                yield path, seen.size
