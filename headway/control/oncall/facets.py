"""A resource of any kind as words: what it is called, and its fields; no kind is named here."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from headway.control.telling.amounts import size
from headway.wire.loader import Json, dump, kind_of
from headway.wire.release import Part, Release
from headway.wire.resources import Resource, name_of

_BLOB = {"sha256", "size", "secret"}
_MODE = "mode"


@dataclass(frozen=True)
class Facets:
    """A resource: `fields` are its values by their path within it, `blobs` hashes likewise."""

    part: str
    kind: str
    name: str
    fields: Mapping[str, str]
    blobs: Mapping[str, str]

    @property
    def key(self) -> tuple[str, str, str]:
        """Say which thing of a host it is."""
        return self.part, self.kind, self.name


def facets(part: Part, resource: Resource) -> Facets:
    """Take a resource apart by its fields."""
    name = name_of(resource)
    blobs: dict[str, str] = {}
    fields = {place: text for place, text in _flat(dump(resource), "", blobs) if text != name}
    return Facets(part.name, kind_of(type(resource)), name, fields, blobs)


def of_release(release: Release) -> tuple[Facets, ...]:
    """Take every resource of a release apart, in order."""
    return tuple(facets(part, one) for part in release.parts for one in part.resources)


def _flat(value: Json, path: str, blobs: dict[str, str]) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        if value.keys() == _BLOB:
            blobs[path] = str(value["sha256"])
            secret = ", secret" if value["secret"] else ""
            yield path, f"{value['sha256'][:12]}, {size(value['size'])}{secret}"
            return
        for name, inner in value.items():
            yield from _flat(inner, f"{path}/{name}" if path else name, blobs)
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            named = inner.get("name") if isinstance(inner, dict) else None
            yield from _flat(inner, f"{path}/{named or number}", blobs)
    elif value is not None and path:
        octal = isinstance(value, int) and path.rpartition("/")[2] == _MODE
        yield path, f"{value:04o}" if octal else str(value)
