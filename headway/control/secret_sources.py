"""Where secrets come from.

    !secret {env: NAME}                          an environment variable
    !secret {file: PATH}                         a file outside git, or ignored by it
    !secret {command: [pass, show, engines/key]} what a program prints: sops, pass, op
    !secret {vault: {file: PATH, key: NAME}}     a key of a YAML file made by ansible-vault
    !vault |                                     text that ansible-vault encrypted in place

Each is resolved when somebody reveals it, once a run; so only those of the hosts in hand are.
"""

import os
import shlex
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway.control.errors import ConfigError
from headway.control.secrets import Cell, Redactor, Secret

if TYPE_CHECKING:
    from headway.control.yaml_nodes import Document


class Sources:
    """Makes the Secrets of one fleet; the same source in two places is asked once.

    `redactor` knows each of them from the moment it is revealed: before that it cannot leak.
    """

    def __init__(self, root: Path) -> None:
        """Read files named by relative paths below `root`."""
        self.redactor = Redactor()
        self._root = root
        self._cells: dict[str, Cell] = {}

    @property
    def tags(self) -> Mapping[str, Callable[[Any, str], Secret]]:
        """Give the YAML tags that make secrets."""
        return {"!secret": self.secret, "!vault": self.vault}

    def secret(self, source: Any, where: str) -> Secret:  # noqa: ANN401 # what YAML gave
        """Make a Secret of what stands behind !secret."""
        kinds = {
            "env": self._env,
            "file": self._file,
            "command": self._command,
            "vault": self._vault_key,
        }
        if not isinstance(source, dict) or len(source) != 1 or next(iter(source)) not in kinds:
            problem = "!secret wants a mapping with exactly one key: " + ", ".join(kinds)
            raise ConfigError(where, problem, hint="for example !secret {env: HF_TOKEN}")
        ((kind, detail),) = source.items()
        return self._of(f"{kind} {detail!r}", kinds[kind](detail, where), where)

    def vault(self, text: Any, where: str) -> Secret:  # noqa: ANN401
        """Make a Secret of text that ansible-vault encrypted in place."""
        if not isinstance(text, str) or not text.lstrip().startswith("$ANSIBLE_VAULT;"):
            hint = "write !vault | and the lines of `ansible-vault encrypt_string`"
            raise ConfigError(where, "!vault holds no ansible-vault text", hint=hint)
        return self._of("vault " + text, lambda at: self.decrypt(text, at), where)

    def known(self, text: str, where: str) -> Secret:
        """Make a Secret of a text that is at hand: typed in, written down plainly, or computed."""
        secret = self._of("text " + text, lambda _where: text, where)
        secret.reveal()
        return secret

    def decrypt(self, text: str, where: str) -> str:
        """Decrypt ansible-vault text with the fleet's password."""
        from headway.control import vault  # cryptography loads in 30 ms

        return vault.decrypt(text, self._vault_password, where)

    def vault_document(self, text: str, shown: str) -> "Document":
        """Open a YAML file that ansible-vault encrypted whole: every text in it is a Secret."""
        from headway.control.yaml_nodes import parse

        document = parse(self.decrypt(text, shown), shown, self.tags)
        return replace(document, value=self._all_secret(document.value, shown))

    @cached_property
    def _vault_password(self) -> bytes:
        from headway.control import vault

        return vault.password(self._root, os.environ)

    def _of(self, key: str, ask: Callable[[str], str], where: str) -> Secret:
        return Secret(self._cells.setdefault(key, Cell(ask, self.redactor.learn)), where)

    def _all_secret(self, value: Any, where: str) -> Any:  # noqa: ANN401 # any YAML value
        if isinstance(value, dict):
            return {key: self._all_secret(item, where) for key, item in value.items()}
        if isinstance(value, list):
            return [self._all_secret(item, where) for item in value]
        if isinstance(value, str):
            return self._of("text " + value, lambda _where: value, where)
        return value

    def _env(self, name: Any, where: str) -> Callable[[str], str]:  # noqa: ANN401
        if not isinstance(name, str) or not name:
            raise ConfigError(where, "!secret env wants the name of an environment variable")

        def ask(at: str) -> str:
            text = os.environ.get(name, "")
            if not text:
                problem = f"the environment variable {name} is not set"
                raise ConfigError(at, problem, hint=f"export {name}=...")
            return text

        return ask

    def _file(self, name: Any, where: str) -> Callable[[str], str]:  # noqa: ANN401
        if not isinstance(name, str) or not name:
            raise ConfigError(where, "!secret file wants a path")
        path = self._root / Path(name).expanduser()

        def ask(at: str) -> str:
            refuse_in_git(path, at)
            return _without_newline(_read(path, at))

        return ask

    def _command(self, argv: Any, where: str) -> Callable[[str], str]:  # noqa: ANN401
        if not isinstance(argv, list) or not argv or not all(isinstance(w, str) for w in argv):
            hint = "for example !secret {command: [pass, show, engines/key]}"
            raise ConfigError(where, "!secret command wants a list of words", hint=hint)
        return lambda at: _printed(argv, self._root, at)

    def _vault_key(self, detail: Any, where: str) -> Callable[[str], str]:  # noqa: ANN401
        wanted = isinstance(detail, dict) and set(detail) == {"file", "key"}
        if not wanted or not all(isinstance(word, str) for word in detail.values()):
            problem = "!secret vault wants {file: PATH, key: NAME}"
            raise ConfigError(where, problem)

        def ask(at: str) -> str:
            from headway.control.yaml_nodes import parse

            path = self._root / Path(detail["file"]).expanduser()
            inside = parse(self.decrypt(_read(path, at), at), detail["file"]).value
            text = inside.get(detail["key"]) if isinstance(inside, dict) else None
            if not isinstance(text, str):
                problem = f"{detail['file']} holds no text named {detail['key']!r}"
                raise ConfigError(at, problem, hint=f"ansible-vault edit {detail['file']}")
            return text

        return ask


def refuse_in_git(path: Path, where: str) -> None:
    """Refuse a secret file that git tracks, or would track at the next `git add`."""
    if not any((folder / ".git").exists() for folder in path.resolve().parents):
        return
    from headway.control.local import run  # subprocess, only when a file is used

    argv = ["git", "-C", str(path.resolve().parent), "check-ignore", "--quiet", path.name]
    code = run(argv).code
    if code == 1:
        hint = f"add it to .gitignore (git rm --cached {path} if it is tracked), or move it out"
        raise ConfigError(where, f"{path} lies in git: a secret may not", hint=hint)
    if code != 0:
        hint = "ask by hand: " + shlex.join(argv)
        raise ConfigError(where, f"git does not say whether it ignores {path}", hint=hint)


def _printed(argv: list[str], root: Path, where: str) -> str:
    from headway.control.local import NOT_FOUND, run

    ran = run(argv, cwd=root)
    command = shlex.join(argv)
    if ran.code == NOT_FOUND:
        raise ConfigError(where, f"the program {argv[0]} is not there", hint="install it")
    if ran.code != 0:
        how = f"ended with code {ran.code}" if ran.code is not None else "took over 60 s"
        raise ConfigError(where, f"`{command}` {how}", hint="run it by hand: its output is kept in")
    text = _without_newline(_decoded(ran.stdout, f"what `{command}` printed", where))
    if not text:
        raise ConfigError(where, f"`{command}` printed nothing", hint="run it by hand")
    return text


def _read(path: Path, where: str) -> str:
    try:
        return _decoded(path.read_bytes(), str(path), where)
    except OSError as error:
        raise ConfigError(
            where, f"{path} cannot be read: {error.strerror}", hint="put the secret there"
        ) from None


def _decoded(content: bytes, what: str, where: str) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise ConfigError(where, f"{what} is not UTF-8 text") from None


def _without_newline(text: str) -> str:
    return text[:-1].removesuffix("\r") if text.endswith("\n") else text
