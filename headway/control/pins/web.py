"""One HTTP request from the controller: the one home of urllib.request on this side.

The proxy of the environment is kept to, but for this machine itself, and a redirect is followed
without the login.
"""

import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from email.message import Message
from http.client import HTTPException
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

from headway.control.errors import UnreachableError
from headway.control.pins.reference import is_here

DEADLINE_S = 20
LARGEST = 4 << 20
"""Registries refuse larger manifests, and so do we."""

CERTIFICATES = Path("/etc/docker/certs.d")
"""Where Docker looks for a registry's own authorities, one folder each."""


@dataclass(frozen=True)
class Got:
    """An answer of any status; headers by lower-case name."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Ask(Protocol):
    """A way to ask a web server."""

    def __call__(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        *,
        login: str = "",
        body: bytes | None = None,
    ) -> Got:
        """Send one request; `login` is the Authorization, for this server alone."""
        ...


def ask(  # noqa: PLR0913 # what a request is made of
    method: str,
    url: str,
    headers: Mapping[str, str],
    *,
    login: str = "",
    body: bytes | None = None,
    deadline_s: int = DEADLINE_S,
    redirects: bool = True,
) -> Got:
    """Send one request, or raise UnreachableError with the one line that says why not."""
    server = urlsplit(url).netloc
    request = urllib.request.Request(url, body, dict(headers), method=method)  # noqa: S310 # http(s)
    if login:
        request.add_unredirected_header("Authorization", login)
    try:
        opener = urllib.request.build_opener(
            urllib.request.HTTPSHandler(context=_trusting(server)),
            urllib.request.ProxyHandler({} if is_here(server) else None),
            *(() if redirects else (_Stays,)),
        )
        with opener.open(request, timeout=deadline_s) as answer:
            return _got(answer.status, answer.headers, answer.read(LARGEST + 1))
    except urllib.error.HTTPError as refused:
        with refused:
            return _got(refused.code, refused.headers, refused.read(LARGEST + 1))
    except (OSError, HTTPException, ValueError) as error:
        why, hint = _sentence(getattr(error, "reason", error))
        raise UnreachableError(f"{server}: {why}", hint=hint) from None


class _Stays(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: the answer is the redirect itself."""

    def redirect_request(self, *_: object, **__: object) -> None:
        """Go nowhere."""


def _got(status: int, headers: Message, body: bytes) -> Got:
    return Got(status, {name.lower(): value for name, value in headers.items()}, body)


def _trusting(server: str) -> ssl.SSLContext:
    context = ssl.create_default_context()
    for file in sorted((CERTIFICATES / server).glob("*.crt")):
        context.load_verify_locations(file)
    return context


def _sentence(reason: object) -> tuple[str, str]:
    """Say why nothing was heard, and what to do."""
    import socket

    match reason:
        case socket.gaierror():
            return "there is no such host", "look at the image's name, and at DNS here"
        case ssl.SSLCertVerificationError():
            authority = f"put its authority to {CERTIFICATES}/REGISTRY/ca.crt"
            return f"its certificate is not trusted: {reason.verify_message}", authority
        case ssl.SSLError():
            return "it does not speak TLS", "is it one for insecure_registries? (docs/stacks.md)"
        case TimeoutError():
            return "no answer in time", "is there a proxy to name in HTTPS_PROXY?"
        case OSError():
            return (reason.strerror or str(reason) or type(reason).__name__).lower(), ""
        case _:
            return f"it does not speak HTTP: {reason}", ""
