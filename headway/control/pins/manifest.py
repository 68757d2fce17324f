"""What a registry says an image is made of: for which platforms, how large (OCI and Docker)."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from headway.wire.loader import WireError, parse

INDEXES = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
)
IMAGES = (
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
)
ACCEPT = ", ".join((*INDEXES, *IMAGES))
"""What is asked for: without the indexes a registry answers with one platform's digest."""

_IMPLIED = {"linux/arm64/v8": "linux/arm64", "linux/amd64/v1": "linux/amd64"}
_HASHES = {"sha256": hashlib.sha256, "sha512": hashlib.sha512}


@dataclass(frozen=True)
class Manifest:
    """An index, with the digest of each platform, or one image with its config and size.

    `size` are the bytes of config and layers as the registry keeps them, compressed.
    """

    platforms: Mapping[str, str] = field(default_factory=dict)
    config: str = ""
    size: int = 0

    @property
    def is_index(self) -> bool:
        """Say whether it names images of platforms and is none itself."""
        return not self.config


def manifest(body: bytes) -> Manifest:
    """Read a manifest; ValueError says what keeps it from being one."""
    told = _object(body)
    if "manifests" in told:
        found: dict[str, str] = {}
        for each in told["manifests"]:
            name = platform(each.get("platform") or {})
            if name:
                found.setdefault(name, str(each["digest"]))
        return Manifest(found)
    if "config" not in told:
        raise ValueError(f"schema {told.get('schemaVersion', '?')} is too old: push the image anew")
    parts = [told["config"], *told.get("layers", [])]
    return Manifest(config=str(told["config"]["digest"]), size=sum(int(p["size"]) for p in parts))


def platform_of(config: bytes) -> str:
    """Read which platform an image's config is for; "" where it does not say."""
    return platform(_object(config))


def platform(told: Mapping[str, Any]) -> str:
    """Write a platform as Docker does, OS/ARCHITECTURE[/VARIANT]; "" for what runs nowhere.

    BuildKit's attestations stand in an index as unknown/unknown.
    """
    words = [str(told.get(key) or "") for key in ("os", "architecture", "variant")]
    name = "/".join(filter(None, words))
    return "" if "unknown" in words or not all(words[:2]) else _IMPLIED.get(name, name)


def digest_of(body: bytes, algorithm: str = "sha256") -> str:
    """Name bytes by their content; "" for an algorithm that we do not know."""
    known = _HASHES.get(algorithm)
    return f"{algorithm}:{known(body).hexdigest()}" if known else ""


def _object(body: bytes) -> dict[str, Any]:
    try:
        told = parse(body)
    except WireError as error:
        raise ValueError(str(error)) from None
    if not isinstance(told, dict):
        raise ValueError("no JSON object")  # noqa: TRY004 # of a value, as all else here
    return told
