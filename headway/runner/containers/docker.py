"""Docker on this host: looks go through its socket (a few ms), changes through its program.

Nothing here waits without an end: a wedged card hangs `docker kill` for ever
(NVIDIA/nvidia-docker#1553).
"""

import json
import time
from dataclasses import dataclass, field
from typing import Any, Dict, Optional, Sequence, Tuple

from headway.runner import plain_http
from headway.runner.disk import Disk
from headway.runner.plain_http import SilentError
from headway.runner.supervisor_error import SupervisorError
from headway.wire.tools import Ran, Run

SOCKET = "/run/docker.sock"
LOOK_S = 10
_LARGEST = 64 << 20  # bytes of an answer
_PROJECT = "com.docker.compose.project"
_SERVICE = "com.docker.compose.service"
_ONE_OFF = "com.docker.compose.oneoff"
_CONFIG_HASH = "com.docker.compose.config-hash"
_NOT_FOUND = 404
_OK = 200


class DockerError(SupervisorError):
    """Docker did not answer, or refused: one sentence."""


@dataclass(frozen=True)
class Container:
    """A container as `docker inspect` shows it. `image` is the id that runs, whatever a tag says.

    `policy` is as `docker update --restart=` takes it; `argv` is entrypoint and command;
    `started_at` is Docker's own text, which orders nothing and tells two launches apart.
    """

    id: str
    name: str
    project: str
    service: str
    image: str
    status: str
    pid: int = 0
    started_at: str = ""
    exit_code: int = 0
    oom_killed: bool = False
    error: str = ""
    restarts: int = 0
    policy: str = "no"
    config_hash: str = ""
    log_driver: str = ""
    argv: Tuple[str, ...] = ()
    env_names: Tuple[str, ...] = ()
    labels: Dict[str, str] = field(default_factory=dict, compare=False)

    def running(self) -> bool:
        """Say whether its process runs; Docker calls a container that waits for a restart so."""
        return self.status == "running" and self.pid > 0


@dataclass(frozen=True)
class ImageSeen:
    """An image on this host; `size` in bytes."""

    id: str
    digests: Tuple[str, ...]
    tags: Tuple[str, ...]
    platform: str
    size: int


def containers(disk: Disk, project: str, service: str = "") -> Tuple[Container, ...]:
    """Look at the containers of a project, or of one of its services; `run` ones are left out."""
    labels = [f"{_PROJECT}={project}", f"{_ONE_OFF}=False"]
    labels += [f"{_SERVICE}={service}"] if service else []
    asked = json.dumps({"label": labels}, separators=(",", ":"))
    rows = _get(disk, "/containers/json?all=true&filters=" + _quoted(asked)) or []
    seen = (container(disk, row["Id"]) for row in rows)
    return tuple(one for one in seen if one is not None)


def services(disk: Disk, project: str) -> Tuple[Tuple[str, str], ...]:
    """Name the containers of a project as (service, id), running or not; one question for all."""
    asked = json.dumps({"label": [f"{_PROJECT}={project}", f"{_ONE_OFF}=False"]})
    rows = _get(disk, "/containers/json?all=true&filters=" + _quoted(asked)) or ()
    return tuple(((row.get("Labels") or {}).get(_SERVICE, ""), row["Id"]) for row in rows)


def container(disk: Disk, name: str) -> Optional[Container]:
    """Look at one container by its id or name; None where there is none."""
    found = _get(disk, f"/containers/{_quoted(name)}/json")
    return None if found is None else _container(found)


def pid_at(disk: Disk, address: str) -> int:
    """Give the main process of the container that has an address on one of Docker's networks."""
    for row in _get(disk, "/containers/json") or ():
        networks = (row.get("NetworkSettings") or {}).get("Networks") or {}
        if address in {one.get("IPAddress") for one in networks.values()}:
            found = container(disk, row["Id"])
            return found.pid if found is not None else 0
    return 0


def with_cards(disk: Disk) -> Tuple[str, ...]:
    """Name the running containers that were given NVIDIA cards, whichever way."""
    found = []
    for row in _get(disk, "/containers/json") or ():
        whole = _get(disk, f"/containers/{_quoted(row['Id'])}/json") or {}
        host = whole.get("HostConfig") or {}
        devices = [one.get("PathOnHost", "") for one in host.get("Devices") or ()]
        asked = [one for one in host.get("DeviceRequests") or () if one.get("Driver") != "cdi"]
        if asked or host.get("Runtime") == "nvidia" or any("nvidia" in one for one in devices):
            found.append(str(whole["Name"]).lstrip("/"))
    return tuple(found)


def named(disk: Disk, name: str) -> str:
    """Say what a container's image was called when it was made: its Config.Image."""
    found = _get(disk, f"/containers/{_quoted(name)}/json") or {}
    return str((found.get("Config") or {}).get("Image", ""))


def bound(disk: Disk, name: str) -> Tuple[str, ...]:
    """Name the files and folders of the host that a container mounts."""
    found = _get(disk, f"/containers/{_quoted(name)}/json") or {}
    rows = found.get("Mounts") or ()
    return tuple(row["Source"] for row in rows if row.get("Type") == "bind")


def image(disk: Disk, name: str) -> Optional[ImageSeen]:
    """Look at an image by tag, NAME@DIGEST or id; None where this host has none."""
    found = _get(disk, f"/images/{_quoted(name)}/json")
    if found is None:
        return None
    platform = f"{found.get('Os', '')}/{found.get('Architecture', '')}"
    digests, tags = found.get("RepoDigests") or (), found.get("RepoTags") or ()
    return ImageSeen(
        found["Id"], tuple(digests), tuple(tags), platform, int(found.get("Size") or 0)
    )


def images(disk: Disk) -> Tuple[Dict[str, Any], ...]:
    """List the images of this host as Docker does: Id, RepoTags, RepoDigests, Size."""
    return tuple(_get(disk, "/images/json") or ())


def info(disk: Disk) -> Dict[str, Any]:
    """Read what Docker says of itself: its version, log driver, root folder, platform."""
    found: Dict[str, Any] = _get(disk, "/info") or {}
    return found


def events(disk: Disk, name: str) -> Tuple[Dict[str, Any], ...]:
    """Read the last events of a container that Docker still holds (256 of all, since it runs)."""
    asked = json.dumps({"container": [name], "type": ["container"]}, separators=(",", ":"))
    until = f"{time.time():.9f}"  # without an end Docker goes on telling
    status, body = _ask(disk, f"/events?since=0&until={until}&filters={_quoted(asked)}")
    if status != _OK:
        return ()
    return tuple(json.loads(line) for line in body.splitlines() if line.startswith(b"{"))


def logs(disk: Disk, name: str, since: str, limit: int) -> bytes:
    """Read a container's log since a time of Docker's, each line behind its own; `limit` bytes."""
    words = f"stdout=1&stderr=1&timestamps=1&since={seconds(since)}"
    status, body = _ask(disk, f"/containers/{_quoted(name)}/logs?{words}", limit)
    if status != _OK:
        raise DockerError(f"docker gives no log of {name[:12]}: {body.decode(errors='replace')}")
    return body


def log_settings(disk: Disk, name: str) -> Dict[str, str]:
    """Read the options of a container's log driver."""
    found = _get(disk, f"/containers/{_quoted(name)}/json") or {}
    settings: Dict[str, str] = found.get("HostConfig", {}).get("LogConfig", {}).get("Config") or {}
    return settings


def log_path(disk: Disk, name: str) -> str:
    """Say which file holds a container's log; "" where no file does."""
    found = _get(disk, f"/containers/{_quoted(name)}/json") or {}
    return disk.real(found["LogPath"]) if found.get("LogPath") else ""


def seconds(at: str) -> str:
    """Write Docker's time (RFC 3339, nanoseconds, UTC) as Unix seconds with a fraction."""
    import calendar

    whole, _, rest = at.rstrip("Z").partition(".")
    if "T" not in whole:
        return "0"
    return f"{calendar.timegm(time.strptime(whole, '%Y-%m-%dT%H:%M:%S'))}.{rest.ljust(9, '0')}"


def command(run: Run, words: Sequence[str], what: str, deadline_s: int = 60) -> Ran:
    """Run `docker WORDS` or raise DockerError: what failed, and Docker's own last line."""
    ran = run(["docker", *words], deadline_s=deadline_s)
    if ran.code is None:
        raise DockerError(f"{what}: docker did not answer within {deadline_s} s")
    if ran.code != 0:
        raise DockerError(f"{what}: {last_line(ran)}")
    return ran


def last_line(ran: Ran) -> str:
    """Give what a program said last, without Docker's own prefix."""
    said = (ran.stderr or ran.stdout).decode(errors="replace").strip().splitlines()
    text = said[-1].strip() if said else f"code {ran.code}"
    return text.replace("Error response from daemon: ", "", 1)


def _container(found: Dict[str, Any]) -> Container:
    state, config, host = found["State"], found["Config"], found["HostConfig"]
    labels = config.get("Labels") or {}
    return Container(
        id=found["Id"],
        name=found["Name"].lstrip("/"),
        project=labels.get(_PROJECT, ""),
        service=labels.get(_SERVICE, ""),
        image=found["Image"],
        status=state["Status"],
        pid=int(state.get("Pid") or 0),
        started_at=state.get("StartedAt") or "",
        exit_code=int(state.get("ExitCode") or 0),
        oom_killed=bool(state.get("OOMKilled")),
        error=state.get("Error") or "",
        restarts=int(found.get("RestartCount") or 0),
        policy=_policy(host.get("RestartPolicy") or {}),
        config_hash=labels.get(_CONFIG_HASH, ""),
        log_driver=(host.get("LogConfig") or {}).get("Type") or "",
        argv=(found.get("Path") or "", *(found.get("Args") or ())),
        env_names=tuple(row.partition("=")[0] for row in config.get("Env") or ()),
        labels=labels,
    )


def _policy(found: Dict[str, Any]) -> str:
    name, most = found.get("Name") or "no", int(found.get("MaximumRetryCount") or 0)
    return f"{name}:{most}" if name == "on-failure" and most else name


# --- the socket ---------------------------------------------------------------------------------


def _get(disk: Disk, path: str) -> Any:  # noqa: ANN401 # Docker's JSON
    """Ask for JSON; None where Docker knows no such thing."""
    status, body = _ask(disk, path)
    if status == _NOT_FOUND:
        return None
    try:
        found = json.loads(body)
    except ValueError:
        raise DockerError(f"docker answers {path.partition('?')[0]} with no JSON") from None
    if status != _OK:
        raise DockerError(f"docker answers {status}: {found.get('message', '')}")
    return found


def _ask(disk: Disk, path: str, limit: int = _LARGEST) -> Tuple[int, bytes]:
    """Send one request to Docker's socket; DockerError where nothing comes in time."""
    try:
        return plain_http.get(disk.real(SOCKET), path, LOOK_S, limit=limit)
    except SilentError as error:
        why = "does not answer" if str(error) == "late" else "is not running here"
        raise DockerError(f"docker {why} ({error}); see `systemctl status docker`") from None


def _quoted(text: str) -> str:
    from urllib.parse import quote  # a look at units alone does without

    return quote(text, safe="")
