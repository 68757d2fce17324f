"""Resources as a release holds them: rendered, pinned, nothing left to decide.

*Switching* resources are changed only inside a transition and undone on the way back; *additive*
ones are brought about in stage and never undone. Modes are integers (0o644), sizes are bytes.
"""

from dataclasses import dataclass
from typing import Optional, Tuple, Union


@dataclass(frozen=True)
class Blob:
    """Bytes by content: the hash names them, `size` is in bytes; a secret is never shown."""

    sha256: str
    size: int
    secret: bool = False


@dataclass(frozen=True)
class File:
    """A regular file with exactly these bytes, mode, owner and group."""

    path: str
    blob: Blob
    mode: int = 0o644
    owner: str = "root"
    group: str = "root"


@dataclass(frozen=True)
class Dir:
    """A directory that exists with this mode, owner and group; what lies in it is not its own."""

    path: str
    mode: int = 0o755
    owner: str = "root"
    group: str = "root"


@dataclass(frozen=True)
class DropIn:
    """One `NAME.conf` beside a unit, in its `.d` folder."""

    name: str
    blob: Blob


@dataclass(frozen=True)
class Unit:
    """A systemd unit: its fragment, its drop-ins, whether it is enabled, and its Restart= policy.

    The fragment lies in /etc/systemd/system; `restart` repeats what the fragment says, for people
    and for status. A timer or target has no policy: "no".
    """

    name: str
    fragment: Blob
    enabled: bool = True
    restart: str = "no"
    dropins: Tuple[DropIn, ...] = ()


@dataclass(frozen=True)
class Sysctl:
    """A kernel setting, by its dotted key; it lasts over a reboot in /etc/sysctl.d."""

    key: str
    value: str


@dataclass(frozen=True)
class Package:
    """A Debian or RPM package that is present, in whatever version; never upgraded."""

    name: str
    maintenance: bool = False


@dataclass(frozen=True)
class LockedVenv:
    """A virtual environment made from a lock file with hashes, in an immutable folder.

    `path` ends with the hash of what it is made from (lock, wheels, patches, python). Wheels are
    local files that go in beside the lock; patches are unified diffs applied to site-packages.
    """

    path: str
    lock: Blob
    python: str = "python3"
    index_url: Optional[str] = None
    wheels: Tuple["Wheel", ...] = ()
    patches: Tuple[Blob, ...] = ()


@dataclass(frozen=True)
class Wheel:
    """A wheel that travels with the release, under the file name pip needs."""

    name: str
    blob: Blob


@dataclass(frozen=True)
class FoundVenv:
    """A virtual environment somebody else made: checked by fingerprint, not restorable.

    The fingerprint hashes the sorted names and versions that its own metadata lists.
    """

    path: str
    fingerprint: str


@dataclass(frozen=True)
class Pin:
    """An image resolved to content; `ref` is what the operator wrote.

    `digest` names it in its registry ("sha256:..", the index where there is one); an image that no
    registry has is named by its `image_id` alone. `platform` is "linux/amd64"; "" is the host's.
    `size` are the bytes that a pull brings, compressed; 0 where nobody knows.
    """

    ref: str
    digest: str = ""
    image_id: str = ""
    platform: str = ""
    size: int = 0

    def name(self) -> str:
        """Name the very image as Docker takes it: NAME@DIGEST, or the image's id."""
        return repository(self.ref) + "@" + self.digest if self.digest else self.image_id


def repository(ref: str) -> str:
    """Give the name of an image without its tag and digest; a registry's port is no tag."""
    name = ref.partition("@")[0]
    head, colon, tag = name.rpartition(":")
    return head if colon and "/" not in tag else name


@dataclass(frozen=True)
class Image:
    """An image that is on the host and stays there as long as a kept release names it."""

    pin: Pin


OVERRIDE = "headway.pins.yaml"
"""The generated override of a project, the last of its files: it names images by content."""

FILES_LABEL = "headway.files"
"""What the override labels a service with that mounts files of the release: their content. Compose
itself makes the container anew when one of them changes."""


@dataclass(frozen=True)
class Stack:
    """A Compose project: what Compose is given, and which of its services are headway's.

    `files` are absolute paths in Compose's own order, the generated override of pins last;
    `env_file` is for interpolation, None gives Compose none. `reads` are the release's other files
    that Compose or a container reads.
    """

    project: str
    directory: str
    files: Tuple[str, ...]
    owns: Tuple[str, ...]
    env_file: Optional[str] = None
    profiles: Tuple[str, ...] = ()
    reads: Tuple[str, ...] = ()

    def has_override(self) -> bool:
        """Say whether its files name images by content; those of an adopted project do not."""
        return self.files[-1:] == (self.directory + "/" + OVERRIDE,)


@dataclass(frozen=True)
class Service:
    """One container of a Compose project, of exactly this image."""

    project: str
    service: str
    pin: Pin


@dataclass(frozen=True)
class WeightsFile:
    """A file of weights: its name below their folder, its size in bytes, and its content's hash.

    A hub gives the `sha256` of large files, and of small ones git's own `blob_id`.
    """

    name: str
    size: int
    sha256: str = ""
    blob_id: str = ""


@dataclass(frozen=True)
class Weights:
    """Weights of one revision, whole, in an immutable folder named after it.

    `source` is ORG/REPO@COMMIT or a URL. How they come to the host is no part of what runs: that
    is Fetch, beside the parts.
    """

    path: str
    source: str
    files: Tuple[WeightsFile, ...]


@dataclass(frozen=True)
class FoundWeights:
    """Weights that somebody else put there, a file or a folder: checked, not restorable.

    The fingerprint hashes the names, sizes and times of change of all their files.
    """

    path: str
    fingerprint: str


@dataclass(frozen=True)
class Fetch:
    """How the weights at `path` are fetched; a new token or another limit restarts nothing.

    A file's name is put behind a `url` that ends with a slash; else the URL is that of the one
    file there is. The token is for that server alone. `max_mib_s` 0 is as fast as it comes.
    """

    path: str
    url: str
    token: Optional[Blob] = None
    max_mib_s: int = 0
    deadline_s: int = 6 * 3600


Switching = Union[File, Dir, Unit, Sysctl, Stack, Service]
Additive = Union[Package, LockedVenv, FoundVenv, Image, Weights, FoundWeights]
Resource = Union[
    File,
    Dir,
    Unit,
    Sysctl,
    Stack,
    Service,
    Package,
    LockedVenv,
    FoundVenv,
    Image,
    Weights,
    FoundWeights,
]

ADDITIVE = (Package, LockedVenv, FoundVenv, Image, Weights, FoundWeights)


def name_of(resource: Resource) -> str:
    """Name a resource for people: its path, unit, key, package, project, service or image."""
    if isinstance(resource, Image):
        return resource.pin.ref
    if isinstance(resource, Service):
        return container_name(resource.project, resource.service)
    if isinstance(resource, Stack):
        return resource.project
    if isinstance(resource, Sysctl):
        return resource.key
    if isinstance(resource, (Unit, Package)):
        return resource.name
    return resource.path


def container_name(project: str, service: str) -> str:
    """Name a service's container as a subject: PROJECT/SERVICE; no unit has a slash."""
    return project + "/" + service


def is_container(name: str) -> bool:
    """Tell the name of a service's container from a unit's."""
    return "/" in name


def unit_path(name: str) -> str:
    """Say where the fragment of a unit lies."""
    return "/etc/systemd/system/" + name


def dropin_path(unit: str, name: str) -> str:
    """Say where a drop-in of a unit lies."""
    return "/etc/systemd/system/" + unit + ".d/" + name


SYSCTL_FILE = "/etc/sysctl.d/90-headway-%s.conf"


def sysctl_path(key: str) -> str:
    """Say which file keeps a sysctl over a reboot; one file a key."""
    return SYSCTL_FILE % key.replace("/", ".")


def blobs_of(resource: Resource) -> Tuple[Blob, ...]:
    """Name every blob a resource needs on the host before it can be applied."""
    if isinstance(resource, File):
        return (resource.blob,)
    if isinstance(resource, Unit):
        return (resource.fragment, *(dropin.blob for dropin in resource.dropins))
    if isinstance(resource, LockedVenv):
        return (resource.lock, *(wheel.blob for wheel in resource.wheels), *resource.patches)
    return ()
