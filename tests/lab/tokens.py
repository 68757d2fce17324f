"""A server of tokens for a lab registry: what Docker Hub and GHCR have in front of theirs.

A stand-in: the real ones are not reachable here. What it hands out is what Debian's docker-registry
takes (the distribution spec's JWT, signed by a key that the registry is told of), and nothing else.
"""

import base64
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qs, urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

ISSUER, SERVICE = "lab-tokens", "lab-registry"


class Signer:
    """A key with its certificate, which is what a registry trusts."""

    def __init__(self) -> None:
        self._key = rsa.generate_private_key(65537, 2048)
        name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, ISSUER)])
        now = datetime.now(UTC)
        self._certificate = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(self._key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=1))
            .sign(self._key, hashes.SHA256())
        )

    @property
    def bundle(self) -> str:
        """The certificate as a registry reads it."""
        return self._certificate.public_bytes(serialization.Encoding.PEM).decode()

    def token(self, scope: str) -> str:
        """Sign a token for TYPE:NAME:ACTIONS."""
        kind, name, actions = scope.split(":")
        der = self._certificate.public_bytes(serialization.Encoding.DER)
        head = {"typ": "JWT", "alg": "RS256", "x5c": [base64.b64encode(der).decode()]}
        now = int(time.time())
        times = {"exp": now + 60, "nbf": now - 10, "iat": now}
        access = [{"type": kind, "name": name, "actions": actions.split(",")}]
        body = {"iss": ISSUER, "sub": "lab", "aud": SERVICE, "jti": "1", **times, "access": access}
        signed = f"{_coded(json.dumps(head).encode())}.{_coded(json.dumps(body).encode())}"
        signature = self._key.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256())
        return f"{signed}.{_coded(signature)}"


@contextmanager
def tokens(signer: Signer, user: str, password: str) -> Iterator[tuple[str, list[str]]]:
    """Serve tokens on loopback to one user; gives the URL, and the scopes that were asked for."""
    wanted = "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(parse_qs(urlsplit(self.path).query)["scope"][0])
            known = self.headers["Authorization"] == wanted
            self.send_response(200 if known else 401)
            self.end_headers()
            if known:
                self.wfile.write(json.dumps({"token": signer.token(asked[-1])}).encode())

        def log_message(self, *_words: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/token", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _coded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
