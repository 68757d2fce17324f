"""ansible-vault's text is read as it wrote it, with the password from where it looks for it."""

from pathlib import Path

import pytest
import yaml

from headway.control import vault
from headway.control.errors import ConfigError

MADE = yaml.safe_load(
    (Path(__file__).parents[1] / "cases" / "vault" / "made_by_ansible.yaml").read_text()
)
PASSWORD = b"correct horse"


def test_a_file_that_ansible_vault_made_opens() -> None:
    """Format 1.1, without a label."""
    opened = vault.decrypt(MADE["sealed"], PASSWORD, "f:1")

    assert yaml.safe_load(opened)["api_key"] == "k-1234-vault"


def test_a_string_that_ansible_vault_made_opens() -> None:
    """Format 1.2, with a label, and text beyond ASCII."""
    assert vault.decrypt(MADE["inline"], PASSWORD, "f:1") == "s3cret käse"


def test_a_wrong_password_is_said_to_be_wrong() -> None:
    """The HMAC tells it before anything is decrypted."""
    with pytest.raises(ConfigError, match=r"^f:1: the vault does not open with this password$"):
        vault.decrypt(MADE["sealed"], b"battery staple", "f:1")


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (MADE["sealed"].replace("3", "4", 9), "does not open|damaged"),
        (MADE["sealed"][:200], "does not open|damaged"),
        ("$ANSIBLE_VAULT;1.1;AES256\nnothing", "damaged"),
        ("$ANSIBLE_VAULT;1.1;AES256", "damaged"),
        ("$ANSIBLE_VAULT;1.1;ROT13\n00", "not ansible-vault text of the kind AES256"),
    ],
)
def test_damaged_text_is_one_line(text: str, error: str) -> None:
    """Never a half decrypted secret, never a traceback."""
    with pytest.raises(ConfigError, match=rf"^f:1: .*({error})"):
        vault.decrypt(text, PASSWORD, "f:1")


def test_the_password_is_what_the_file_holds_without_its_newline(tmp_path: Path) -> None:
    """As ansible-vault reads it."""
    (tmp_path / "pw").write_text("correct horse\n")

    assert vault.password(tmp_path, {vault.VARIABLE: "pw"}) == PASSWORD


def test_a_password_program_is_run(tmp_path: Path) -> None:
    """An executable file is asked, as ansible-vault asks it."""
    program = tmp_path / "ask"
    program.write_text("#!/bin/sh\necho correct horse\n")
    program.chmod(0o700)

    assert vault.password(tmp_path, {vault.VARIABLE: str(program)}) == PASSWORD


@pytest.mark.parametrize(
    ("environ", "error"),
    [
        ({}, "ANSIBLE_VAULT_PASSWORD_FILE: is not set"),
        ({vault.VARIABLE: "absent"}, "absent cannot be read: No such file"),
        ({vault.VARIABLE: "fails"}, "fails failed"),
    ],
)
def test_a_missing_password_says_what_to_set(
    tmp_path: Path, environ: dict[str, str], error: str
) -> None:
    """By the name of the variable."""
    (tmp_path / "fails").write_text("#!/bin/sh\necho half a password; exit 3\n")
    (tmp_path / "fails").chmod(0o700)

    with pytest.raises(ConfigError, match=error) as caught:
        vault.password(tmp_path, environ)

    assert "half" not in str(caught.value)
