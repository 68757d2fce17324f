"""Docker's own logins are ours; what they say is never shown."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from headway.control.errors import ConfigError
from headway.control.pins.credentials import HUB_KEY, Login, login
from headway.control.secrets import Secret
from headway.wire.tools import Ran


def known(text: str, where: str) -> Secret:
    """Keep a secret as a fleet would."""
    return Secret.of(text, where)


class Helper:
    """A double of docker-credential-X: knows one server's login, and who asked."""

    def __init__(self, server: str, answer: dict[str, str], code: int = 0) -> None:
        self.server = server.encode()
        self.answer = answer
        self.code = code
        self.argv: list[str] = []

    def __call__(self, argv: list[str], *, stdin: bytes, deadline_s: int) -> Ran:
        """Answer, or say what the real ones say of a server they do not know."""
        del deadline_s
        self.argv = argv
        if stdin != self.server:
            return Ran((), 1, b"credentials not found in native keychain\n", b"", 1)
        return Ran((), self.code, json.dumps(self.answer).encode(), b"", 1)


def config(folder: Path, **told: Any) -> Path:
    """Write a config.json."""
    file = folder / "config.json"
    file.write_text(json.dumps(told))
    return file


def basic(user: str, password: str) -> str:
    """Write base64 of USER:PASSWORD."""
    return base64.b64encode(f"{user}:{password}".encode()).decode()


@pytest.mark.parametrize(
    ("registry", "key"),
    [
        ("ghcr.io", "ghcr.io"),
        ("registry.lab:5000", "https://registry.lab:5000/v1/"),
        ("docker.io", HUB_KEY),
    ],
)
def test_a_login_in_the_file_is_taken(tmp_path: Path, registry: str, key: str) -> None:
    """Docker Hub has its first name there; older files have a URL."""
    file = config(
        tmp_path, auths={"other.io": {"auth": basic("x", "y")}, key: {"auth": basic("ops", "a:b")}}
    )
    found = login(registry, known, file=file)
    assert found.basic() == "Basic " + basic("ops", "a:b")
    assert "a:b" not in repr(found)


def test_a_helper_is_asked_for_what_is_its_own(tmp_path: Path) -> None:
    """One is named for a registry, another one for all others."""
    file = config(
        tmp_path, credHelpers={"ghcr.io": "mine"}, credsStore="all", auths={"ghcr.io": {}}
    )
    helper = Helper("ghcr.io", {"Username": "ops", "Secret": "word"})
    assert login("ghcr.io", known, file=file, run=helper).basic() == "Basic " + basic("ops", "word")
    assert helper.argv == ["docker-credential-mine", "get"]
    store = Helper(HUB_KEY, {"Username": "<token>", "Secret": "refresh"})
    found = login("docker.io", known, file=file, run=store)
    assert store.argv == ["docker-credential-all", "get"]
    assert (found.basic(), found.token and found.token.reveal()) == ("", "refresh")


def test_a_store_without_the_login_leaves_the_file(tmp_path: Path) -> None:
    """A login from before the store was set still counts."""
    file = config(tmp_path, credsStore="all", auths={"ghcr.io": {"auth": basic("ops", "old")}})
    found = login("ghcr.io", known, file=file, run=Helper("elsewhere", {}))
    assert found.basic() == "Basic " + basic("ops", "old")


def test_no_login_says_where_it_was_looked_for(tmp_path: Path) -> None:
    """The error of a refused pull repeats it."""
    missing = login("ghcr.io", known, file=tmp_path / "config.json")
    assert missing == Login(why=f"there is no login for it in {tmp_path}/config.json")
    file = config(tmp_path, credsStore="all")
    asked = login("ghcr.io", known, file=file, run=Helper("elsewhere", {}))
    assert asked.why == "docker-credential-all: credentials not found in native keychain"


def test_an_identity_token_is_no_password(tmp_path: Path) -> None:
    """It buys tokens, and opens nothing by itself."""
    file = config(
        tmp_path, auths={"acme.io": {"auth": basic("<token>", ""), "identitytoken": "it"}}
    )
    found = login("acme.io", known, file=file)
    assert found.password is None
    assert found.token is not None
    assert found.token.reveal() == "it"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "not JSON"),
        ("[]", "wants a JSON object"),
        ('{"auths": []}', ""),
        ('{"auths": ["a"]}', "auths: wants a JSON object"),
        ('{"auths": {"ghcr.io": {"auth": "%%%"}}}', "auth is no base64"),
        ('{"credsStore": "gone-for-good"}', "docker-credential-gone-for-good, which is not there"),
    ],
)
def test_a_broken_file_is_said_and_nothing_of_it(tmp_path: Path, text: str, says: str) -> None:
    """It is one line that names the file."""
    file = tmp_path / "config.json"
    file.write_text(text)
    if not says:
        assert login("ghcr.io", known, file=file).why
        return
    with pytest.raises(ConfigError, match=f"{file}: .*{says}"):
        login("ghcr.io", known, file=file)


def test_a_helper_that_talks_nonsense_is_said(tmp_path: Path) -> None:
    """Its answer may hold a secret: it is not repeated."""
    file = config(tmp_path, credsStore="all")
    with pytest.raises(ConfigError, match="docker-credential-all: its answer is no JSON with"):
        login("ghcr.io", known, file=file, run=Helper("ghcr.io", {"Secret": "word"}))
