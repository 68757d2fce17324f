"""Turns a role's resources into wire resources: rendered, typed, hashed.

A secret is let into root's 0600 files and nowhere else: not into a unit, an argv or a path. The
token that weights are fetched with stays a blob of root's.
"""

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from headway.control.errors import ConfigError
from headway.control.inventory.model import Value
from headway.control.rendering import authoring
from headway.control.rendering.env_file import env_text
from headway.control.rendering.options import Row
from headway.control.rendering.roles import WHEN, Entry, decimals
from headway.control.rendering.scope import Scope, secrets_in
from headway.control.rendering.sources import Sources
from headway.control.rendering.unit_file import TextError
from headway.control.secrets import Secret
from headway.control.weights import Ask
from headway.wire import resources as wire
from headway.wire.loader import WireError, canonical, load

if TYPE_CHECKING:
    from headway.control.rendering.compose import Project  # fleets without stacks do without

Made = tuple[wire.Resource, ...]

_SYSCTL = re.compile(r"[a-z0-9_-]+([./][A-Za-z0-9_:-]+)+")
_MODE = re.compile(r"0?[0-7]{3,4}")
_OTHERS = 0o077
_USUAL_MODES = {
    int(f"{owner}{group}{other}", 8) for owner in "4567" for group in "04567" for other in "04567"
}
_MAY_HOLD_SECRETS = {
    ("file", "content"),
    ("env_file", "values"),
    ("stack", "env"),
    ("weights", "token"),
}


@dataclass(frozen=True)
class Owned:
    """A service of a Compose project that is headway's: a part of its own.

    `argv` is its command as options, `keys` what the role says of it for its gates.
    """

    service: wire.Service
    argv: tuple[Row, ...]
    env_names: tuple[str, ...]
    listens: tuple[int, ...]
    keys: Mapping[str, Any]


@dataclass(frozen=True)
class Composed:
    """A Compose project as it was read, and what the role says of each service it owns."""

    project: "Project"
    owns: Mapping[str, Mapping[str, Any]]


@dataclass
class Maker:
    """Makes the resources of one part, in order, and gathers what they refer to.

    `pin` gives what the image of a service is: reference, FILE:LINE, service; `weights` what
    weights are pinned to. `blobs` are bytes by hash; `texts` says where in the fleet a path on the
    host is written; `secrets` are those that went in, with the name each goes by; `argv` is the
    command line of each unit, `written` the units whose command line was made of options;
    `services` are those of a Compose project that are headway's, `projects` the ones they stand
    in, by name; `fetches` say how weights come.
    """

    sources: Sources
    scope: Scope
    reveal: Callable[[Secret], str]
    pin: Callable[[str, str, str], wire.Pin]
    weights: Ask
    blobs: dict[str, bytes] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    secrets: list[tuple[str, Secret]] = field(default_factory=list)
    argv: dict[str, tuple[Row, ...]] = field(default_factory=dict)
    written: set[str] = field(default_factory=set)
    services: dict[str, Owned] = field(default_factory=dict)
    projects: dict[str, Composed] = field(default_factory=dict)
    env_names: list[str] = field(default_factory=list)
    fetches: list[wire.Fetch] = field(default_factory=list)

    def make(self, entry: Entry) -> Made:
        """Make what an entry asks for; nothing when its `when` is false."""
        if not self.wanted(entry):
            return ()
        body = {key: value for key, value in entry.body.items() if key != WHEN}
        rendered = self.scope.render(body, entry.at)
        for key, value in rendered.items():
            secrets = secrets_in(value)
            if secrets and (entry.kind, key) not in _MAY_HOLD_SECRETS:
                raise readable(entry.at.at(key), f"{entry.kind}/{key}", secrets[0].where)
        return makers()[entry.type](self, typed(entry, rendered), entry.at)

    def wanted(self, entry: Entry, scope: Scope | None = None) -> bool:
        """Say whether an entry holds here: its `when`, which must come out as true or false."""
        found = (scope or self.scope).render(entry.body.get(WHEN, True), entry.at)
        if not isinstance(found, bool):
            problem = f"when wants true or false, got {found!r}; write one {{{{ expression }}}}"
            raise ConfigError(entry.at.at(WHEN), problem)
        return found

    def blob(self, content: bytes, *, secret: bool = False) -> wire.Blob:
        """Keep bytes and give the blob that names them."""
        digest = _digest(content)
        self.blobs[digest] = content
        return wire.Blob(digest, len(content), secret)

    def source(self, name: str, at: str) -> wire.Blob:
        """Keep a file of the fleet as it is."""
        return self.blob(self.sources.bytes(name, at)[0])

    def file(
        self,
        one: authoring.File | authoring.Template | authoring.EnvFile,
        blob: wire.Blob,
        at: Value,
    ) -> Made:
        """Give the file; one that holds a secret must be root's alone."""
        mode = mode_of(one.mode, at.at("mode"))
        self.texts.setdefault(one.path, at.where)
        if blob.secret and mode & _OTHERS:
            raise readable(at.at("mode"), f"{one.path} (mode {one.mode})")
        return (wire.File(absolute(one.path, at), blob, mode, one.owner, one.group),)


@lru_cache(maxsize=256)
def _digest(content: bytes) -> str:
    """Hash bytes once for all hosts: bytes that were read once keep their own hash."""
    return hashlib.sha256(content).hexdigest()


def readable(where: str, what: str, given: str = "") -> ConfigError:
    """Make the error for a secret that others than root could read; `given` is its own place."""
    it = f"the one of {given}" if given and given != where else "it"
    hint = f"give {it} to the program in an env_file or another file with mode '0600'"
    return ConfigError(
        where, f"a secret stands in {what}, which others than root can read", hint=hint
    )


def typed(entry: Entry, rendered: Mapping[str, Any]) -> Any:  # noqa: ANN401 # the entry's own type
    """Read a rendered body as the entry's type; a misfit is an error at its line."""
    mode = rendered.get("mode")
    if isinstance(mode, int):
        digits = f"{mode:04o}" if mode in _USUAL_MODES else f"0{mode}"
        problem = f"mode {mode} is a number to YAML, and not the one that was meant"
        raise ConfigError(
            entry.at.at("mode"), problem, hint=f"write it in quotes: mode: '{digits}'"
        )
    try:
        return load(entry.type, decimals(rendered), (entry.kind,))
    except WireError as error:
        place = "/".join(str(step) for step in error.path)
        raise ConfigError(entry.at.at(*error.path[1:]), f"{place}: {error.problem}") from None


def mode_of(text: str, at: str) -> int:
    """Read a mode as people write it: '0644'."""
    if not _MODE.fullmatch(text):
        raise ConfigError(at, f"mode {text!r} is none; write it in octal and quotes: '0644'")
    return int(text, 8)


def absolute(path: str, at: Value) -> str:
    """Give a path back that is plain and absolute; anything else is a ConfigError."""
    steps = path.split("/")
    odd = steps[0] != "" or any(step in ("", ".", "..") for step in steps[1:])
    if odd or not path.isprintable():
        raise ConfigError(at.at("path"), f"{path!r} is no plain absolute path: /FOLDER/NAME")
    return path


def _dir(_: Maker, one: authoring.Dir, at: Value) -> Made:
    mode = mode_of(one.mode, at.at("mode"))
    return (wire.Dir(absolute(one.path, at), mode, one.owner, one.group),)


def _file(maker: Maker, one: authoring.File, at: Value) -> Made:
    if bool(one.source) == (one.content is not None):
        raise ConfigError(at.where, "file: wants exactly one of source and content")
    if one.source:
        path = maker.sources.path(one.source, at.at("source"))
        maker.texts[one.path] = maker.sources.fleet.shown(path)
        return maker.file(one, maker.source(one.source, at.at("source")), at)
    if isinstance(one.content, Secret):
        maker.secrets.append((one.path, one.content))
        return maker.file(one, maker.blob(maker.reveal(one.content).encode(), secret=True), at)
    if not isinstance(one.content, str):
        raise ConfigError(at.at("content"), "file/content: wants text")
    return maker.file(one, maker.blob(one.content.encode()), at)


def _template(maker: Maker, one: authoring.Template, at: Value) -> Made:
    text, shown = maker.sources.text(one.source, at.at("source"))
    filled = maker.scope.file(text, shown)
    maker.texts[one.path] = shown
    maker.secrets.extend(filled.secrets.items())
    return maker.file(one, maker.blob(filled.text.encode(), secret=bool(filled.secrets)), at)


def _env_file(maker: Maker, one: authoring.EnvFile, at: Value) -> Made:
    found = variables(maker, one.values, at, "values")
    try:
        text = env_text(found)
    except TextError as error:
        raise ConfigError(at.at("values"), str(error)) from None
    maker.env_names.extend(found)
    return maker.file(one, maker.blob(text.encode(), secret=bool(secrets_in(one.values))), at)


def variables(maker: Maker, values: Mapping[str, Any], at: Value, key: str) -> dict[str, str]:
    """Give variables as text, secrets revealed; null leaves one out. They stand under `key`."""
    found = {}
    for name, value in values.items():
        if isinstance(value, Secret):
            maker.secrets.append((name, value))
            found[name] = maker.reveal(value)
        elif value is not None:
            found[name] = _variable(name, value, at.at(key, name))
    return found


def _variable(name: str, value: Any, where: str) -> str:  # noqa: ANN401
    if isinstance(value, bool) or not isinstance(value, (str, int, Decimal)):
        problem = f"{name}: {value!r} may be read in several ways; write the text the program wants"
        raise ConfigError(where, problem, hint="in quotes: '1', 'true' or 'True'")
    return str(value)


def _sysctl(_: Maker, one: authoring.Sysctl, at: Value) -> Made:
    for key, value in one.values.items():
        if not _SYSCTL.fullmatch(key):
            raise ConfigError(at.at("values", key), f"{key!r} is no kernel setting: net.core.x")
        if isinstance(value, bool) or not isinstance(value, (str, int)):
            raise ConfigError(at.at("values", key), f"{key}: wants a number or text")
    return tuple(wire.Sysctl(key, str(value)) for key, value in one.values.items())


def _package(_: Maker, one: authoring.Package, __: Value) -> Made:
    return tuple(wire.Package(name, one.maintenance) for name in one.names)


def _venv(maker: Maker, one: authoring.Venv, at: Value) -> Made:
    if bool(one.lock) == bool(one.found):
        hint = (
            "a lock file with hashes makes one, `found` is the path of one that is there; the "
            "built-in roles take the variables lock and venv_path"
        )
        raise ConfigError(at.where, "venv: wants exactly one of lock and found", hint=hint)
    if one.found:
        if not one.fingerprint:
            hint = "write any word: invoke plan --host HOST then names the one that is there"
            raise ConfigError(at.where, "venv: a found one wants its fingerprint", hint=hint)
        maker.scope = maker.scope.with_fixed({one.name: one.found})
        return (wire.FoundVenv(one.found, one.fingerprint),)
    lock = maker.source(one.lock, at.at("lock"))
    wheels = tuple(
        wire.Wheel(name.rpartition("/")[2], maker.source(name, at.at("wheels", index)))
        for index, name in enumerate(one.wheels)
    )
    patches = tuple(
        maker.source(name, at.at("patches", index)) for index, name in enumerate(one.patches)
    )
    content = canonical([lock, wheels, patches, one.python])
    root = maker.scope.get("venv_root")
    path = f"{root}/{hashlib.sha256(content).hexdigest()[:16]}"
    maker.scope = maker.scope.with_fixed({one.name: path})
    return (wire.LockedVenv(path, lock, one.python, one.index_url or None, wheels, patches),)


def makers() -> Mapping[type[Any], Callable[[Maker, Any, Value], Made]]:
    """Say who makes each authoring kind; whole, and a test keeps it so."""
    from headway.control.rendering.stack_maker import stack  # they stand on Maker
    from headway.control.rendering.unit_maker import unit
    from headway.control.rendering.weights_maker import made as weights

    return {
        authoring.Dir: _dir,
        authoring.File: _file,
        authoring.Template: _template,
        authoring.EnvFile: _env_file,
        authoring.Unit: unit,
        authoring.Sysctl: _sysctl,
        authoring.Package: _package,
        authoring.Venv: _venv,
        authoring.Weights: weights,
        authoring.Stack: stack,
    }
