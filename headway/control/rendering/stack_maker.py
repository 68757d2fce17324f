"""Makes a Compose project: its files as they are, the generated override, a part for each service.

The override is the last file of the list. It names each owned service's image by content, and
labels a service with the content of the release's files that it mounts: Compose itself would go on
with a container whose mounted file has changed.
"""

import hashlib
import re
import shlex
from collections.abc import Iterator, Mapping

from headway.control.errors import ConfigError
from headway.control.inventory.model import Value
from headway.control.near import near
from headway.control.rendering import authoring, compose, dotenv
from headway.control.rendering.maker import Composed, Made, Maker, Owned, absolute, variables
from headway.control.rendering.unit_maker import rows_of
from headway.wire import resources as wire

_PROJECT = re.compile(r"[a-z0-9][a-z0-9_-]*")
_SHELL = re.compile(r"(/usr)?(/bin/)?(ba|da|)sh")
_BETWEEN = ("&&", "||", "|", ";")


def stack(maker: Maker, one: authoring.Stack, at: Value) -> Made:
    """Make the project's files and what Compose is given; note the services that are headway's."""
    if not _PROJECT.fullmatch(one.project):
        problem = f"{one.project!r} is no project's name: lower-case letters, digits, - and _"
        raise ConfigError(at.at("project"), problem)
    if not one.files:
        raise ConfigError(at.at("files"), "a stack wants at least one Compose file")
    laid = _Laid(maker, one, at)
    texts = [laid.compose_file(name, index) for index, name in enumerate(one.files)]
    env_file, env = laid.environment()
    mounted = [laid.file(name, "mounts") for entry in one.mounts for name in laid.within(entry)]
    project = compose.read(texts, env)
    maker.projects[one.project] = Composed(project, one.owns)
    services = {name: _service(project, name, at) for name in one.owns}
    pins = {
        name: maker.pin(text.image, project.at("services", name, "image"), name)
        for name, text in services.items()
    }
    labels = {name: _labels(one, text, laid, mounted, at) for name, text in services.items()}
    override = laid.write(wire.OVERRIDE, compose.override_text(_names(pins), labels).encode())
    for name, text in services.items():
        maker.services[name] = _owned(one, text, pins[name], at)
    given = wire.Stack(
        one.project,
        laid.directory,
        (*(laid.path(name) for name in one.files), override),
        tuple(one.owns),
        env_file,
        one.profiles,
        tuple(mounted),
    )
    return (*laid.made, given)


class _Laid:
    """The files of a project on their way to the host: below `folder` here, `directory` there."""

    def __init__(self, maker: Maker, one: authoring.Stack, at: Value) -> None:
        self.maker = maker
        self.one = one
        self.at = at
        self.directory = absolute_folder(one, at)
        self.made: list[wire.Resource] = [wire.Dir(self.directory)]
        self.blobs: dict[str, wire.Blob] = {}

    def path(self, name: str) -> str:
        """Say where a file of the project lies on the host; what was rendered loses its .j2."""
        return f"{self.directory}/{name.removesuffix('.j2')}"

    def within(self, name: str) -> Iterator[str]:
        """Name the files of a folder of the project, or the file itself."""
        prefix = f"{self.one.folder}/" if self.one.folder else ""
        for found in self.maker.sources.files(prefix + name, self.at.at("mounts")):
            yield found.removeprefix(prefix)

    def compose_file(self, name: str, index: int) -> tuple[str, str]:
        """Lay a Compose file out; give what messages call it, and its text."""
        text, shown = self._text(name, self.at.at("files", index))
        self.write(name, text.encode(), shown)
        return shown, text

    def file(self, name: str, key: str) -> str:
        """Lay a file out and say where it lies."""
        source = self._source(name)
        if name.endswith(".j2"):
            text, shown = self._text(name, self.at.at(key))
            return self.write(name, text.encode(), shown)
        content, shown = self.maker.sources.bytes(source, self.at.at(key))
        return self.write(name, content, shown)

    def environment(self) -> tuple[str | None, dict[str, str]]:
        """Lay the variables for interpolation out: root's alone; None where there are none."""
        if self.one.env and self.one.env_file:
            raise ConfigError(self.at.where, "stack: wants one of env and env_file, not both")
        if self.one.env_file:
            text, shown = self._text(self.one.env_file, self.at.at("env_file"))
            path = self.write(self.one.env_file, text.encode(), shown, mode=0o600)
            return path, dotenv.read(shown, text)
        if not self.one.env:
            return None, {}
        known = len(self.maker.secrets)
        found = variables(self.maker, self.one.env, self.at, "env")
        secret = len(self.maker.secrets) > known
        content = dotenv.written(found).encode()
        path = self.write(f"{self.one.project}.env", content, mode=0o600, secret=secret)
        return path, found

    def write(
        self, name: str, content: bytes, shown: str = "", *, mode: int = 0o644, secret: bool = False
    ) -> str:
        """Add a file to what is made, and say where it lies."""
        path = self.path(name)
        blob = self.maker.blob(content, secret=secret)
        self.blobs[path] = blob
        self.maker.texts[path] = shown or self.at.where
        self.made.append(wire.File(path, blob, 0o600 if secret else mode))
        return path

    def _source(self, name: str) -> str:
        return f"{self.one.folder}/{name}" if self.one.folder else name

    def _text(self, name: str, where: str) -> tuple[str, str]:
        text, shown = self.maker.sources.text(self._source(name), where)
        if not name.endswith(".j2"):
            return text, shown
        filled = self.maker.scope.file(text, shown)
        if filled.secrets:
            hint = "give it as env of the stack, and name the variable here"
            raise ConfigError(shown, "a secret stands in a file others can read", hint=hint)
        return filled.text, shown


def absolute_folder(one: authoring.Stack, at: Value) -> str:
    """Say in which folder of the host a project lies: its own word, or /srv/PROJECT."""
    return absolute(one.directory or f"/srv/{one.project}", at)


def _service(project: compose.Project, name: str, at: Value) -> compose.ServiceText:
    if name not in project.services:
        problem = f"the Compose files have no service {name!r}; {near(name, project.services)}"
        raise ConfigError(at.at("owns", name), problem)
    text = project.services[name]
    if not text.image:
        problem = f"service {name} has no image"
        hint = "headway builds none: push one and name it, or take the service out of owns"
        raise ConfigError(project.at("services", name), problem, hint=hint)
    return text


def _names(pins: Mapping[str, wire.Pin]) -> dict[str, str]:
    return {service: pin.name() for service, pin in pins.items()}


def _labels(
    one: authoring.Stack,
    text: compose.ServiceText,
    laid: _Laid,
    mounted: list[str],
    at: Value,
) -> dict[str, str]:
    """Label a service with the content of what it mounts; nothing where it mounts nothing."""
    said = {
        laid.path(name)
        for entry, services in one.used_by.items()
        if text.name in services
        for name in laid.within(entry)
    }
    strange = said.difference(mounted)
    if strange:
        raise ConfigError(at.at("used_by"), f"{min(strange)} is none of the stack's mounts")
    used = sorted(said.union(compose.bound_files(text, laid.directory, mounted)))
    if not used:
        return {}
    rows = "".join(f"{path} {laid.blobs[path].sha256}\n" for path in used)
    return {wire.FILES_LABEL: hashlib.sha256(rows.encode()).hexdigest()[:16]}


def _owned(one: authoring.Stack, text: compose.ServiceText, pin: wire.Pin, at: Value) -> Owned:
    keys = dict(one.owns[text.name])
    listens = keys.get("listens") or ()
    ports = listens if isinstance(listens, (list, tuple)) else (listens,)
    for port in ports:
        if type(port) is not int or not 0 < port < 1 << 16:
            problem = f"listens wants a port's number, got {port!r}"
            raise ConfigError(at.at("owns", text.name), problem)
    words = started((*(text.entrypoint or ()), *(text.command or ())))
    return Owned(
        wire.Service(one.project, text.name, pin),
        rows_of(words),
        tuple(name for name, value in text.environment.items() if value is not None),
        tuple(ports),
        keys,
    )


def started(words: tuple[str, ...]) -> tuple[str, ...]:
    """Say which words the process behind a shell has: `sh -c "exec vllm serve ..."`.

    Every word that was written counts, those behind a `#` too: the process that lacks them shows
    what the shell dropped. () where a script says no one command.
    """
    if len(words) != 3 or not _SHELL.fullmatch(words[0]) or not words[1].endswith("c"):  # noqa: PLR2004
        return words
    try:
        inner = tuple(shlex.split(words[2]))
    except ValueError:
        return ()
    last = max((at for at, word in enumerate(inner) if word == "exec"), default=-1)
    if last < 0 and any(word in _BETWEEN or word.endswith(";") for word in inner):
        return ()
    return inner[last + 1 :]
