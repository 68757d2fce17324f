"""Pinned images, in pins.yaml: what a tag was when a person said so, and is until they say again.

    ghcr.io/acme/engine:v1:
      digest: sha256:0c8d...
      platforms: [linux/amd64, linux/arm64]
      size: 4123456789
      resolved_at: '2026-11-30T04:00:00Z'

    acme/router:dev:
      image_id: sha256:77aa...
      read_on: gpu1
      resolved_at: '2026-11-30T04:00:00Z'

It lies in git beside the inventory. Plan and rollout read it and nothing else: a tag that is moved
in its registry moves nothing here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from headway.control.errors import ConfigError
from headway.control.fleet import PINS, Fleet
from headway.control.pins.reference import is_id, reference
from headway.wire.loader import dump
from headway.wire.resources import Pin

PLATFORM = "linux/amd64"
"""What an image has to be for where nobody says otherwise (image_platform)."""

_HEAD = "# What each image is. `invoke pin --host HOST` writes it; keep it in git.\n"


@dataclass(frozen=True, kw_only=True)
class Entry:
    """What a reference is: content in its registry (`digest`), or on hosts alone (`image_id`).

    `platforms` are those the registry has it for. `size` are the bytes a pull brings, compressed,
    or those of the image on the host `read_on`. `resolved_at` is a UTC time as in ISO 8601.
    """

    digest: str = ""
    image_id: str = ""
    read_on: str = ""
    platforms: tuple[str, ...] = ()
    size: int = 0
    resolved_at: str = ""

    @property
    def content(self) -> str:
        """Give the digest, or the id."""
        return self.digest or self.image_id


@dataclass(frozen=True)
class Pins:
    """The pinned images of a fleet, by reference as the operator writes it."""

    entries: Mapping[str, Entry] = field(default_factory=dict)

    def of(self, ref: str, where: str, *, service: str, host: str, platform: str = PLATFORM) -> Pin:
        """Give what a service's image is; a ConfigError at `where` says which command pins it.

        A reference by digest or id says itself what it is.
        """
        written = image_in(ref, where)
        if written is not None and ref not in self.entries:
            return written
        hint = f"invoke pin --host {host}"
        entry = self.entries.get(ref)
        if entry is None:
            raise ConfigError(where, f"image {ref} of service {service} is not pinned", hint=hint)
        if entry.platforms and platform not in entry.platforms:
            raise ConfigError(where, f"image {ref} of service {service} {lacks(entry, platform)}")
        named = platform if entry.digest else ""
        return Pin(ref, entry.digest, entry.image_id, named, entry.size if entry.digest else 0)


def image_in(ref: str, where: str) -> Pin | None:
    """Give the image that a reference names by its content; None where it is a tag."""
    if is_id(ref):
        return Pin(ref, image_id=ref)
    digest = reference(ref, where).digest
    return Pin(ref, digest) if digest else None


def lacks(entry: Entry, platform: str) -> str:
    """Say of an image that it is not for this platform, and for which ones it is."""
    return f"is not for {platform}: it is for {', '.join(entry.platforms)}"


def read(fleet: Fleet) -> Pins:
    """Read all pinned images; what does not fit is a ConfigError at its line."""
    document = fleet.document(fleet.root / PINS)
    entries = document.load(dict[str, Entry]) if document.value is not None else {}
    for ref, entry in entries.items():
        if bool(entry.digest) == bool(entry.image_id):
            raise document.error((ref,), "wants a digest or an image_id, one of them")
        if not is_id(entry.content):
            key = "digest" if entry.digest else "image_id"
            problem = f"{entry.content!r} is no sha256: and 64 hex digits"
            raise document.error((ref, key), problem)
        written = image_in(ref, document.where((ref,)))
        if written is not None and written.name() not in {entry.image_id, _named(ref, entry)}:
            raise document.error((ref,), "is pinned to another image than it names itself")
    return Pins(entries)


def write(path: Path, pins: Pins) -> None:
    """Write the file whole, sorted, a fact a line, so that a new pin shows as a small diff."""
    from headway.control.yaml_nodes import written  # 18 ms that few verbs need

    rows = ({ref: _kept(entry)} for ref, entry in sorted(pins.entries.items()))
    new = path.with_suffix(".yaml.new")
    new.write_text(_HEAD + "".join(f"\n{written(row)}" for row in rows), encoding="utf-8")
    new.replace(path)


def _kept(entry: Entry) -> dict[str, object]:
    """Leave out what says nothing."""
    return {key: value for key, value in dump(entry).items() if value}


def _named(ref: str, entry: Entry) -> str:
    return Pin(ref, entry.digest).name()
