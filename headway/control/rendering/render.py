"""Renders what a host should run: its release, its gates, and the bytes they need.

Nothing is asked of the host: what a class of machines needs is declared in the inventory.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from headway.control.errors import ConfigError
from headway.control.fleet import Fleet
from headway.control.inventory.model import CLASS, Host, Instance, Value
from headway.control.near import near
from headway.control.rendering import roles
from headway.control.rendering.machine_class import CLASSES, MACHINE, machine_of
from headway.control.rendering.maker import Composed, Maker, typed
from headway.control.rendering.roles import GATE_KEYS, GATE_OWN, SERVICE, WITH, Entry
from headway.control.rendering.scope import Scope, secrets_in
from headway.control.rendering.sources import Sources
from headway.control.rendering.templates import Templates
from headway.control.secrets import Secret
from headway.control.weights import Ask, asking
from headway.wire.gate import Baseline, Gate
from headway.wire.loader import WireError, load
from headway.wire.release import Part, Release, SubjectSpec, release_of
from headway.wire.resources import File, Image, Pin, Stack, Sysctl, Unit, container_name

BUILTIN = {
    "venv_root": "/opt/headway/venvs",
    "weights_root": "/srv/weights",
    CLASS: "",
    CLASSES: {},
    "freeze": [],
}
"""Variables that everything may use and any inventory may set."""

Pinned = Callable[[str, str, str, str], Pin]
"""Gives what an image is: its reference, FILE:LINE of it, the instance and the service."""


@dataclass(frozen=True)
class Rendered:
    """What a host should run, with the bytes by hash.

    `secret_values` is for the Redactor. `sources` says where in the fleet a path on the host is
    written: the FILE it is made of, or FILE:LINE of the role. `commands` says where the options
    of a unit's command line are. `projects` are the Compose projects, by name.
    """

    host: str
    release: Release
    gates: tuple[Gate, ...]
    blobs: Mapping[str, bytes] = field(repr=False)
    secret_values: tuple[str, ...] = field(repr=False)
    sources: Mapping[str, str]
    commands: Mapping[str, str]
    projects: Mapping[str, Composed] = field(repr=False)


def render(
    fleet: Fleet,
    host: Host,
    *,
    reveal: Callable[[Secret], str] = Secret.reveal,
    pin: Pinned | None = None,
    weights: Ask | None = None,
) -> Rendered:
    """Render a host's instances, in their roles' order; whatever does not fit is a ConfigError.

    `reveal` opens secrets: lint passes one that does not. `pin` gives what an image is, by its
    reference, FILE:LINE, instance and service, `weights` what weights are: pins.yaml and
    weights.yaml where nobody passes them.
    """
    ask = _Pins(pin or by_pins(fleet, host), weights or asking(fleet))
    made = [_Instance(fleet, host, instance, reveal, ask) for instance in host.instances]
    made.sort(key=lambda one: one.role.file.order)
    by_instance = [(one, one.parts()) for one in made]
    parts = tuple(part for _, mine in by_instance for part in mine)
    gates = tuple(gate for one in made for gate in one.gates())
    _refuse_conflicts(host, by_instance)
    secrets = [pair for one in made for pair in one.maker.secrets]
    fetches = {fetch.path: fetch for one in made for fetch in one.maker.fetches}
    return Rendered(
        host.name,
        release_of(
            parts,
            secret_names=tuple(sorted({name for name, _ in secrets})),
            fetches=tuple(fetches.values()),
        ),
        gates,
        {digest: content for one in made for digest, content in one.maker.blobs.items()},
        tuple(sorted({reveal(secret) for _, secret in secrets})),
        {path: shown for one in made for path, shown in one.maker.texts.items()},
        {unit: one.options_at for one in made for unit in one.maker.written},
        {name: project for one in made for name, project in one.maker.projects.items()},
    )


@dataclass(frozen=True)
class _Pins:
    """What images and weights are."""

    images: Pinned
    weights: Ask


class _Instance:
    """One instance on its way to a part and its gates."""

    def __init__(
        self,
        fleet: Fleet,
        host: Host,
        instance: Instance,
        reveal: Callable[[Secret], str],
        pins: "_Pins",
    ) -> None:
        self.host = host.name
        self.instance = instance
        self.fleet = fleet
        self.described = host
        self.role = roles.load(fleet, instance.role, where=instance.where)
        sources = Sources(fleet, instance.role)
        values = {
            **{name: Value(value, "headway") for name, value in BUILTIN.items()},
            **self.role.defaults(),
            **host.vars,
            **instance.vars,
        }
        fixed = {
            "inventory_hostname": host.name,
            "group_names": list(host.groups),
            "instance": instance.name,
            "role": instance.role,
        }
        scope = Scope(values, fixed, Templates(sources.included, reveal))
        scope = scope.with_fixed({MACHINE: machine_of(scope, values)})
        self.maker = Maker(
            sources,
            scope,
            reveal,
            lambda ref, where, service: pins.images(ref, where, instance.name, service),
            pins.weights,
        )
        given = instance.vars.get("options") or host.vars.get("options")
        self.options_at = given.where if given else instance.where

    def parts(self) -> tuple[Part, ...]:
        """Give the instance's own part, then one for each service of a project that it owns."""
        with self._wanted():
            return (self._part(), *self._services())

    def gates(self) -> tuple[Gate, ...]:
        with self._wanted():
            return self._gates()

    @contextmanager
    def _wanted(self) -> Iterator[None]:
        """Say in an error who wants what is wrong: many instances share a role."""
        try:
            yield
        except ConfigError as error:
            wanted = f"instance {self.instance.name} of {self.host} wants it"
            hint = f"{error.hint} ({wanted})" if error.hint else wanted
            raise ConfigError(error.where, error.problem, hint=hint) from None

    def _part(self) -> Part:
        made = tuple(one for entry in self.role.resources for one in self.maker.make(entry))
        subject = self._text("subject")
        units = [one.name for one in made if isinstance(one, Unit)]
        if subject and subject not in units:
            problem = f"subject {subject!r} is no unit of this role"
            raise ConfigError(self.role.value("subject").where, problem)
        return Part(
            self.instance.name,
            self.role.name,
            made,
            self.maker.argv.get(subject, ()),
            tuple(dict.fromkeys(self.maker.env_names)) if subject else (),
            SubjectSpec(subject) if subject else None,
            self._listens(),
        )

    def _services(self) -> Iterator[Part]:
        for name, owned in self.maker.services.items():
            service = owned.service
            yield Part(
                service_part(self.instance.name, name),
                self.role.name,
                (Image(service.pin), service),
                owned.argv,
                owned.env_names,
                SubjectSpec(container_name(service.project, service.service)),
                owned.listens,
            )

    def _gates(self) -> tuple[Gate, ...]:
        found: dict[tuple[str, str], Gate] = {}
        for entry in self.role.gates:
            for part, scope in self._asked(entry):
                if not self.maker.wanted(entry, scope):
                    continue
                gate = self._gate(entry, part, scope)
                if (part, gate.name) in found:
                    problem = f"two gates are called {gate.name!r}"
                    hint = "give each a name of its own: name: ..."
                    raise ConfigError(entry.at.where, problem, hint=hint)
                found[part, gate.name] = gate
        return tuple(found.values())

    def _asked(self, entry: Entry) -> Iterator[tuple[str, Scope]]:
        """Say which parts a gate is asked about, each with the variables of its own.

        Of a project all services that are headway's, unless it names some; what should be so on
        the disk is asked of the project itself, too.
        """
        owned, scope = self.maker.services, self.maker.scope
        if not owned:
            if SERVICE in entry.body:
                raise ConfigError(entry.at.at(SERVICE), "this role has no stack, so no service")
            yield self.instance.name, scope
            return
        told = scope.render(entry.body.get(SERVICE), entry.at)
        if told is None and entry.kind == "in_place":
            yield self.instance.name, scope
        names = [told] if isinstance(told, str) else list(owned) if told is None else told
        for name in names:
            if name not in owned:
                problem = f"service {name!r} is none that the stack owns; {near(str(name), owned)}"
                raise ConfigError(entry.at.at(SERVICE), problem)
            own = {SERVICE: name, "owned": dict(owned[name].keys)}
            yield service_part(self.instance.name, name), scope.with_fixed(own)

    def _gate(self, entry: Entry, part: str, scope: Scope) -> Gate:
        rendered = _merged(scope.render(dict(entry.body), entry.at), entry)
        for key, value in rendered.items():
            if secrets_in(value):
                hint = "name the environment variable that holds it instead"
                problem = f"a secret stands in gate {entry.kind}/{key}, which is recorded"
                raise ConfigError(entry.at.at(key), problem, hint=hint)
        params = {key: value for key, value in rendered.items() if key not in GATE_KEYS}
        typed(entry, params)
        own = {key: rendered[key] for key in GATE_OWN if key in rendered}
        base = {"name": entry.kind, "kind": entry.kind, "part": part}
        base["where"] = entry.side
        try:
            gate = load(Gate, {**base, **own, "params": params})
        except WireError as error:
            place = "/".join([entry.kind, *(str(step) for step in error.path)])
            raise ConfigError(entry.at.at(*error.path), f"{place}: {error.problem}") from None
        return replace(gate, baseline=self._baseline(gate.name))

    def _baseline(self, gate: str) -> Baseline | None:
        """Give what is pinned for a gate of this role on this class of machines."""
        if CLASS not in self.described.vars:
            return None
        from headway.control.baselines import baseline_of, name_of

        name = name_of(self.described, self.instance.role)
        return baseline_of(self.fleet.baselines, name, gate)

    def _text(self, key: str) -> str:
        if not getattr(self.role.file, key):
            return ""
        at = self.role.value(key)
        found = self.maker.scope.render(at.value, at)
        if not isinstance(found, str):
            raise ConfigError(at.where, f"{key} wants text, got {found!r}")
        return found

    def _listens(self) -> tuple[int, ...]:
        if not self.role.file.listens:
            return ()
        at = self.role.value("listens")
        found = self.maker.scope.render(at.value, at)
        for index, port in enumerate(found):
            if type(port) is not int or not 0 < port < 1 << 16:
                raise ConfigError(at.at(index), f"listens wants a port's number, got {port!r}")
        return tuple(found)


def _merged(rendered: dict[str, Any], entry: Entry) -> dict[str, Any]:
    """Lay the mapping of `with` over what the role itself says: an inventory's word wins."""
    more = rendered.get(WITH, {})
    if not isinstance(more, Mapping):
        problem = f"{entry.kind}/{WITH} wants a mapping of its parameters, got {more!r}"
        raise ConfigError(entry.at.at(WITH), problem)
    return {**rendered, **more}


def service_part(instance: str, service: str) -> str:
    """Name the part that a service of an instance's project is."""
    return f"{instance}.{service}"


def by_pins(fleet: Fleet, host: Host) -> Pinned:
    """Give what pins.yaml says an image is; it is read when a first image is asked for."""

    def pinned(ref: str, where: str, instance: str, service: str) -> Pin:
        del instance
        from headway.control.pins.settings import settings  # fleets without stacks do without

        platform = settings(host.vars).platform
        return fleet.pins.of(ref, where, service=service, host=host.name, platform=platform)

    return pinned


def _refuse_conflicts(host: Host, made: list[tuple[_Instance, tuple[Part, ...]]]) -> None:
    """Refuse two instances that would write one thing, or listen on one port."""
    taken: dict[str, str] = {}
    for one, part in ((one, part) for one, parts in made for part in parts):
        claims = [_claim(resource) for resource in part.resources]
        ports = [f"port {port}" for port in part.listens]
        for claim in dict.fromkeys([*filter(None, claims), *ports]):
            other = taken.setdefault(claim, part.name)
            if other != part.name:
                problem = f"{host.name}: instances {other} and {part.name} both want {claim}"
                raise ConfigError(
                    one.instance.where, problem, hint="let it depend on {{ instance }}"
                )


def _claim(resource: Any) -> str:  # noqa: ANN401 # any resource
    if isinstance(resource, (File,)):
        return f"the file {resource.path}"
    if isinstance(resource, Unit):
        return f"the unit {resource.name}"
    if isinstance(resource, Sysctl):
        return f"the sysctl {resource.key}"
    if isinstance(resource, Stack):
        return f"the project {resource.project}"
    return ""
