"""A double of a registry at the seam of `web.Ask`, for what the real one of Debian never does.

It has one image, acme/engine, and hands out tokens as Docker Hub and GHCR do. What the real one
does is asked of it in the lab (tests/lab/test_pins.py).
"""

import base64
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

from headway.control.pins.web import Got


def digest_of(body: bytes) -> str:
    """Name bytes by their content."""
    return "sha256:" + hashlib.sha256(body).hexdigest()


def image(architecture: str = "amd64", layer: int = 1000) -> tuple[bytes, bytes]:
    """Make an image of one layer: manifest and config."""
    config = json.dumps({"os": "linux", "architecture": architecture, "n": layer}).encode()
    told = {
        "schemaVersion": 2,
        "config": {"digest": digest_of(config), "size": len(config)},
        "layers": [{"digest": "sha256:" + "1" * 64, "size": layer}],
    }
    return json.dumps(told).encode(), config


def index(manifests: Mapping[str, bytes]) -> bytes:
    """Make an index of an image an architecture."""
    told = [
        {"digest": digest_of(body), "platform": {"os": "linux", "architecture": architecture}}
        for architecture, body in manifests.items()
    ]
    return json.dumps({"schemaVersion": 2, "manifests": told}).encode()


@dataclass
class Double:
    """What it has by repository and reference, and whom it wants; `asked` keeps every request."""

    kept: dict[str, bytes] = field(default_factory=dict)
    scheme: str = ""
    realm: str = "https://auth.acme/token"
    takes: str = ""
    names_digests: bool = True
    status: int = 0
    asked: list[tuple[str, str, str]] = field(default_factory=list)
    posted: list[bytes] = field(default_factory=list)

    def push(self, body: bytes, *names: str) -> str:
        """Keep a manifest or a config under its digest, and under tags."""
        digest = digest_of(body)
        self.kept.update(dict.fromkeys((digest, *names), body))
        return digest

    def __call__(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        *,
        login: str = "",
        body: bytes | None = None,
    ) -> Got:
        """Answer as a registry does."""
        del headers
        self.asked.append((method, url, login))
        if self.status:
            return Got(self.status, {"retry-after": "30"}, b"")
        if url.startswith(self.realm):
            return self._token(url, login, body)
        if self.scheme and login != f"{self.scheme} {self.takes}":
            wanted = f'{self.scheme} realm="{self.realm}",service="acme"'
            said = b'{"errors": [{"code": "UNAUTHORIZED", "message": "authentication required"}]}'
            return Got(401, {"www-authenticate": wanted}, said)
        found = self.kept.get(urlsplit(url).path.rpartition("/")[2])
        if found is None:
            return Got(404, {}, b'{"errors": [{"code": "MANIFEST_UNKNOWN"}]}')
        named = {"docker-content-digest": digest_of(found)} if self.names_digests else {}
        return Got(200, named, b"" if method == "HEAD" else found)

    def _token(self, url: str, login: str, body: bytes | None) -> Got:
        if body is not None:
            self.posted.append(body)
            words = parse_qs(body.decode())
            good = words["refresh_token"] == ["refresh"]
            return Got(200 if good else 401, {}, b'{"access_token": "tok"}')
        if base64.b64decode(login.removeprefix("Basic ")).endswith(b":wrong"):
            return Got(401, {}, b"")
        scope = parse_qs(urlsplit(url).query)["scope"]
        return Got(200, {}, json.dumps({"token": "tok" if scope else ""}).encode())
