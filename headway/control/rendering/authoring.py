"""The kinds of resources a role.yaml is written in; rendering turns each into wire resources.

These dataclasses are the schema: `- template: {path: ..., source: ...}` has the fields of
Template. A source is a file of the role, of templates/ or systemd/, or of the fleet, in this order.
"""

from dataclasses import dataclass, field
from typing import Any

Sections = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Dir:
    """A directory with this mode, owner and group; what lies in it is not its own."""

    path: str
    mode: str = "0755"
    owner: str = "root"
    group: str = "root"


@dataclass(frozen=True)
class File:
    """A file as it lies in the fleet (`source`), or with this very text (`content`)."""

    path: str
    source: str = ""
    content: Any = None
    mode: str = "0644"
    owner: str = "root"
    group: str = "root"


@dataclass(frozen=True)
class Template:
    """A file rendered from a Jinja2 template."""

    path: str
    source: str
    mode: str = "0644"
    owner: str = "root"
    group: str = "root"


@dataclass(frozen=True)
class EnvFile:
    """An environment file for EnvironmentFile=; null leaves a variable out."""

    path: str
    values: dict[str, Any]
    mode: str = "0600"
    owner: str = "root"
    group: str = "root"


@dataclass(frozen=True)
class Exec:
    """A command line. `options` are written by name; `words` stand before them, one a line.

    With `dashes`, underscores in option names become dashes.
    """

    program: str = ""
    words: tuple[Any, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    dashes: bool = True


@dataclass(frozen=True)
class Unit:
    """A systemd unit, written from `sections` or from a `source` (a template if it ends in .j2).

    `exec` gives ExecStart=, and `exec_start` to the template. A drop-in is sections or a source.
    """

    name: str
    source: str = ""
    sections: Sections = field(default_factory=dict)
    exec: Exec = field(default_factory=Exec)
    dropins: dict[str, Any] = field(default_factory=dict)
    enabled: bool = True


@dataclass(frozen=True)
class Sysctl:
    """Kernel settings by their dotted keys."""

    values: dict[str, Any]


@dataclass(frozen=True)
class Package:
    """Distribution packages that are present, in whatever version."""

    names: tuple[str, ...]
    maintenance: bool = False


@dataclass(frozen=True)
class Venv:
    """A virtual environment: made from a `lock` with hashes, or `found` and known by fingerprint.

    Its folder is then the variable that `name` names, for whatever comes after it.
    """

    name: str = "venv"
    lock: str = ""
    wheels: tuple[str, ...] = ()
    patches: tuple[str, ...] = ()
    python: str = "python3"
    index_url: str = ""
    found: str = ""
    fingerprint: str = ""


@dataclass(frozen=True)
class Stack:
    """A Compose project that goes out as it is, and which of its services are headway's.

    `files`, in Compose's order, and what they read or mount (`mounts`: files and folders) lie below
    `folder` in the fleet and below `directory` on the host, under the same names; one that ends in
    .j2 is rendered first. Variables for interpolation are `env`, or `env_file`, and nobody's shell.

    `owns` says of each service that is headway's on which ports it `listens`; gates that name it
    may use the other keys as `owned.KEY`. `used_by` names the services that read one of `mounts`
    where their Compose files do not show it.
    """

    project: str
    files: tuple[str, ...]
    owns: dict[str, dict[str, Any]]
    folder: str = ""
    directory: str = ""
    env: dict[str, Any] = field(default_factory=dict)
    env_file: str = ""
    profiles: tuple[str, ...] = ()
    mounts: tuple[str, ...] = ()
    used_by: dict[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Weights:
    """Weights: ORG/REPO@REVISION of a hub, URL#sha256=HEX, or a path known by its fingerprint.

    Where they are is then the variable that `name` names: the folder, or `file` in it. `files` are
    patterns (none: all of the repository). `token` is a secret; `max_mib_s` 0 is no limit.
    """

    name: str = "weights_path"
    source: str = ""
    files: tuple[str, ...] = ()
    file: str = ""
    fingerprint: str = ""
    endpoint: str = ""
    token: Any = None
    max_mib_s: int = 0
    deadline_s: int = 6 * 3600


Kind = type[Dir | File | Template | EnvFile | Unit | Sysctl | Package | Venv | Weights | Stack]
KINDS: tuple[Kind, ...] = (
    *(Dir, File, Template, EnvFile, Unit, Sysctl, Package, Venv, Weights, Stack),
)
