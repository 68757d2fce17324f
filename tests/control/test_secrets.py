"""A secret is asked for once, only when needed, and is never shown."""

import base64
import copy
import json
import logging
import pickle
import subprocess
import threading
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.control.errors import ConfigError
from headway.control.secret_sources import Sources
from headway.control.secrets import MASK, SHORTEST, Redactor, Secret
from headway.control.vault import VARIABLE
from tests.control.test_vault import MADE

CANARY = 'canary-"7f3a\\9c'


@pytest.fixture
def canary() -> Secret:
    """A secret that was revealed already, so that it could leak."""
    secret = Secret.of(CANARY, "f:1")
    assert secret.reveal() == CANARY
    return secret


@pytest.mark.parametrize(
    "show",
    [
        str,
        repr,
        "{}".format,
        "{:>10}".format,
        "{!r}".format,
        lambda secret: "%s" % secret,  # noqa: UP031 # logging formats so
        lambda secret: f"{secret}",
        lambda secret: str([{"key": secret}]),
        lambda secret: str(ConfigError("f:1", f"bad {secret}")),
        lambda secret: str(ValueError(secret)),
    ],
)
def test_no_way_of_writing_a_secret_shows_it(canary: Secret, show: Any) -> None:
    """Logs, f-strings, containers and exceptions all say ***."""
    assert CANARY not in show(canary)
    assert MASK in show(canary)


def test_logging_shows_no_secret(canary: Secret, caplog: pytest.LogCaptureFixture) -> None:
    """Not as an argument, not in a record's attributes."""
    logging.getLogger("headway").warning("key %s of %r", canary, {"k": canary})

    assert CANARY not in caplog.text
    assert "key ***" in caplog.text


@pytest.mark.parametrize(
    "dump", [json.dumps, pickle.dumps, lambda secret: json.dumps({"a": [secret]})]
)
def test_a_secret_refuses_to_be_dumped(canary: Secret, dump: Any) -> None:
    """A file of *** would be worse than an error: somebody would roll it out."""
    with pytest.raises(TypeError, match=r"Secret|secret") as caught:
        dump(canary)

    assert CANARY not in str(caught.value)


def test_a_secret_cannot_be_taken_for_text(canary: Secret) -> None:
    """Joining and adding fail instead of writing ***."""
    with pytest.raises(TypeError):
        " ".join(["Bearer", canary])  # type: ignore[list-item] # noqa: FLY002 # what is tried
    with pytest.raises(TypeError):
        "Bearer " + canary  # type: ignore[operator]


def test_a_copy_of_a_secret_is_the_secret(canary: Secret) -> None:
    """Merging variables copies them."""
    assert copy.deepcopy({"a": [canary]})["a"][0] is canary
    assert copy.copy(canary) is canary


# --- sources -----------------------------------------------------------------------------


@pytest.fixture
def sources(tmp_path: Path) -> Sources:
    """The sources of a fleet in a temporary folder."""
    return Sources(tmp_path)


def test_an_environment_variable(sources: Sources, monkeypatch: pytest.MonkeyPatch) -> None:
    """The value that it has when the secret is revealed."""
    secret = sources.secret({"env": "HW_TEST"}, "f:1")
    monkeypatch.setenv("HW_TEST", "value")

    assert secret.reveal() == "value"


def test_a_file_without_its_newline(sources: Sources, tmp_path: Path) -> None:
    """One newline at the end is the editor's, a second one is the secret's."""
    (tmp_path / "key").write_text("a\nb\n\n")

    assert sources.secret({"file": "key"}, "f:1").reveal() == "a\nb\n"


def test_a_command_without_its_newline(sources: Sources) -> None:
    """Words, not a shell line."""
    assert sources.secret({"command": ["printf", "%s\n", "$HOME"]}, "f:1").reveal() == "$HOME"


def test_ansible_vault_inline_and_by_key(
    sources: Sources, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both with the password that ansible-vault itself would use."""
    (tmp_path / "pw").write_text("correct horse\n")
    (tmp_path / "sealed.yml").write_text(MADE["sealed"])
    monkeypatch.setenv(VARIABLE, "pw")

    assert sources.vault(MADE["inline"], "f:1").reveal() == "s3cret käse"
    by_key = {"vault": {"file": "sealed.yml", "key": "api_key"}}
    assert sources.secret(by_key, "f:2").reveal() == "k-1234-vault"


def test_a_file_encrypted_whole_is_full_of_secrets(
    sources: Sources, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every text in it, however deep; a number is none."""
    (tmp_path / "pw").write_text("correct horse\n")
    monkeypatch.setenv(VARIABLE, "pw")

    value = sources.vault_document(MADE["sealed"], "group_vars/all/vault.yml").value

    assert value["api_key"].reveal() == "k-1234-vault"
    assert value["nested"]["inner"][0].reveal() == "deep-secret-text"
    assert value["port"] == 8000
    assert "deep-secret" not in str(value)


def test_nothing_is_asked_before_it_is_needed_and_then_once(
    sources: Sources, tmp_path: Path
) -> None:
    """A password manager asks for a fingerprint: once a run, and not for other hosts' secrets."""
    argv = ["sh", "-c", f"echo asked >> {tmp_path}/log; echo value"]
    first = sources.secret({"command": argv}, "f:1")
    second = sources.secret({"command": list(argv)}, "g:2")
    assert not (tmp_path / "log").exists()

    threads = [threading.Thread(target=each.reveal) for each in (first, second, first)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert (tmp_path / "log").read_text() == "asked\n"
    assert first.reveal() == second.reveal() == "value"


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ({"env": "HW_ABSENT"}, "the environment variable HW_ABSENT is not set"),
        ({"file": "absent"}, "absent cannot be read: No such file"),
        ({"file": "binary"}, "binary is not UTF-8 text"),
        ({"command": ["hw-absent"]}, "the program hw-absent is not there"),
        ({"command": ["sh", "-c", "echo canary; exit 3"]}, "ended with code 3"),
        ({"command": ["true"]}, "`true` printed nothing"),
        ({"vault": {"file": "absent", "key": "k"}}, "absent cannot be read"),
    ],
)
def test_a_source_that_gives_nothing_says_what_to_do(
    sources: Sources, tmp_path: Path, source: dict[str, Any], error: str
) -> None:
    """With the place of the !secret, and nothing of what a program printed."""
    (tmp_path / "binary").write_bytes(b"\xff")
    secret = sources.secret(source, "group_vars/all.yml:7")

    with pytest.raises(ConfigError, match=rf"^group_vars/all\.yml:7: .*{error}") as caught:
        secret.reveal()

    assert caught.value.hint or "UTF-8" in error
    assert "canary" not in str(caught.value).replace("echo canary", "")


@pytest.mark.parametrize(
    "source",
    [
        "TOKEN",
        {},
        {"environment": "X"},
        {"env": "A", "file": "b"},
        {"env": 3},
        {"file": ""},
        {"command": "pass show x"},
        {"command": []},
        {"vault": "f"},
        {"vault": {"file": "f"}},
    ],
)
def test_a_malformed_source_is_refused_where_it_is_read(sources: Sources, source: object) -> None:
    """Before any host is touched, whether the secret is needed or not."""
    with pytest.raises(ConfigError, match=r"^f:1: !secret"):
        sources.secret(source, "f:1")


def test_vault_text_is_checked_where_it_is_read(sources: Sources) -> None:
    """`!vault` in front of plain text is a secret in the open."""
    with pytest.raises(ConfigError, match=r"^f:1: !vault holds no ansible-vault text"):
        sources.vault("plain", "f:1")


@pytest.mark.parametrize(
    ("ignored", "added", "refused"),
    [(True, False, False), (False, False, True), (False, True, True)],
)
def test_a_secret_file_may_not_lie_in_git(
    tmp_path: Path, *, ignored: bool, added: bool, refused: bool
) -> None:
    """Tracked, or one `git add` away from it; ignored is fine."""

    def git(*words: str) -> None:
        subprocess.run(["git", "-C", str(tmp_path), *words], check=True, capture_output=True)

    git("init", "-q")
    (tmp_path / "key").write_text("value\n")
    (tmp_path / ".gitignore").write_text("key\n" if ignored else "")
    if added:
        git("add", "key")
    secret = Sources(tmp_path).secret({"file": "key"}, "f:1")

    if refused:
        with pytest.raises(ConfigError, match=r"^f:1: .*key lies in git: a secret may not"):
            secret.reveal()
    else:
        assert secret.reveal() == "value"


# --- redaction ---------------------------------------------------------------------------

_secrets = st.text(st.characters(codec="utf-8"), min_size=2 * SHORTEST)


@given(_secrets, st.text(max_size=20), st.text(max_size=20))
def test_no_sink_writes_a_secret_in_any_of_its_spellings(
    secret: str, before: str, after: str
) -> None:
    """As it is, in JSON, in a URL, in base64 alone or within a longer text."""
    redactor = Redactor([secret])
    spellings = [
        secret,
        json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
        quote(secret, safe=""),
        quote_plus(secret),
        base64.b64encode(secret.encode()).decode().rstrip("="),
    ]
    for spelling in spellings:
        assert spelling not in redactor.text(f"{before}{spelling}{after}").replace(MASK, "\0")


@given(st.binary(max_size=5), st.binary(max_size=5))
def test_basic_authentication_hides_its_password(before: bytes, after: bytes) -> None:
    """base64 of `user:password` holds the password at an offset of 0, 1 or 2 bytes."""
    password = "correct horse battery"  # noqa: S105 # a made up one
    header = base64.b64encode(before + password.encode() + after).decode()

    shown = Redactor([password]).text(f"Authorization: Basic {header}")

    hidden = len(header) - len(shown) + len("Authorization: Basic ") + len(MASK)
    assert MASK in shown
    assert hidden >= len(password) * 4 // 3 - 2


def test_each_line_of_a_key_is_hidden() -> None:
    """Logs break a private key into its lines."""
    key = "-----BEGIN KEY-----\nMIIEvQIBADANBg\nkqhkiG9w0BAQEF\n-----END KEY-----\n"

    assert Redactor([key]).text("line: kqhkiG9w0BAQEF.") == "line: ***."


def test_a_short_value_is_counted_and_left() -> None:
    """Hiding `on` or `42` would make every text unreadable, and guessable from it."""
    redactor = Redactor(["abc"])

    assert redactor.text("abc of all") == "abc of all"
    assert redactor.too_short == 1


def test_the_longest_secret_wins() -> None:
    """A token that begins like another one leaves no tail behind."""
    assert Redactor(["token-1", "token-1-long"]).text("x token-1-long y") == "x *** y"


def test_a_fleets_redactor_knows_what_was_revealed(sources: Sources) -> None:
    """From the moment it could leak, wherever the redactor was handed to before."""
    redactor = sources.redactor
    secret = sources.secret({"command": ["echo", "late-secret"]}, "f:1")
    assert redactor.text("late-secret") == "late-secret"

    secret.reveal()

    assert redactor.text("late-secret") == MASK
    assert sources.known("typed-in", "f:1").reveal() == "typed-in"
    assert redactor.text("typed-in") == MASK
