"""Compose files as the controller reads them: lint, pins and rendering have no Docker to ask.

What counts on a host is its own `docker compose config`, which stage compares the release with.
Here the same files are merged and filled in by Compose's rules, for the keys headway looks at, and
every key keeps its line. Checked against Docker Compose 2.26.
"""

import json
import posixpath
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from headway.control.errors import ConfigError
from headway.control.rendering import shell_words
from headway.control.rendering.compose_merge import TAGS, Override, Reset, bare, merged, pairs
from headway.control.rendering.interpolation import Filled, TemplateError, fill
from headway.control.yaml_nodes import Document, Place, parse

WRITTEN_BY = "# Written by headway: images as they are pinned, and labels. Changes here are lost."
HOME = "/root"
"""What ~ is in a bind: headway runs Compose as root."""

_NULLS = ("", "~", "null", "Null", "NULL")
_BOOLS = {"true": ("true", "True", "TRUE"), "false": ("false", "False", "FALSE")}
_INTEGER = re.compile(r"[-+]?(0b[01_]+|0o?[0-7_]+|0x[0-9a-fA-F_]+|[1-9][0-9_]*|0)")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TRUE = ("true", "yes", "on", "y", "1")
_GO_PLAIN = (-4, 6)


@dataclass(frozen=True)
class Devices:
    """A reservation of devices: `count` as it is written ("all", "2"), or the ids."""

    driver: str = ""
    count: str = ""
    ids: tuple[str, ...] = ()
    capabilities: tuple[str, ...] = ()


@dataclass(frozen=True)
class ServiceText:
    """A service as its files say, variables in place; "" and () where they say nothing.

    `image_raw` and `image_falls_back`: the text before variables, and whether a default of a
    variable that nobody gave decided it. `command` and `entrypoint` are words, None where the
    image's own holds; `command_raw` is the string or list after variables, `command_style` how a
    string is quoted. An environment's value is None where it comes from outside. `binds` are
    sources on the host, of volumes, configs and secrets. `whole` is the merged mapping.
    """

    name: str
    image: str = ""
    image_raw: str = ""
    image_falls_back: bool = False
    command: tuple[str, ...] | None = None
    command_raw: str | tuple[str, ...] | None = None
    command_style: str = ""
    entrypoint: tuple[str, ...] | None = None
    entrypoint_raw: str | tuple[str, ...] | None = None
    entrypoint_style: str = ""
    environment: Mapping[str, str | None] = field(default_factory=dict)
    env_files: tuple[str, ...] = ()
    binds: tuple[str, ...] = ()
    restart: str = ""
    stop_grace_period: str = ""
    healthcheck: Mapping[str, Any] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    profiles: tuple[str, ...] = ()
    depends_on: tuple[str, ...] = ()
    ports: tuple[str, ...] = ()
    network_mode: str = ""
    devices: tuple[Devices, ...] = ()
    init: bool = False
    extends: str = ""
    whole: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Unset:
    """A variable that nobody gives and that has no default, and where it stands."""

    variable: str
    where: str


@dataclass(frozen=True)
class Project:
    """Compose files read together. `name` is what they say themselves, mostly ""."""

    services: Mapping[str, ServiceText]
    name: str = ""
    unset: tuple[Unset, ...] = ()
    documents: tuple[Document, ...] = field(default=(), repr=False)

    def at(self, *path: str) -> str:
        """Say FILE:LINE of a key, in the last file that has it, or of the nearest above it.

        Keys are as in `docker compose config`: ("services", "chat", "environment", "HF_TOKEN")
        is found in a list of NAME=VALUE, too.
        """
        file, place = self._place(path)
        return f"{file}:{place.line}"

    def style(self, *path: str) -> str:
        """Say how text is quoted there: "", a quote, > or |."""
        place = self._place(path)[1]
        return place.style if place.steps == len(path) else ""

    def enabled(self, profiles: Collection[str]) -> tuple[str, ...]:
        """Name the services that these profiles start."""
        return tuple(
            name
            for name, one in self.services.items()
            if not one.profiles or "*" in profiles or set(one.profiles) & set(profiles)
        )

    def _place(self, path: tuple[str, ...]) -> tuple[str, Place]:
        best = ("", Place(-1, 1, ""))
        for document in reversed(self.documents):
            place = document.spot.reached(_steps(document.value, path))
            if place.steps > best[1].steps:
                best = document.file, place
        service = self.services.get(path[1]) if path[:1] == ("services",) and path[1:] else None
        if service and service.extends and best[1].steps < len(path):
            below = self._place(("services", service.extends, *path[2:]))
            best = max(best, below, key=lambda one: one[1].steps)
        return best


def read(files: Sequence[tuple[str, str]], env: Mapping[str, str]) -> Project:
    """Read files, each (what messages call it, text), later ones over earlier ones.

    `env` is all that variables can come from. What cannot be read is a ConfigError at its line.
    """
    whole: dict[str, Any] = {}
    raw: dict[str, Any] = {}
    unset: dict[tuple[str, str], Unset] = {}
    documents = []
    for shown, text in files:
        document = parse(text, shown, TAGS, plain=_scalar)
        documents.append(document)
        filling = _Filling(document, env)
        values = _extended(filling.values(), document)
        _mergeable(values, document)
        whole = merged(whole, values)
        raw = merged(raw, _extended(document.value, document))
        for one in filling.unset:
            unset.setdefault((one.variable, one.where), one)
    project = Project({}, _word(whole.get("name")), tuple(unset.values()), tuple(documents))
    links = {name: _base(one.get("extends")) for name, one in _services(raw) if _base_of(one)}
    services = {
        name: _Service(project, name, whole, raw["services"][name], env).text(links.get(name, ""))
        for name, _ in _services(whole)
    }
    return Project(services, project.name, project.unset, project.documents)


def override_text(pins: Mapping[str, str], labels: Mapping[str, Mapping[str, str]]) -> str:
    """Write the last file of a project: the image and the labels of every owned service.

    Text is quoted as JSON, which every YAML reads alike; a dollar is doubled for Compose.
    """
    lines = [WRITTEN_BY, "services:" if pins or labels else "services: {}"]
    for service in sorted({*pins, *labels}):
        lines.append(f"  {_quoted(service)}:")
        if service in pins:
            lines.append(f"    image: {_value(pins[service])}")
        own = labels.get(service, {})
        lines.extend(["    labels:"] if own else [])
        lines.extend(f"      {_quoted(name)}: {_value(own[name])}" for name in sorted(own))
        if service not in pins and not own:
            lines[-1] += " {}"
    return "\n".join(lines) + "\n"


def bound_files(service: ServiceText, directory: str, paths: Collection[str]) -> tuple[str, ...]:
    """Name those of these absolute paths that a service mounts: themselves, or a folder above.

    `directory` is the project's, which relative sources start from.
    """
    sources = [_absolute(source, directory) for source in service.binds]
    return tuple(
        path
        for path in sorted(paths)
        if any(path == one or path.startswith(one.rstrip("/") + "/") for one in sources)
    )


class _Filling:
    """One document with its variables in place."""

    def __init__(self, document: Document, env: Mapping[str, str]) -> None:
        self._document = document
        self._env = env
        self.unset: list[Unset] = []

    def values(self) -> dict[str, Any]:
        document = self._document
        if not isinstance(document.value, dict):
            raise ConfigError(document.where(), "a Compose file is a mapping with services:")
        if "include" in document.value:
            hint = "list the included files in the stack's own files"
            raise document.error(("include",), "include: is not read", hint=hint)
        result: dict[str, Any] = self._of(document.value, ())
        return result

    def _of(self, value: Any, path: tuple[str | int, ...]) -> Any:  # noqa: ANN401
        if isinstance(value, dict):
            return {key: self._of(one, (*path, key)) for key, one in value.items()}
        if isinstance(value, list):
            return [self._of(one, (*path, index)) for index, one in enumerate(value)]
        if isinstance(value, Override):
            return Override(self._of(value.value, path))
        if not isinstance(value, str) or "$" not in value:
            return value
        try:
            filled = fill(value, self._env)
        except TemplateError as error:
            raise self._document.error(path, str(error)) from None
        self.unset.extend(Unset(name, self._document.where(path)) for name in filled.unset)
        return filled.text


class _Service:
    """Takes one merged service apart; a key of the wrong shape is a ConfigError at its line."""

    def __init__(
        self,
        project: Project,
        name: str,
        whole: Mapping[str, Any],
        raw: Mapping[str, Any],
        env: Mapping[str, str],
    ) -> None:
        self._project = project
        self._name = name
        self._whole = whole
        self._raw = raw
        self._own: Mapping[str, Any] = whole["services"][name]
        self._env = env

    def text(self, extends: str) -> ServiceText:
        image_raw = self._text("image", self._raw)
        image = fill(image_raw, self._env) if image_raw else Filled("")
        return ServiceText(
            name=self._name,
            image=self._text("image"),
            image_raw=image_raw,
            image_falls_back=bool(image.defaults),
            command=self._words("command"),
            command_raw=self._raw_words("command"),
            command_style=self._project.style("services", self._name, "command"),
            entrypoint=self._words("entrypoint"),
            entrypoint_raw=self._raw_words("entrypoint"),
            entrypoint_style=self._project.style("services", self._name, "entrypoint"),
            environment=self._environment(),
            env_files=tuple(self._paths("env_file")),
            binds=tuple(dict.fromkeys(self._binds())),
            restart=self._text("restart"),
            stop_grace_period=self._text("stop_grace_period"),
            healthcheck=self._mapping("healthcheck"),
            labels={name: _word(value) for name, value in self._pairs("labels").items()},
            profiles=tuple(map(_word, self._list("profiles"))),
            depends_on=tuple(self._names("depends_on")),
            ports=tuple(_port(one) for one in self._list("ports")),
            network_mode=self._text("network_mode"),
            devices=tuple(self._devices()),
            init=self._text("init").lower() in _TRUE,
            extends=extends,
            whole=self._own,
        )

    def _error(self, key: str, problem: str, *, hint: str = "") -> ConfigError:
        where = self._project.at("services", self._name, key)
        return ConfigError(where, f"services/{self._name}/{key}: {problem}", hint=hint)

    def _text(self, key: str, source: Mapping[str, Any] | None = None) -> str:
        value = (self._own if source is None else source).get(key)
        if isinstance(value, dict | list):
            raise self._error(key, "wants text")
        return _word(value)

    def _mapping(self, key: str) -> Mapping[str, Any]:
        value = self._own.get(key) or {}
        if not isinstance(value, dict):
            raise self._error(key, "wants a mapping")
        return value

    def _list(self, key: str) -> list[Any]:
        value = self._own.get(key)
        if value is None:
            return []
        if not isinstance(value, list):
            raise self._error(key, "wants a list")
        return value

    def _names(self, key: str) -> list[str]:
        value = self._own.get(key) or {}
        if not isinstance(value, list | dict):
            raise self._error(key, "wants a list or a mapping")
        return [str(one) for one in value]

    def _pairs(self, key: str) -> dict[str, Any]:
        try:
            return pairs(self._own.get(key))
        except TypeError as error:
            raise self._error(key, str(error)) from None

    def _environment(self) -> dict[str, str | None]:
        values = self._pairs("environment")
        return {
            name: self._env.get(name) if value is None else _word(value)
            for name, value in values.items()
        }

    def _raw_words(self, key: str) -> str | tuple[str, ...] | None:
        value = self._own.get(key)
        if value is None or isinstance(value, str):
            return value
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise self._error(key, "wants a list of words", hint="quote what is no word")
        return tuple(value)

    def _words(self, key: str) -> tuple[str, ...] | None:
        raw = self._raw_words(key)
        if not isinstance(raw, str):
            return raw
        try:
            return shell_words.split(raw).words
        except shell_words.SplitError as error:
            hint = "write it as a list, one word an item"
            raise self._error(key, f"Compose refuses this string: {error}", hint=hint) from None

    def _paths(self, key: str) -> Iterator[str]:
        value = self._own.get(key)
        for one in value if isinstance(value, list) else [value] if value else []:
            yield _word(one.get("path") if isinstance(one, dict) else one)

    def _binds(self) -> Iterator[str]:
        for one in self._list("volumes"):
            source = _source(one)
            if source and _is_path(source):
                yield source
            elif source:
                yield from self._device(source)
        for key in ("configs", "secrets"):
            for one in self._list(key):
                named = one.get("source") if isinstance(one, dict) else one
                about = (self._whole.get(key) or {}).get(named) or {}
                if about.get("file"):
                    yield _word(about["file"])

    def _device(self, volume: str) -> Iterator[str]:
        """Find the folder behind a named volume that is a bind mount by its driver's options."""
        about = (self._whole.get("volumes") or {}).get(volume) or {}
        options = about.get("driver_opts") or {}
        if "bind" in _word(options.get("o")).split(",") and options.get("device"):
            yield _word(options["device"])

    def _devices(self) -> Iterator[Devices]:
        deploy = self._mapping("deploy")
        found = ((deploy.get("resources") or {}).get("reservations") or {}).get("devices") or []
        gpus = self._own.get("gpus")
        if isinstance(gpus, str):
            yield Devices("nvidia", gpus, (), ("gpu",))
        for one in [*found, *(gpus if isinstance(gpus, list) else ())]:
            if not isinstance(one, dict):
                raise self._error("deploy", "a device is a mapping with count: or device_ids:")
            ids = tuple(map(_word, one.get("device_ids") or ()))
            capabilities = tuple(map(_word, one.get("capabilities") or ()))
            count = _word(one.get("count"))
            yield Devices(_word(one.get("driver")), count, ids, capabilities)


def _services(values: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    yield from (values.get("services") or {}).items()


def _mergeable(values: Mapping[str, Any], document: Document) -> None:
    """Refuse what merging could not walk through."""
    services = bare(values.get("services")) or {}
    if not isinstance(services, dict):
        raise document.error(("services",), "wants a mapping of services")
    for name, one in services.items():
        if not isinstance(one, dict):
            raise document.error(("services", name), "a service is a mapping")
        for key in ("environment", "labels"):
            try:
                pairs(one.get(key))
            except TypeError as error:
                raise document.error(("services", name, key), str(error)) from None


def _base_of(service: Mapping[str, Any]) -> str:
    return _base(service.get("extends"))


def _base(extends: Any) -> str:  # noqa: ANN401
    return _word(extends.get("service") if isinstance(extends, dict) else extends)


def _extended(values: Mapping[str, Any], document: Document) -> dict[str, Any]:
    """Lay every service of one file over the service that it extends."""
    services = values.get("services")
    if not isinstance(services, dict):
        return dict(values)
    made = {name: _over_base(services, name, document, ()) for name in services}
    return {**values, "services": made}


def _over_base(
    services: Mapping[str, Any], name: str, document: Document, seen: tuple[str, ...]
) -> Any:  # noqa: ANN401
    own = services[name]
    extends = own.get("extends") if isinstance(own, dict) else None
    if extends is None or isinstance(extends, Reset):
        return own
    path = ("services", name, "extends")
    if isinstance(extends, dict) and extends.get("file"):
        hint = "list that file in the stack's files, or copy the service"
        raise document.error((*path, "file"), "a service of another file is not read", hint=hint)
    base = _base(extends)
    if base in (*seen, name):
        raise document.error(path, f"{base} extends itself")
    if not isinstance(services.get(base), dict):
        raise document.error(path, f"there is no service {base} in this file")
    below = _over_base(services, base, document, (*seen, name))
    kept = {key: value for key, value in below.items() if key != "extends"}
    whole = {"services": {name: kept}}
    return merged(whole, {"services": {name: own}})["services"][name]


def _steps(value: Any, path: tuple[str, ...]) -> tuple[str | int, ...]:  # noqa: ANN401
    """Turn a name within a list of NAME=VALUE into its index."""
    steps: list[str | int] = []
    for key in path:
        inside = value.value if isinstance(value, Override) else value
        step: str | int = key
        if isinstance(inside, list):
            named = [str(one).partition("=")[0] for one in inside]
            step = named.index(key) if key in named else key
        steps.append(step)
        value = None
        if isinstance(inside, dict):
            value = inside.get(key)
        elif isinstance(inside, list) and str(step).isdecimal() and int(step) < len(inside):
            value = inside[int(step)]
    return tuple(steps)


def _scalar(text: str) -> str | None:
    """Give what Compose makes of a scalar without quotes: text, numbers as Go writes them."""
    if text in _NULLS:
        return None
    for name, spellings in _BOOLS.items():
        if text in spellings:
            return name
    if _INTEGER.fullmatch(text):
        return str(_integer(text))
    if _DATE.fullmatch(text):
        return f"{text} 00:00:00 +0000 UTC"
    return _go_float(float(text)) if _FLOAT.fullmatch(text) else text


def _integer(text: str) -> int:
    digits = text.replace("_", "").lstrip("+")
    old_octal = re.fullmatch(r"-?0[0-7]+", digits)
    return int(digits, 8) if old_octal else int(digits, 0)


def _go_float(number: float) -> str:
    """Write a float as Go's %v does: shortest, with an exponent below -4 and from 6 on."""
    digits = Decimal(repr(number)).normalize()
    power = digits.adjusted()
    if power in range(*_GO_PLAIN):
        return f"{digits:f}"
    mantissa = digits.scaleb(-power)
    return f"{mantissa:f}e{power:+03d}"


def _word(value: Any) -> str:  # noqa: ANN401
    return "" if value is None else str(value)


def _source(volume: Any) -> str:  # noqa: ANN401
    """Name what a volume mounts; "" for a volume without a name."""
    if isinstance(volume, dict):
        return _word(volume.get("source")) if volume.get("type") in ("bind", "volume") else ""
    first, colon, _ = _word(volume).partition(":")
    return first if colon else ""


def _is_path(source: str) -> bool:
    return source.startswith((".", "/", "~"))


def _absolute(source: str, directory: str) -> str:
    home = HOME + source[1:] if source == "~" or source.startswith("~/") else source
    return posixpath.normpath(posixpath.join(directory, home))


def _port(port: Any) -> str:  # noqa: ANN401
    """Write a port in the short form: [ADDRESS:][PUBLISHED:]TARGET[/PROTOCOL]."""
    if not isinstance(port, dict):
        return _word(port)
    published = _word(port.get("published"))
    parts = [_word(port.get("host_ip")), published, _word(port.get("target"))]
    protocol = _word(port.get("protocol"))
    text = ":".join(part for part in parts if part)
    return f"{text}/{protocol}" if protocol and protocol != "tcp" else text


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _value(text: str) -> str:
    """Quote text that Compose looks for variables in: it does so in values, not in keys."""
    return _quoted(text.replace("$", "$$"))
