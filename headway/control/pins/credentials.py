"""Docker's own credentials for a registry: what `docker login` left on this machine.

~/.docker/config.json ($DOCKER_CONFIG names another folder)
    credHelpers: {REGISTRY: X}      ask docker-credential-X, for this registry
    credsStore: X                   ask docker-credential-X, for every other one
    auths: {REGISTRY: {auth: base64 of USER:PASSWORD, identitytoken: ...}}
"""

import base64
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from headway.control import local
from headway.control.errors import ConfigError
from headway.control.pins.reference import DOCKER_HUB
from headway.control.secrets import Secret
from headway.wire.tools import Ran

HELPER_S = 30
HUB_KEY = "https://index.docker.io/v1/"
"""Docker Hub's name in the file, since its first version."""

_TOKEN_USER = "<token>"  # noqa: S105 # a helper's word for "the secret is an identity token"
Known = Callable[[str, str], Secret]
"""Makes a Secret that all sinks hide, given its text and where it is from."""


class Run(Protocol):
    """A way to run a program here."""

    def __call__(self, argv: list[str], *, stdin: bytes, deadline_s: int) -> Ran:
        """Run it to its end or its deadline."""
        ...


@dataclass(frozen=True)
class Login:
    """Who we are to a registry: a user with a password, or a `token` to get tokens for.

    Neither: `why` says where one was looked for.
    """

    user: str = ""
    password: Secret | None = None
    token: Secret | None = None
    why: str = ""

    def basic(self) -> str:
        """Write the Authorization of a user with a password; "" where there is none."""
        if self.password is None:
            return ""
        words = f"{self.user}:{self.password.reveal()}".encode()
        return "Basic " + base64.b64encode(words).decode()


def config_file() -> Path:
    """Say where Docker keeps its logins."""
    return Path(os.environ.get("DOCKER_CONFIG") or "~/.docker").expanduser() / "config.json"


def login(registry: str, known: Known, *, file: Path, run: Run = local.run) -> Login:
    """Find the login for a registry as the docker command would; a broken file is a ConfigError."""
    config = _read(file)
    key = HUB_KEY if registry == DOCKER_HUB else registry
    helpers = _mapping(config, "credHelpers", file)
    helper = helpers.get(registry) or helpers.get(key) or config.get("credsStore")
    kept = next(
        (
            entry
            for name, entry in _mapping(config, "auths", file).items()
            if isinstance(entry, dict) and _server(name) == _server(key)
        ),
        {},
    )
    found = _asked(str(helper), key, known, run, file) if helper else Login()
    if not helper or (found.why and kept.get("auth")):
        found = _kept(registry, kept, known, file)
    return found


def _kept(registry: str, kept: dict[str, Any], known: Known, file: Path) -> Login:
    """Read a login that stands in the file itself."""
    if kept.get("identitytoken"):
        return Login(token=known(str(kept["identitytoken"]), str(file)))
    if not kept.get("auth"):
        return Login(why=f"there is no login for it in {file}")
    try:
        words = base64.b64decode(str(kept["auth"]), validate=True).decode()
        user, password = words.split(":", 1)
    except ValueError:
        problem = f"auths: {registry}: auth is no base64 of USER:PASSWORD"
        raise ConfigError(str(file), problem, hint=f"docker login {registry}") from None
    return Login(user, known(password.rstrip("\0"), str(file)))


def _asked(helper: str, key: str, known: Known, run: Run, file: Path) -> Login:
    """Ask a credential helper: the server's name on stdin, JSON on stdout."""
    program = f"docker-credential-{helper}"
    ran = run([program, "get"], stdin=key.encode(), deadline_s=HELPER_S)
    if ran.code in {local.NOT_FOUND, local.NOT_RUNNABLE}:
        raise ConfigError(str(file), f"names {program}, which is not there, or does not run")
    if ran.code != 0:
        said = (ran.stdout.strip() or ran.stderr.strip()).decode(errors="replace").splitlines()
        late = f"no answer within {HELPER_S} s"
        return Login(why=f"{program}: {said[-1] if said and ran.code is not None else late}")
    try:
        told = json.loads(ran.stdout)
        user, secret = str(told["Username"]), known(str(told["Secret"]), program)
    except (ValueError, KeyError, TypeError):
        raise ConfigError(program, "its answer is no JSON with Username and Secret") from None
    return Login(token=secret) if user == _TOKEN_USER else Login(user, secret)


def _read(file: Path) -> dict[str, Any]:
    try:
        config = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ConfigError(str(file), f"cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise ConfigError(str(file), f"not JSON: {error}") from None
    if not isinstance(config, dict):
        raise ConfigError(str(file), "wants a JSON object")
    return config


def _mapping(config: dict[str, Any], name: str, file: Path) -> dict[str, Any]:
    found = config.get(name) or {}
    if not isinstance(found, dict):
        raise ConfigError(str(file), f"{name}: wants a JSON object")
    return found


def _server(key: str) -> str:
    """Name the server of a key: older files have https://HOST/v1/."""
    server = key.partition("://")[2] or key
    return server.partition("/")[0]
