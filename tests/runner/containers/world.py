"""A host with a Docker double beside the systemd double, and a project of one engine and a router.

A release of it is three parts, as the controller renders them: what Compose is given, and a part
for each service.
"""

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import rmtree

from headway.runner import resources
from headway.runner.machine import machine_of
from headway.runner.resources.image import keep_tag
from headway.runner.work import Question
from headway.wire.gate import Report
from headway.wire.release import Part, Release, SubjectSpec, release_of
from headway.wire.resources import File, Image, Pin, Service, Stack, container_name
from headway.wire.verdict import Fate, Verdict
from tests.runner.attempt import blob
from tests.runner.containers.docker_double import DockerDouble
from tests.runner.world import World

MEMORY = Path("/dev/shm")  # a walk lays a host anew some hundred times
PROJECT = "chat"
FOLDER = "/srv/chat"
SERVICES = ("engine", "router")
POLICY = "always"
STACK = Stack(
    PROJECT,
    FOLDER,
    (f"{FOLDER}/compose.yaml", f"{FOLDER}/pins.yaml"),
    SERVICES,
    f"{FOLDER}/stack.env",
)


def digest(image: str) -> str:
    """Give the digest of an image of these tests."""
    return "sha256:" + image.encode().hex().ljust(64, "0")


def pin(service: str, version: str) -> Pin:
    """Pin a service's image in a version."""
    return Pin(f"reg/{service}:{version}", digest(service + version))


class StackWorld(World):
    """The host; images v1 and v2 of both services are here."""

    def __init__(self, root: Path, tag: str = "t") -> None:
        """Serve Docker below the root."""
        super().__init__(root, tag)
        self.docker = DockerDouble(self.disk, self.systemd)
        self.docker.on_change = self.disk.step
        self.machine = machine_of(self.disk, self.docker)
        for service in SERVICES:
            for version in ("v1", "v2"):
                one = pin(service, version)
                self.docker.holds(one.name(), "sha256:" + (service + version).encode().hex())
                self.docker.tag(one.name(), keep_tag(one))

    def power_back(self) -> None:
        """Lose what was not synced, and boot: Docker too."""
        super().power_back()
        self.docker.boot()

    def release(self, engine: str = "v1", router: str = "v1", command: str = "") -> Release:
        """Describe the project with these versions; `command` is what files say of the engine."""
        versions = {"engine": engine, "router": router}
        plain = {name: {"image": f"reg/{name}", "restart": POLICY} for name in SERVICES}
        plain["engine"]["command"] = command or "${COMMAND}"
        pins = {name: {"image": pin(name, versions[name]).name()} for name in SERVICES}
        files = {
            "compose.yaml": json.dumps({"services": plain}),
            "pins.yaml": json.dumps({"services": pins}),
            "stack.env": "COMMAND=serve\n",
        }
        held = tuple(
            File(f"{FOLDER}/{name}", blob(self, text), 0o600) for name, text in files.items()
        )
        parts = [Part(PROJECT, "stack", (*held, STACK))]
        for name in SERVICES:
            one = pin(name, versions[name])
            spec = SubjectSpec(container_name(PROJECT, name))
            made = (Image(one), Service(PROJECT, name, one))
            parts.append(Part(f"{PROJECT}.{name}", "stack", made, subject=spec))
        return release_of(tuple(parts))

    def judge(self, question: Question) -> Report:
        """Judge in_place truly, and health by whether the container runs.

        An image of version `v2` is sick where the world says so in `verdicts`.
        """
        gate, part = question.gate, question.part
        self.on_judge()
        self.judged.append((gate.kind, part.name))
        verdict, why = Verdict.PASS, "as it should be"
        found = [resources.diff(each, self.machine, enabled=False) for each in part.resources]
        if gate.kind == "in_place":
            wrong = [sentence for sentence in found if sentence is not None]
            verdict, why = (Verdict.FAIL, wrong[0]) if wrong else (verdict, why)
        elif part.subject is not None:
            service = part.subject.unit.partition("/")[2]
            if not self.docker.one(PROJECT, service)["State"]["Running"]:
                verdict, why = Verdict.FAIL, f"{service} does not run"
        verdict = self.verdicts.get(f"{gate.kind} {part.name}", verdict)
        return Report(gate.name, gate.kind, part.name, verdict, Fate.SAME, None, None, (why,))

    def running(self) -> dict[str, str]:
        """Give the image of each service that runs."""
        found = {name: self.docker.one(PROJECT, name) for name in SERVICES}
        return {name: one["Image"] for name, one in found.items() if one["State"]["Running"]}

    def policies(self) -> dict[str, str]:
        """Give the restart policy of each service's container."""
        return {name: self.docker.policy(PROJECT, name) for name in SERVICES}


@contextmanager
def short_folder() -> Iterator[Path]:
    """Give a folder whose path is short enough for a socket's (108 bytes), and take it away."""
    folder = Path(tempfile.mkdtemp(prefix="hw", dir=MEMORY if MEMORY.is_dir() else None))
    try:
        yield folder
    finally:
        with suppress(OSError):
            rmtree(folder)
