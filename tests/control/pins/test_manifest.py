"""What a registry says an image is made of."""

import json
from typing import Any

import pytest

from headway.control.pins.challenge import Challenge, challenge
from headway.control.pins.manifest import Manifest, digest_of, manifest, platform, platform_of


def index(*platforms: tuple[str, str, str]) -> bytes:
    """Write an index of one image a platform."""
    keys = ("os", "architecture", "variant")
    images = [
        {"digest": f"sha256:{n}", "platform": dict(zip(keys, names, strict=True))}
        for n, names in enumerate(platforms)
    ]
    return json.dumps({"schemaVersion": 2, "manifests": images}).encode()


def test_an_index_names_its_platforms() -> None:
    """Attestations are no platform; the variant that every machine has is not written."""
    body = index(
        ("linux", "amd64", ""),
        ("linux", "arm64", "v8"),
        ("linux", "arm", "v7"),
        ("unknown", "unknown", ""),
    )
    told = manifest(body)
    assert told.is_index
    assert told.platforms == {
        "linux/amd64": "sha256:0",
        "linux/arm64": "sha256:1",
        "linux/arm/v7": "sha256:2",
    }


def test_an_image_names_its_config_and_size() -> None:
    """The size is what a pull brings: config and layers."""
    told = {
        "schemaVersion": 2,
        "config": {"digest": "sha256:c", "size": 10},
        "layers": [{"digest": "sha256:1", "size": 200}, {"digest": "sha256:2", "size": 3000}],
    }
    assert manifest(json.dumps(told).encode()) == Manifest(config="sha256:c", size=3210)
    assert platform_of(b'{"os": "linux", "architecture": "amd64"}') == "linux/amd64"


@pytest.mark.parametrize("told", [{}, {"os": "linux"}, {"os": "unknown", "architecture": "amd64"}])
def test_no_platform_is_none(told: dict[str, Any]) -> None:
    """What is not known refuses nobody."""
    assert platform(told) == ""


@pytest.mark.parametrize(
    ("body", "says"),
    [(b"<html>", "not JSON"), (b"[]", "no JSON object"), (b'{"schemaVersion": 1}', "too old")],
)
def test_what_is_no_manifest_is_said(body: bytes, says: str) -> None:
    """A proxy's page is not an image."""
    with pytest.raises(ValueError, match=says):
        manifest(body)


def test_bytes_are_named_by_their_content() -> None:
    """Of an algorithm that we do not know nothing is claimed."""
    assert digest_of(b"").startswith("sha256:e3b0c442")
    assert digest_of(b"", "sha512").startswith("sha512:cf83e135")
    assert digest_of(b"", "blake3") == ""


@pytest.mark.parametrize(
    ("header", "means"),
    [
        ('Basic realm="basic-realm"', Challenge("basic", "basic-realm")),
        (
            'Bearer realm="https://auth.acme/token",service="acme",scope="repository:a/b:pull"',
            Challenge("bearer", "https://auth.acme/token", "acme", "repository:a/b:pull"),
        ),
        ("bearer realm=https://auth.acme/token", Challenge("bearer", "https://auth.acme/token")),
        ('Bearer realm="https://[auth.acme/token"', None),
        ("Negotiate", None),
        ("", None),
    ],
)
def test_what_a_registry_wants_to_be_shown(header: str, means: Challenge | None) -> None:
    """A login or a token; anything else we cannot show."""
    assert challenge(header) == means


def test_a_token_is_asked_for_where_the_registry_says() -> None:
    """With its own scope where it names one, else with the repository's."""
    assert Challenge("bearer", "https://a/t?x=1", "s").token_url("repository:r:pull") == (
        "https://a/t?x=1&service=s&scope=repository%3Ar%3Apull"
    )
