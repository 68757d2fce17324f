"""Asks a registry what a tag is now (the distribution spec's API, v2). Nothing is pulled.

HEAD for the digest: Docker Hub counts GETs, not these. Then what that digest holds, by the digest
itself, so that a tag that moves meanwhile changes nothing.
"""

import json
from collections.abc import Callable
from typing import Literal
from urllib.parse import urlencode, urlsplit

from headway.control.errors import RefusedError, UnreachableError, UsageError
from headway.control.pins import web
from headway.control.pins.challenge import Challenge, challenge
from headway.control.pins.credentials import Login
from headway.control.pins.manifest import ACCEPT, digest_of
from headway.control.pins.reference import DOCKER_HUB, Reference

_HUB_API = "registry-1.docker.io"
_JSON = "application/json"
OK, UNAUTHORIZED, FORBIDDEN, NOT_FOUND, TOO_MANY, FAULT = 200, 401, 403, 404, 429, 500


class UnknownImageError(UsageError):
    """The registry has no such image, or hides it from who is not logged in."""


class Registry:
    """One registry; it is asked over TLS unless `plain`. Who we are is looked up when it asks."""

    def __init__(
        self, name: str, login: Callable[[], Login], *, plain: bool = False, ask: web.Ask = web.ask
    ) -> None:
        scheme = "http" if plain else "https"
        self.name = name
        self._url = f"{scheme}://{_HUB_API if name == DOCKER_HUB else name}"
        self._look_up = login
        self._ask = ask
        self._login: Login | None = None
        self._shown: dict[str, str] = {}

    def digest(self, image: Reference) -> str:
        """Say which content a tag is now: of the index, where the image has one."""
        got = self._get("HEAD", image, "manifests", image.wanted)
        named = got.headers.get("docker-content-digest", "")
        if named:
            return named
        # The header is a MUST of today's spec; older registries leave it out (spec.md, 206-211).
        return image.digest or digest_of(self._get("GET", image, "manifests", image.wanted).body)

    def content(self, image: Reference, kind: Literal["manifests", "blobs"], digest: str) -> bytes:
        """Give a manifest or a config by its digest; other bytes than that are refused."""
        body = self._get("GET", image, kind, digest).body
        found = digest_of(body, digest.partition(":")[0])
        if found and found != digest:
            raise UnreachableError(f"{self.name}: sent other bytes than {digest} names")
        return body

    def _get(self, method: str, image: Reference, kind: str, what: str) -> web.Got:
        url = f"{self._url}/v2/{image.repository}/{kind}/{what}"
        headers = {"Accept": ACCEPT} if kind == "manifests" else {}
        path = image.repository
        got = self._ask(method, url, headers, login=self._shown.get(path, ""))
        if got.status == UNAUTHORIZED:
            wanted = challenge(got.headers.get("www-authenticate", ""))
            if wanted is not None:
                self._shown[path] = self._authorization(wanted, path)
                got = self._ask(method, url, headers, login=self._shown[path])
        if got.status != OK:
            raise self._refusal(got, image, what)
        return got

    # --- who we are ------------------------------------------------------------------------------

    def _me(self) -> Login:
        if self._login is None:
            self._login = self._look_up()
        return self._login

    def _authorization(self, wanted: Challenge, path: str) -> str:
        """Make what the registry asks to be shown; a token is had from where it says."""
        if wanted.scheme == "basic":
            return self._me().basic()
        scope = f"repository:{path}:pull"
        login, url, me = "", wanted.token_url(scope), self._me()
        if urlsplit(wanted.realm).scheme not in {"https", urlsplit(self._url).scheme}:
            raise RefusedError(f"{self.name}: wants a login sent to {wanted.realm}, without TLS")
        if me.token is not None:
            words = {
                "grant_type": "refresh_token",
                "refresh_token": me.token.reveal(),
                "client_id": "headway",
                "service": wanted.service,
                "scope": wanted.scope or scope,
            }
            got = self._ask("POST", wanted.realm, {"Accept": _JSON}, body=urlencode(words).encode())
        else:
            login = me.basic()
            got = self._ask("GET", url, {"Accept": _JSON}, login=login)
        if got.status in {UNAUTHORIZED, FORBIDDEN}:
            raise self._unknown_login()
        token = _token(got.body) if got.status == OK else ""
        if not token:
            asked = urlsplit(wanted.realm).netloc
            raise UnreachableError(f"{self.name}: {asked} gave no token (HTTP {got.status})")
        return f"Bearer {token}"

    # --- what it may answer ----------------------------------------------------------------------

    def _refusal(self, got: web.Got, image: Reference, what: str) -> Exception:
        """Say why an image is not to be had.

        Whoever showed a token is known: what is refused then is private, or not there. Docker Hub
        says so to nobody, logged in or not.
        """
        said, known = _said(got.body), self._shown.get(image.repository, "").startswith("Bearer ")
        hidden = got.status in {UNAUTHORIZED, FORBIDDEN}
        if got.status == NOT_FOUND or (hidden and known and self.name == DOCKER_HUB):
            private = f", or hides it{self._from()}" if hidden else ""
            return UnknownImageError(
                f"{self.name} has no {image.repository} {what}{private}",
                hint="look at the tag; an image that no registry has: images_on_host",
            )
        if hidden and known:
            problem = f"{self.name} hides {image.repository}{self._from()}, or has it not{said}"
            return UsageError(problem, hint=self._log_in())
        if hidden:
            return self._unknown_login(said)
        if got.status == TOO_MANY:
            again = got.headers.get("retry-after", "")
            when = f"again in {again} s" if again.isdecimal() else "again later"
            return UnreachableError(f"{self.name}: too many requests", hint=f"try {when}")
        return UnreachableError(f"{self.name}: HTTP {got.status}{said}")

    def _unknown_login(self, said: str = "") -> UsageError:
        why = self._me().why or f"it does not take the login of {self._me().user or 'the token'}"
        return UsageError(f"{self.name} refuses us: {why}{said}", hint=self._log_in())

    def _from(self) -> str:
        """Say from whom something is hidden."""
        me = self._me()
        return f" ({me.why})" if me.why else f" from {me.user}" if me.user else ""

    def _log_in(self) -> str:
        where = "" if self.name == DOCKER_HUB else f" {self.name}"
        return f"docker login{where}, on this machine; or is the name mistyped?"


def _said(body: bytes) -> str:
    """Quote the first error of a registry's answer."""
    try:
        first = json.loads(body)["errors"][0]
        words = str(first.get("message") or first.get("code") or "")
    except (ValueError, KeyError, IndexError, TypeError, AttributeError):
        return ""
    return f" ({words.splitlines()[0][:120]})" if words else ""


def _token(body: bytes) -> str:
    try:
        told = json.loads(body)
        return str(told.get("token") or told.get("access_token") or "")
    except (ValueError, AttributeError):
        return ""
