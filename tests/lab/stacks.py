"""Lab hosts with Docker and Compose, a registry, and a project of two engines and a router.

    box, store = docked(lab, "box", "store")
    registry = Registry(store.host)
    registry.start()
    pinned = box.push("lab/engine:v1", registry.name("engine:v1"))    # sha256:...
    box.write("/srv/stack", project(engine=registry.name("engine:v1")))
    box.compose("/srv/stack", "up", "-d")
    box.container("stack", "router").started

What is looked at comes from docker inspect over plain ssh. Docker's folder is in memory and lasts
over a power cut.
"""

import json
import shlex
import shutil
import urllib.error
import urllib.request
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.lab.host import Host, HostSpec
from tests.lab.images import ARCHIVE, archive
from tests.lab.lab import Lab

# Registries speak plain HTTP here; Docker allows that where daemon.json says so.
DAEMON: Mapping[str, object] = {"insecure-registries": ["10.77.0.0/24"]}
PORT = 5000
USER, PASSWORD = "lab", "lab-registry"
_HTPASSWD = f"{USER}:$2b$04$YUdP0wqx3CcyirgqzSqqcuUK12M6ntA8RgETxvgPY8rF4eOCLq6DC\n"
_LOGIN = {"htpasswd": {"realm": "lab", "path": "/etc/docker/registry/htpasswd"}}
_WANTS = "/etc/systemd/system/multi-user.target.wants"
_AT_BOOT = ("haproxy.service", "docker-registry.service")  # Debian would start them at boot
_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
_INDEX = "application/vnd.docker.distribution.manifest.list.v2+json"


def docked(lab: Lab, *names: str, disk: str = "", fresh: bool = False) -> list["Docked"]:
    """Boot hosts with dockerd and Compose, all at once, and load the lab's images into them.

    A host that is there keeps what it has, unless `fresh` asks for one as new (the host's own
    `reset` would not do: it knows nothing of Docker's folder).

    `disk` are options of a tmpfs of its own for Docker's folder, `size=100m` or `nr_inodes=3k`:
    one that can be full. It is empty after a power cut.
    """
    folders = {name: lab.state / "hosts" / name / "docker" for name in names}
    specs = [_spec(name, folder, disk) for name, folder in folders.items()]
    for spec in specs:
        host = lab.disk(spec)
        if fresh:
            host.power_cut()
            host.unmake()
            shutil.rmtree(folders[spec.name], ignore_errors=True)
            host.make()
        folders[spec.name].mkdir(exist_ok=True)
        daemon = host.path("/etc/docker/daemon.json")
        daemon.parent.mkdir(exist_ok=True)
        daemon.write_text(json.dumps(DAEMON))
    made = [Docked(host) for host in lab.up(specs)]
    with ThreadPoolExecutor() as pool:
        list(pool.map(Docked.load, made))
    return made


def _spec(name: str, folder: Path, disk: str) -> HostSpec:
    docker = "/var/lib/docker"
    return HostSpec(
        name,
        "stacks",
        without=tuple(f"{_WANTS}/{unit}" for unit in _AT_BOOT),
        nspawn=(
            *("--capability=all", "--system-call-filter=add_key keyctl bpf", "--bind=/dev/fuse"),
            f"--tmpfs={docker}:{disk}" if disk else f"--bind={folder}:{docker}",
            f"--bind-ro={archive()}:/opt/images",
        ),
    )


@dataclass(frozen=True)
class Container:
    """A container as docker inspect shows it; `image` is the id, `named` what it was made from."""

    id: str
    running: bool
    started: str
    restarts: int
    image: str
    named: str
    policy: str
    pid: int
    labels: Mapping[str, str]


@dataclass(frozen=True)
class Docked:
    """A host with Docker, asked over plain ssh; a command that fails raises what it said."""

    host: Host

    def sh(self, command: str, *, stdin: str | None = None) -> str:
        """Run a line of shell."""
        done = self.host.ssh(command, stdin=stdin, timeout_s=120)
        assert done.returncode == 0, f"{command}: {done.stderr.strip() or done.stdout.strip()}"
        return done.stdout

    def docker(self, *words: str) -> str:
        """Run docker."""
        return self.sh(shlex.join(["docker", *words]))

    def load(self) -> None:
        """Make sure that the lab's images are there: lab/engine:v1, lab/router:v2, and so on.

        A host that just booted holds the question until dockerd answers.
        """
        self.docker("load", "--quiet", "--input", f"/opt/images/{ARCHIVE}")

    def compose(self, folder: str, *words: str) -> str:
        """Run Compose in a project's folder, as an operator does."""
        return self.sh(f"cd {shlex.quote(folder)} && {shlex.join(['docker', 'compose', *words])}")

    def write(self, folder: str, files: Mapping[str, str]) -> None:
        """Write the files of a project."""
        for name, text in files.items():
            path = self.host.path(f"{folder}/{name}")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def inspect(self, name: str) -> dict[str, Any]:
        """Give what docker inspect says of a container or an image."""
        [found] = json.loads(self.docker("inspect", name))
        return dict(found)

    def containers(self, project: str) -> dict[str, Container]:
        """Give the containers of a project by service, running or not."""
        mine = f"label=com.docker.compose.project={project}"
        ids = self.docker("ps", "--all", "--quiet", "--no-trunc", "--filter", mine).split()
        found = json.loads(self.docker("inspect", *ids)) if ids else []
        by_service = ((row["Config"]["Labels"]["com.docker.compose.service"], row) for row in found)
        return {service: _container(row) for service, row in by_service}

    def container(self, project: str, service: str) -> Container:
        """Give the one container of a service."""
        return self.containers(project)[service]

    def push(self, image: str, name: str) -> str:
        """Tag an image, push it, and give its digest."""
        self.docker("tag", image, name)
        said = self.docker("push", name)
        return next(word for word in said.split() if word.startswith("sha256:"))

    def remove_images(self, *names: str) -> None:
        """Take images or tags away by force; one that is not there is no fault."""
        self.docker("image", "rm", "--force", *names)


def _container(row: Mapping[str, Any]) -> Container:
    state = row["State"]
    return Container(
        id=row["Id"],
        running=state["Running"],
        started=state["StartedAt"],
        restarts=row["RestartCount"],
        image=row["Image"],
        named=row["Config"]["Image"],
        policy=row["HostConfig"]["RestartPolicy"]["Name"],
        pid=state["Pid"],
        labels=row["Config"]["Labels"],
    )


@dataclass(frozen=True)
class Registry:
    """Debian's docker-registry on a lab host; what was pushed lasts over stop and start."""

    host: Host

    @property
    def address(self) -> str:
        """The address and port, as they stand in an image's name."""
        return f"{self.host.address}:{PORT}"

    def name(self, image: str) -> str:
        """Give the full name of an image here: `engine:v1`, `engine@sha256:...`."""
        return f"{self.address}/{image}"

    def start(
        self, *, login: bool = False, auth: Mapping[str, Mapping[str, str]] | None = None
    ) -> None:
        """Start it, whether it ran or not; with `login` it asks everybody for USER and PASSWORD.

        `auth` is its own configuration of who may, another way.
        """
        folder = self.host.path("/etc/docker/registry")
        (folder / "htpasswd").write_text(_HTPASSWD)
        (folder / "config.yml").write_text(_config(auth or (_LOGIN if login else {})))
        self._do("systemctl restart docker-registry")
        self._do(
            f"curl -s --retry 100 --retry-delay 0 --retry-max-time 20 --retry-all-errors "
            f"-o /dev/null http://127.0.0.1:{PORT}/v2/"
        )

    def stop(self) -> None:
        """Stop it: connections are refused from now on."""
        self._do("systemctl stop docker-registry")

    def digest(self, image: str) -> str:
        """Give the digest that a tag points to now."""
        repo, _, tag = image.rpartition(":")
        return self._manifest(repo, tag).digest

    def point(self, repo: str, tag: str, digest: str) -> None:
        """Point a tag to another manifest that is here."""
        found = self._manifest(repo, digest)
        self._put(repo, tag, found.kind, found.data)

    def index(self, repo: str, tag: str, digests: Iterable[str]) -> str:
        """Make an index of manifests, one a platform, and point a tag to it; give its digest."""
        rows = []
        for digest in digests:
            found = self._manifest(repo, digest)
            blob = f"{repo}/blobs/{json.loads(found.data)['config']['digest']}"
            config = json.loads(self._ask("GET", blob)[1])
            rows.append(
                {
                    "mediaType": found.kind,
                    "size": len(found.data),
                    "digest": digest,
                    "platform": {key: config[key] for key in ("architecture", "os")},
                }
            )
        made = {"schemaVersion": 2, "mediaType": _INDEX, "manifests": rows}
        return self._put(repo, tag, _INDEX, json.dumps(made).encode())

    def delete(self, repo: str, digest: str) -> None:
        """Delete a manifest, and the tags that point to it."""
        self._ask("DELETE", f"{repo}/manifests/{digest}")

    def _manifest(self, repo: str, reference: str) -> "_Manifest":
        headers, data = self._ask("GET", f"{repo}/manifests/{reference}")
        return _Manifest(headers["Docker-Content-Digest"], headers["Content-Type"], data)

    def _put(self, repo: str, reference: str, kind: str, data: bytes) -> str:
        headers, _ = self._ask("PUT", f"{repo}/manifests/{reference}", kind, data)
        return headers["Docker-Content-Digest"]

    def _ask(
        self, method: str, path: str, kind: str = "", data: bytes | None = None
    ) -> tuple[Mapping[str, str], bytes]:
        headers = {"Accept": f"{_MANIFEST}, {_INDEX}"} | ({"Content-Type": kind} if kind else {})
        url = f"http://{self.address}/v2/{path}"
        request = urllib.request.Request(url, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310 - http
                return dict(answer.headers), answer.read()
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{method} {url}: {error.code} {error.reason}") from None

    def _do(self, command: str) -> None:
        done = self.host.ssh(command)
        assert done.returncode == 0, f"{command}: {done.stderr}"


def _config(auth: Mapping[str, Mapping[str, str]]) -> str:
    made: dict[str, object] = {
        "version": 0.1,
        "storage": {
            "filesystem": {"rootdirectory": "/var/lib/docker-registry"},
            "delete": {"enabled": True},
        },
        "http": {"addr": f":{PORT}"},
    }
    if auth:
        made["auth"] = auth
    return json.dumps(made)  # JSON is YAML, too


@dataclass(frozen=True)
class _Manifest:
    digest: str
    kind: str
    data: bytes


# -- a project

COMPOSE = """\
name: stack
x-engine: &engine
  image: ${ENGINE_IMAGE:-lab/engine:v1}
  network_mode: host
  init: true
  restart: unless-stopped
  stop_grace_period: 5s
  volumes: [/opt/models:/models:ro]
  logging: &logging {driver: journald}
services:
  engine-a:
    <<: *engine
    cpuset: "0"
    command: --model /models/copy.gguf --alias copy --ctx-size 2048 --parallel 1 --threads 1 --port 8001
  engine-b:
    <<: *engine
    cpuset: "1"
    command: --model /models/copy.gguf --alias copy --ctx-size 2048 --parallel 1 --threads 1 --port 8002
  router:
    image: ${ROUTER_IMAGE:-lab/router:v1}
    network_mode: host
    restart: unless-stopped
    stop_grace_period: 5s
    volumes: [./haproxy:/etc/haproxy:ro]
    logging: *logging
"""  # noqa: E501 - one line is how an operator writes a command
HAPROXY = """\
defaults
  mode http
  timeout connect 2s
  timeout client 60s
  timeout server 60s
frontend front
  bind :8080
  default_backend engines
backend engines
  option httpchk GET /health
  default-server check inter 200ms rise 1 fall 1
  server engine-a 127.0.0.1:8001
  server engine-b 127.0.0.1:8002
"""


def project(engine: str = "lab/engine:v1", router: str = "lab/router:v1") -> dict[str, str]:
    """Give the files of a project `stack`: engines on 8001 and 8002, HAProxy on 8080 before them.

    Images come from `.env`, which beats the file's own default.
    """
    return {
        "compose.yaml": COMPOSE,
        ".env": f"ENGINE_IMAGE={engine}\nROUTER_IMAGE={router}\n",
        "haproxy/haproxy.cfg": HAPROXY,
    }


def completes(box: Docked, prompt: str, port: int = 8080) -> str:
    """Ask for a completion, again and again until there is one, and give its text."""
    asked = json.dumps({"prompt": prompt, "max_tokens": 24, "temperature": 0})
    told = box.sh(
        "curl -sf --retry 100 --retry-delay 0 --retry-max-time 20 --retry-all-errors "
        f"http://127.0.0.1:{port}/v1/completions -d @-",
        stdin=asked,
    )
    return str(json.loads(told)["choices"][0]["text"])
