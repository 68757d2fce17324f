"""A Docker that is none, and a Compose that is none: a double behind the socket and the commands.

Looks come through a real Unix socket below the root, as the runner asks for them; changes come
as the words of `docker` and `docker compose`. Compose's files are JSON here (JSON is YAML, too),
merged service by service, with `${NAME}` from the env file. What Docker keeps, it keeps over a
power cut: it is another program's disk.
"""

import contextlib
import hashlib
import json
import re
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from headway.runner.disk import Disk
from headway.wire.tools import Ran

PROJECT, SERVICE = "com.docker.compose.project", "com.docker.compose.service"
HASH = "com.docker.compose.config-hash"
NEVER = "0001-01-01T00:00:00Z"
Body = bytes | list[Any] | dict[str, Any]


class DockerDouble:
    """Images by name and containers by id, served at /run/docker.sock of a disk's root."""

    def __init__(self, disk: Disk, other: Callable[..., Ran] | None = None) -> None:
        """Serve; `other` carries out what is no docker command."""
        self.disk = disk
        self.other = other
        self.images: dict[str, str] = {}  # tag, NAME@DIGEST or id: the id
        self.registry: dict[str, str] = {}  # what can be pulled
        self.containers: dict[str, dict[str, Any]] = {}
        self.events: list[dict[str, Any]] = []
        self.logs: dict[str, bytes] = {}
        self.info: dict[str, Any] = {
            "LoggingDriver": "json-file",
            "OSType": "linux",
            "Architecture": "x86_64",
            "SystemTime": "2026-01-01T00:00:00Z",
        }
        self.calls: list[str] = []
        self.on_change: Callable[[], object] = lambda: None  # after a command changed something
        self.asked: list[str] = []
        self.made = 0
        self.refuses: dict[str, str] = {}  # a docker verb: what it says instead of doing it
        self.refuses_once: dict[str, str] = {}  # whole words: what it says the first time
        self.answers: dict[str, tuple[int, bytes]] = {}  # a path: what comes back instead
        self._listener: socket.socket | None = None
        self.serve()

    # -- the socket

    def serve(self) -> None:
        """Listen at the socket, anew after a boot."""
        self.close()
        path = Path(self.disk.real("/run/docker.sock"))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(str(path))
        listener.listen(16)
        self._listener = listener
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def close(self) -> None:
        """Stop listening."""
        if self._listener is not None:
            with contextlib.suppress(OSError):
                self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
            self._listener = None

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                words = connection.recv(1 << 16).split()
                status, body = self._get(words[1].decode())
                data = body if isinstance(body, bytes) else json.dumps(body).encode()
                connection.sendall(f"HTTP/1.0 {status} X\r\n\r\n".encode() + data)

    def _get(self, path: str) -> tuple[int, Body]:
        self.asked.append(path)
        for begins, answer in self.answers.items():
            if path.startswith(begins):
                return answer
        split = urlsplit(path)
        words = [unquote(word) for word in split.path.strip("/").split("/")]
        query = {name: values[0] for name, values in parse_qs(split.query).items()}
        found: Body | None
        if words == ["info"]:
            found = self.info
        elif words == ["events"]:
            [wanted] = json.loads(query["filters"])["container"]
            mine = (row for row in self.events if row["id"] == wanted)
            found = b"".join(json.dumps(row).encode() + b"\n" for row in mine)
        elif words == ["containers", "json"]:
            found = self._list(query)
        elif words[0] == "containers" and words[-1] == "logs":
            found = self.logs.get(words[1], b"")
        elif words[0] == "containers":
            found = self._find(words[1])
        else:
            image = self.images.get("/".join(words[1:-1]))
            found = None if image is None else self._image(image)
        return (404, {"message": "No such thing"}) if found is None else (200, found)

    def _list(self, query: Mapping[str, str]) -> list[dict[str, Any]]:
        wanted = dict(
            row.split("=", 1) for row in json.loads(query.get("filters", "{}")).get("label", ())
        )
        every = query.get("all") == "true"
        rows = []
        for one in self.containers.values():
            labels = one["Config"]["Labels"]
            if (every or one["State"]["Running"]) and wanted.items() <= labels.items():
                networks = one["NetworkSettings"]
                rows.append({"Id": one["Id"], "Labels": labels, "NetworkSettings": networks})
        return rows

    def _find(self, name: str) -> dict[str, Any] | None:
        return next(
            (one for one in self.containers.values() if name in (one["Id"], one["Name"][1:])), None
        )

    def _image(self, image: str) -> dict[str, Any]:
        names = [name for name, found in self.images.items() if found == image and name != image]
        return {
            "Id": image,
            "RepoTags": [name for name in names if "@" not in name],
            "RepoDigests": [name for name in names if "@" in name],
            "Os": "linux",
            "Architecture": "arm64" if "arm" in image else "amd64",
            "Size": 1,
        }

    # -- commands

    def __call__(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        env: dict[str, str] | None = None,
        deadline_s: int = 60,
    ) -> Ran:
        """Carry out the words of docker and Compose; anything else is somebody else's."""
        words = list(argv)
        if "docker" not in words:
            if self.other is not None:
                return self.other(argv, stdin=stdin, env=env, deadline_s=deadline_s)
            return Ran(tuple(argv), 0, b"", b"", 0)
        words = words[words.index("docker") + 1 :]
        self.calls.append(" ".join(words))
        try:
            out = self._compose(words[1:]) if words[0] == "compose" else self._docker(words)
        except _RefusedError as error:
            return Ran(tuple(argv), 1, b"", f"Error response from daemon: {error}\n".encode(), 0)
        if "config" not in words:
            self.on_change()
        return Ran(tuple(argv), 0, out.encode(), b"", 0)

    def _docker(self, words: list[str]) -> str:
        verb, *rest = words
        if " ".join(words) in self.refuses_once:
            raise _RefusedError(self.refuses_once.pop(" ".join(words)))
        if verb in self.refuses:
            raise _RefusedError(self.refuses[verb])
        if verb in ("tag", "pull"):
            getattr(self, verb)(*[word for word in rest if not word.startswith("-")][-2:])
            return ""
        one = self._find(rest[-1])
        if one is None:
            raise _RefusedError(f"No such container: {rest[-1]}")
        if verb == "update":
            policy = rest[0].partition("=")[2]
            name, _, most = policy.partition(":")
            one["HostConfig"]["RestartPolicy"] = {"Name": name, "MaximumRetryCount": int(most or 0)}
        elif verb == "rm":
            del self.containers[one["Id"]]
        elif verb == "start":
            self.start(one)
        else:
            self._happens(one, verb)
            self.ends(one, 143 if verb == "stop" else 137)
            one["stopped"] = True
        return ""

    def tag(self, image: str, name: str) -> None:
        """Have a name lead to an image."""
        if image not in self.images:
            raise _RefusedError(f"No such image: {image}")
        self.images[name] = self.images[image]

    def pull(self, *names: str) -> None:
        """Bring an image from the registry."""
        if names[-1] not in self.registry:
            raise _RefusedError("manifest unknown: manifest unknown")
        self.holds(names[-1], self.registry[names[-1]])

    def holds(self, name: str, image: str) -> None:
        """Have an image here under a name."""
        self.images.update({name: image, image: image})

    # -- containers

    def start(self, one: dict[str, Any]) -> None:
        """Start a container that does not run."""
        if not one["State"]["Running"]:
            self.made += 1
            at = f"2026-01-01T00:00:{self.made % 60:02}.{self.made:09}Z"
            one["State"].update(Status="running", Running=True, Pid=self.made, StartedAt=at)
            one["stopped"] = False
            self._happens(one, "start")

    def ends(self, one: dict[str, Any], code: int) -> None:
        """Have its process end."""
        if one["State"]["Running"]:
            one["State"].update(Status="exited", Running=False, Pid=0, ExitCode=code)
            self._happens(one, "die")

    def add(self, project: str, service: str, image: str, **own: str) -> dict[str, Any]:
        """Make a container, not started; `own` are its hash, name, policy and log driver."""
        self.made += 1
        made = hashlib.sha256(str(self.made).encode()).hexdigest()
        labels = {
            PROJECT: project,
            SERVICE: service,
            HASH: own.get("hash", ""),
            "com.docker.compose.oneoff": "False",
        }
        one = {
            "Id": made,
            "Name": "/" + own.get("name", f"{project}-{service}-1"),
            "Image": self.images.get(image, image),
            "Path": "/serve",
            "Args": [],
            "RestartCount": 0,
            "State": {"Status": "created", "Running": False, "Pid": 0, "StartedAt": NEVER},
            "Config": {"Labels": labels, "Env": [], "Image": image},
            "HostConfig": {
                "RestartPolicy": {"Name": own.get("policy", "no"), "MaximumRetryCount": 0},
                "LogConfig": {"Type": own.get("driver", "json-file"), "Config": {}},
            },
            "NetworkSettings": {"Networks": {}},
            "stopped": False,
        }
        self.containers[made] = one
        return one

    def one(self, project: str, service: str) -> dict[str, Any]:
        """Give the one container of a service."""
        [found] = self._list_of(project, service)
        return found

    def policy(self, project: str, service: str) -> str:
        """Name the restart policy of a service's one container."""
        return str(self.one(project, service)["HostConfig"]["RestartPolicy"]["Name"])

    def boot(self) -> None:
        """Come up after a power cut: what a policy says starts, unless somebody had stopped it."""
        self.serve()
        for one in self.containers.values():
            started = one["State"]["StartedAt"] != NEVER
            one["State"].update(Status="exited" if started else "created", Running=False, Pid=0)
        self.events.clear()
        for one in self.containers.values():
            policy = one["HostConfig"]["RestartPolicy"]["Name"]
            if policy == "always" or (policy == "unless-stopped" and not one["stopped"]):
                self.start(one)

    def _happens(self, one: Mapping[str, Any], what: str) -> None:
        self.events.append({"Action": what, "id": one["Id"]})

    # -- Compose

    def _compose(self, words: list[str]) -> str:
        if "compose" in self.refuses:
            raise _RefusedError(self.refuses["compose"])
        project = words[words.index("--project-name") + 1]
        services = self._services(words)
        if "--hash" in words:
            return "".join(f"{name} {_hash(one)}\n" for name, one in services.items())
        if "config" in words:
            return json.dumps({"services": services})
        service = words[-1]
        if service not in services:
            raise _RefusedError(f"no such service: {service}")
        self._up(project, service, services[service])
        return ""

    def _services(self, words: list[str]) -> dict[str, dict[str, Any]]:
        rows = self._text(words[words.index("--env-file") + 1]).splitlines()
        variables = dict(row.split("=", 1) for row in rows if "=" in row)
        merged: dict[str, dict[str, Any]] = {}
        for at, word in enumerate(words):
            if word != "--file":
                continue
            text = re.sub(r"\$\{(\w+)\}", lambda m: variables[m[1]], self._text(words[at + 1]))
            try:
                found = json.loads(text)["services"]
            except ValueError:
                raise _RefusedError(f"yaml: {words[at + 1]}: no YAML") from None
            for name, own in found.items():
                merged[name] = {**merged.get(name, {}), **own}
        return merged

    def _text(self, path: str) -> str:
        if path == "/dev/null":
            return ""
        real = path if path.startswith(self.disk.root) else self.disk.real(path)
        try:
            return Path(real).read_text()
        except FileNotFoundError:
            raise _RefusedError(f"open {path}: no such file or directory") from None

    def _up(self, project: str, service: str, wanted: Mapping[str, Any]) -> None:
        image = self.images.get(wanted["image"])
        if image is None:
            raise _RefusedError(f"No such image: {wanted['image']}")
        for one in self._list_of(project, service):
            same = (one["Config"]["Labels"][HASH], one["Image"]) == (_hash(wanted), image)
            if same:
                return
            del self.containers[one["Id"]]
        policy = wanted.get("restart", "no")
        self.add(project, service, wanted["image"], hash=_hash(wanted), policy=policy)

    def _list_of(self, project: str, service: str) -> list[dict[str, Any]]:
        wanted = {PROJECT: project, SERVICE: service}.items()
        return [
            one for one in self.containers.values() if wanted <= one["Config"]["Labels"].items()
        ]


class _RefusedError(Exception):
    """What Docker or Compose would say on stderr."""


def _hash(service: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(service, sort_keys=True).encode()).hexdigest()
