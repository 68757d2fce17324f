"""ansible-vault's text format (1.1 and 1.2, AES256), read without Ansible.

PBKDF2-HMAC-SHA256 with 10,000 rounds gives a cipher key, an HMAC key and a counter; the text is
hexadecimal of hexadecimal (ansible-core, parsing/vault). Writing it stays ansible-vault's job.
"""

import hashlib
import hmac
import os
from binascii import Error, unhexlify
from collections.abc import Mapping
from pathlib import Path

from headway.control.errors import ConfigError

HEADER = "$ANSIBLE_VAULT;"
VARIABLE = "ANSIBLE_VAULT_PASSWORD_FILE"


def password(root: Path, environ: Mapping[str, str]) -> bytes:
    """Read the password that ANSIBLE_VAULT_PASSWORD_FILE leads to, or its program prints."""
    named = environ.get(VARIABLE, "")
    if not named:
        hint = f"export {VARIABLE}=~/.vault-password"
        raise ConfigError(VARIABLE, "is not set, and a vault is to be opened", hint=hint)
    path = root / Path(named).expanduser()
    if path.is_file() and os.access(path, os.X_OK):
        from headway.control.local import run  # subprocess, only for a program

        ran = run([str(path)])
        if ran.code != 0:
            raise ConfigError(VARIABLE, f"{path} failed", hint="run it by hand")
        return ran.stdout.strip()
    try:
        return path.read_bytes().strip()
    except OSError as error:
        raise ConfigError(VARIABLE, f"{path} cannot be read: {error.strerror}") from None


def decrypt(text: str, secret: bytes, where: str) -> str:
    """Give what the vault text holds; a wrong password is a ConfigError, and so is damage."""
    header, *lines = text.strip().splitlines()
    if not header.startswith(HEADER) or header.strip().split(";")[2:3] != ["AES256"]:
        raise ConfigError(where, "this is not ansible-vault text of the kind AES256")
    try:
        body = unhexlify("".join(line.strip() for line in lines))
        salt, digest, sealed = (unhexlify(part) for part in body.split(b"\n", 2))
    except (Error, ValueError):
        hint = "copy it whole, or encrypt it again"
        raise ConfigError(where, "the ansible-vault text is damaged", hint=hint) from None
    keys = hashlib.pbkdf2_hmac("sha256", secret, salt, 10_000, 80)
    if not hmac.compare_digest(hmac.digest(keys[32:64], sealed, "sha256"), digest):
        hint = f"the password comes from {VARIABLE}"
        raise ConfigError(where, "the vault does not open with this password", hint=hint)
    return _opened(keys[:32], keys[64:], sealed).decode()


def _opened(key: bytes, counter: bytes, sealed: bytes) -> bytes:
    from cryptography.hazmat.primitives.ciphers import (  # 20 ms, vaults only
        Cipher,
        algorithms,
        modes,
    )

    decryptor = Cipher(algorithms.AES(key), modes.CTR(counter)).decryptor()
    padded = decryptor.update(sealed) + decryptor.finalize()
    return padded[: -padded[-1]]
