"""Compose on this host: what it is given, and what it answers about that.

It is given exactly what the release says: the file list in order, one env file or none, the
profiles, and nothing of anybody's shell (`COMPOSE_FILE`, `COMPOSE_PROFILES` and a variable of the
operator's each change what an unchanged file means).
"""

import json
from dataclasses import dataclass, replace
from threading import Thread
from typing import Any, Dict, List, Mapping, Optional, Tuple

from headway.runner.containers.docker import DockerError, last_line
from headway.runner.disk import Disk
from headway.runner.machine import Machine
from headway.runner.quick import signature
from headway.wire.loader import WireError, dumps, loads
from headway.wire.marks import ROOT
from headway.wire.resources import Stack
from headway.wire.tools import Ran

FOLDER = ROOT + "/stacks"
CONFIG_S = 60
UP_S = 300
_CLEAN = (
    "env",
    "-i",
    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME=/root",
)
_NOT_OF_A_LAUNCH = ("build", "depends_on", "profiles", "pull_policy", "scale", "develop")
"""What Compose leaves out of a config hash (pkg/compose/hash.go): it recreates nothing."""


class ComposeError(DockerError):
    """Compose refused what it was given: its own words."""


@dataclass(frozen=True)
class Answer:
    """Compose's answer to `config`: each service as it would be made, by name."""

    services: Mapping[str, Mapping[str, Any]]


def path(project: str) -> str:
    """Say where what Compose is given for a project is recorded."""
    return f"{FOLDER}/{project}.json"


def recorded(disk: Disk, project: str) -> Optional[Stack]:
    """Read what Compose was last given for a project; None where headway never wrote one."""
    data = disk.read(path(project))
    try:
        return loads(Stack, data) if data else None
    except WireError:
        return None


def projects(disk: Disk) -> Tuple[str, ...]:
    """Name the projects that are recorded here."""
    names = disk.names(FOLDER)
    return tuple(name[: -len(".json")] for name in names if name.endswith(".json"))


def record_text(stack: Stack) -> bytes:
    """Word the record of a stack."""
    return dumps(stack).encode() + b"\n"


def argv(stack: Stack, *words: str, below: str = "") -> List[str]:
    """Word a call of Compose; its files lie `below` another folder where they are only staged."""
    files = [word for file in stack.files for word in ("--file", below + file)]
    profiles = [word for name in stack.profiles for word in ("--profile", name)]
    env_file = below + stack.env_file if stack.env_file else "/dev/null"
    return [
        *_CLEAN,
        *("docker", "compose", "--project-name", stack.project),
        *("--project-directory", below + stack.directory, "--env-file", env_file),
        *files,
        *profiles,
        *words,
    ]


def answer(machine: Machine, stack: Stack, *, below: str = "") -> Answer:
    """Ask Compose what it makes of its files; ComposeError with its own words when it refuses."""
    ran = machine.run(argv(stack, "config", "--format", "json", below=below), deadline_s=CONFIG_S)
    if ran.code != 0:
        why = "no answer" if ran.code is None else last_line(ran)
        raise ComposeError(f"Compose would not take {stack.project}: {why.replace(below, '')}")
    text = ran.stdout.decode(errors="replace")
    found = json.loads(text.replace(below, "") if below else text)
    return Answer(found.get("services") or {})


def launched_as(service: Mapping[str, Any]) -> bytes:
    """Give what of a service decides its container; two equal ones are one container to Compose."""
    kept = {key: value for key, value in service.items() if key not in _NOT_OF_A_LAUNCH}
    deploy = dict(kept.get("deploy") or {})
    deploy.pop("replicas", None)
    if "deploy" in kept:
        kept["deploy"] = deploy
    return json.dumps(kept, sort_keys=True).encode()


_HASHES: Dict[Tuple[Any, ...], Dict[str, str]] = {}
_AHEAD: Dict[Tuple[Any, ...], "_Asked"] = {}


class _Asked:
    """A question that Compose answers while something else is looked at."""

    def __init__(self, machine: Machine, stack: Stack) -> None:
        self._ran: Optional[Ran] = None
        self._thread = Thread(target=self._ask, args=(machine, stack), daemon=True)
        self._thread.start()

    def _ask(self, machine: Machine, stack: Stack) -> None:
        self._ran = _hashed(machine, stack)

    def heard(self) -> Optional[Ran]:
        """Wait for the answer; None where it could not be asked."""
        self._thread.join()
        return self._ran


def ask_ahead(machine: Machine, stack: Stack) -> None:
    """Have Compose begin with its hashes: what wants them soon finds them there.

    What is recorded for the project has to be this very stack: else nobody will want them.
    """
    key = _as_they_are(machine, stack)
    known = key in _HASHES or key in _AHEAD
    if not known and recorded(machine.disk, stack.project) == stack:
        _AHEAD[key] = _Asked(machine, stack)


def hashes(machine: Machine, stack: Stack) -> Dict[str, str]:
    """Ask Compose for the config hash of each service; once, as long as its files are as they were.

    A container whose label says another one would be recreated by the next `up`.
    """
    key = _as_they_are(machine, stack)
    if key not in _HASHES:
        ran = (_AHEAD.pop(key, None) or _Asked(machine, stack)).heard()
        if ran is None or ran.code != 0:
            why = "no answer" if ran is None or ran.code is None else last_line(ran)
            raise ComposeError(f"Compose would not take {stack.project}: {why}")
        rows = (row.split() for row in ran.stdout.decode().splitlines())
        _HASHES.clear()
        _HASHES[key] = {row[0]: row[1] for row in rows if len(row) > 1}
    return _HASHES[key]


def _hashed(machine: Machine, stack: Stack) -> Ran:
    """Have Compose hash the services as `up` does.

    Of a service with an env_file, `up` hashes the variables in it and `config --hash` (2.26) the
    file's name: it is asked about its own answer then, in which they stand.
    """
    words = ("config", "--hash", "*")
    if not any(b"env_file" in (machine.disk.read(file) or b"") for file in stack.files):
        return machine.run(argv(stack, *words), deadline_s=CONFIG_S)
    whole = machine.run(argv(stack, "config"), deadline_s=CONFIG_S)
    if whole.code != 0:
        return whole
    resolved = replace(stack, files=("-",), env_file=None)
    return machine.run(argv(resolved, *words), stdin=whole.stdout, deadline_s=CONFIG_S)


def _as_they_are(machine: Machine, stack: Stack) -> Tuple[Any, ...]:
    files = (*stack.files, *stack.reads, *([stack.env_file] if stack.env_file else []))
    return (stack, machine.disk.root, *(signature(machine.disk.real(file)) for file in files))


def make(machine: Machine, stack: Stack, service: str) -> None:
    """Make the container of one service, not started; one that fits already stays.

    Nothing is pulled, built, or brought up beside it.
    """
    words = ("up", "--no-start", "--no-deps", "--pull", "never", "--no-build", service)
    ran = machine.run(argv(stack, *words), deadline_s=UP_S)
    if ran.code is None:
        raise ComposeError(f"Compose did not make {stack.project}/{service} within {UP_S} s")
    if ran.code != 0:
        raise ComposeError(f"Compose did not make {stack.project}/{service}: {last_line(ran)}")
