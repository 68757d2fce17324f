"""A release: everything a host should run, rendered, with an id that hashes what runs."""

import hashlib
from dataclasses import dataclass
from enum import Enum
from typing import Iterator, Optional, Tuple

from headway.wire.loader import canonical
from headway.wire.resources import Blob, Fetch, Resource, blobs_of

SCHEMA = 1


class Origin(str, Enum):
    """Where a release came from."""

    RENDERED = "rendered"
    ADOPTED = "adopted"
    EMPTY = "empty"


@dataclass(frozen=True)
class SubjectSpec:
    """Who is judged for a part: the unit whose launch serves it."""

    unit: str


@dataclass(frozen=True)
class Part:
    """What a release holds for one instance: the thing that restarts when any of it changes.

    `argv` is the command line, one tuple of words an option, the executable first; joined, it is
    byte for byte what the listening process must show. `env_names` are the variables it must
    have. `listens` are its TCP ports. A part without a service has no subject.
    """

    name: str
    role: str
    resources: Tuple[Resource, ...] = ()
    argv: Tuple[Tuple[str, ...], ...] = ()
    env_names: Tuple[str, ...] = ()
    subject: Optional[SubjectSpec] = None
    listens: Tuple[int, ...] = ()

    def blobs(self) -> Iterator[Blob]:
        """Name every blob this part needs."""
        for resource in self.resources:
            yield from blobs_of(resource)


@dataclass(frozen=True)
class Release:
    """Everything a host should run. `unheld` names what an adopted release cannot bring back.

    `fetches` say how weights come to the host; only the parts make the id.
    """

    schema: int
    id: str
    origin: Origin
    parts: Tuple[Part, ...] = ()
    secret_names: Tuple[str, ...] = ()
    unheld: Tuple[str, ...] = ()
    fetches: Tuple[Fetch, ...] = ()

    def part(self, name: str) -> Optional[Part]:
        """Find a part by its instance name."""
        return next((part for part in self.parts if part.name == name), None)

    def blobs(self) -> Iterator[Blob]:
        """Name every blob this release needs, once each, in order."""
        tokens = (fetch.token for fetch in self.fetches if fetch.token is not None)
        seen = set()
        for blob in (*(blob for part in self.parts for blob in part.blobs()), *tokens):
            if blob.sha256 not in seen:
                seen.add(blob.sha256)
                yield blob

    def fetch(self, path: str) -> Optional[Fetch]:
        """Find how the weights at a path are fetched."""
        return next((fetch for fetch in self.fetches if fetch.path == path), None)


EMPTY = Release(SCHEMA, "empty", Origin.EMPTY)


def release_id(parts: Tuple[Part, ...]) -> str:
    """Hash what runs into 12 hexadecimal digits: the same parts always get the same id."""
    return hashlib.sha256(canonical(parts)).hexdigest()[:12]


def release_of(
    parts: Tuple[Part, ...],
    origin: Origin = Origin.RENDERED,
    secret_names: Tuple[str, ...] = (),
    unheld: Tuple[str, ...] = (),
    fetches: Tuple[Fetch, ...] = (),
) -> Release:
    """Make a release of these parts, with the id that they hash to; no parts make EMPTY."""
    if not parts and origin is not Origin.ADOPTED:
        return EMPTY
    return Release(SCHEMA, release_id(parts), origin, parts, secret_names, unheld, fetches)
