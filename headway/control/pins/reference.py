"""What an image's reference names, read as Docker reads it: registry, repository, tag, digest."""

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from headway.control.errors import ConfigError

DOCKER_HUB = "docker.io"
"""The registry of a reference that names none."""

_DIGEST = r"[a-z0-9]+(?:[+._-][a-z0-9]+)*:[0-9a-fA-F]{32,}"
_NAME = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_REPOSITORY = re.compile(rf"{_NAME}(?:/{_NAME})*")
_REGISTRY = re.compile(r"(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]+)?")
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_WHOLE_DIGEST = re.compile(_DIGEST)
_ID = re.compile(r"sha256:[0-9a-f]{64}")


@dataclass(frozen=True)
class Reference:
    """An image's name taken apart; `named` says whether its registry was written.

    Beside a digest the tag is for people: Docker goes by the digest alone.
    """

    registry: str
    repository: str
    tag: str = ""
    digest: str = ""
    named: bool = True

    @property
    def wanted(self) -> str:
        """Give what a registry is asked for: the digest, else the tag."""
        return self.digest or self.tag


def is_id(ref: str) -> bool:
    """Say whether a reference is the id of an image and no name at all."""
    return _ID.fullmatch(ref) is not None


def is_here(server: str) -> bool:
    """Say whether HOST[:PORT] is this machine itself: no TLS is spoken there, no proxy asked."""
    name = urlsplit(f"//{server}").hostname or ""
    return name in {"localhost", "::1"} or name.startswith("127.")


def reference(ref: str, where: str) -> Reference:
    """Take a reference apart; what Docker would not take is a ConfigError at `where`."""
    rest, at, digest = ref.partition("@")
    if at and not _WHOLE_DIGEST.fullmatch(digest):
        raise _misfit(ref, where, f"{digest!r} is no digest")
    head, colon, tag = rest.rpartition(":")
    if not colon or "/" in tag:
        head, tag = rest, "" if at else "latest"
    elif not _TAG.fullmatch(tag):
        raise _misfit(ref, where, f"{tag!r} is no tag")
    first, slash, path = head.partition("/")
    named = bool(slash) and ("." in first or ":" in first or first == "localhost")
    registry, path = (first, path) if named else (DOCKER_HUB, head)
    if not _REPOSITORY.fullmatch(path):
        raise _misfit(ref, where, f"{path!r} is no repository: small letters, digits, and . _ - /")
    if not _REGISTRY.fullmatch(registry):
        raise _misfit(ref, where, f"{registry!r} is no registry")
    if registry in {DOCKER_HUB, f"index.{DOCKER_HUB}"}:
        registry = DOCKER_HUB
        path = path if "/" in path else f"library/{path}"
    return Reference(registry, path, tag, digest, named)


def _misfit(ref: str, where: str, problem: str) -> ConfigError:
    return ConfigError(where, f"image {ref!r}: {problem}")
