"""What would go wrong in a fleet's files, found without touching a host: `lint(fleet, hosts)`."""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path

from headway.control.errors import ConfigError
from headway.control.fleet import Fleet
from headway.control.inventory.connection import unheeded
from headway.control.inventory.model import Host
from headway.control.lint.finding import Finding, Hits, finding, place
from headway.control.lint.rendered import rendered_findings
from headway.control.lint.routers import router_hits
from headway.control.lint.scripts import script_hits
from headway.control.lint.units import text_hits, unit_hits
from headway.control.lint.urls import url_hits
from headway.control.rendering import roles
from headway.control.rendering.render import Rendered, by_pins, render
from headway.control.secrets import Secret
from headway.wire.resources import Pin

__all__ = ["Finding", "faults", "lint"]

UNITS = (".service", ".socket", ".timer", ".path", ".mount", ".target", ".slice")
_TEXT = (".conf", ".env", ".yaml", ".yml", ".json", ".toml", ".cfg", ".ini", ".sh", *UNITS)
_LARGEST = 256 * 1024


def lint(fleet: Fleet, hosts: Sequence[Host]) -> tuple[Finding, ...]:
    """Judge the fleet's own files, its roles, and what these hosts would be given.

    Secrets are not opened. The same find for several hosts is told once, in order of its place.
    """
    several = [
        *(file_findings(fleet, path) for path in files(fleet)),
        _role_findings(fleet),
        *(_host_findings(fleet, host) for host in hosts),
    ]
    told: dict[tuple[str, int, str, str], Finding] = {}
    for one in chain.from_iterable(several):
        told.setdefault((one.file, one.line, one.rule, one.what), one)
    return tuple(sorted(told.values()))


def faults(fleet: Fleet, made: Sequence[Rendered]) -> tuple[Finding, ...]:
    """Name what would break or blind a service of these releases: errors, each once, in order.

    Judged is what hosts would be given and the files that it is made from, nothing else of the
    fleet.
    """
    sources = {one.sources[path].partition(":")[0] for one in made for path in one.sources}
    paths = [path for path in files(fleet) if fleet.shown(path) in sources]
    found = {
        *chain.from_iterable(file_findings(fleet, path) for path in paths),
        *chain.from_iterable(rendered_findings(fleet, one) for one in made),
    }
    return tuple(sorted(one for one in found if one.severity == "error"))


def files(fleet: Fleet) -> Iterator[Path]:
    """Name the fleet's own text files that end up on a host, or say what does."""
    for folder in ("systemd", "templates", "roles", "inventory"):
        for path in sorted((fleet.root / folder).rglob("*")):
            plain = path.name.removesuffix(".j2")
            if path.is_file() and (plain.endswith(_TEXT) or _is_script(path)):
                yield path


def file_findings(fleet: Fleet, path: Path) -> Iterator[Finding]:
    """Judge one file as it is written; of templates only what holds whatever they render to."""
    try:
        text = path.read_text(errors="replace")[:_LARGEST]
    except OSError as error:
        yield Finding(fleet.shown(path), 0, "config", f"cannot be read: {error.strerror}", "")
        return
    for rule in _rules(path, text):
        for hit in rule(text):
            yield finding(fleet.shown(path), hit.line, hit.rule, hit.detail)


def _rules(path: Path, text: str) -> Iterator[Callable[[str], Hits]]:
    plain = path.name.removesuffix(".j2")
    yield url_hits
    yield router_hits
    if plain.endswith(".sh") or _is_script(path):
        yield script_hits
    if plain.endswith(UNITS) or "[Service]" in text:
        yield text_hits
    if path.name.endswith(UNITS):
        yield lambda whole: unit_hits(path.name, whole)


def _is_script(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            first = file.readline(80)
    except OSError:
        return False
    return first.startswith(b"#!") and b"sh" in first.split(b"/")[-1]


def _role_findings(fleet: Fleet) -> Iterator[Finding]:
    """Read every role of the fleet, whether a host uses it or not."""
    for path in sorted((fleet.root / "roles").glob("*/role.yaml")):
        try:
            roles.load(fleet, path.parent.name)
        except ConfigError as error:
            yield from_error(error)


def _host_findings(fleet: Fleet, host: Host) -> Iterator[Finding]:
    for values in (host.vars, *(instance.vars for instance in host.instances)):
        for where, what in unheeded(values):
            file, line = place(where)
            yield Finding(file, line, "ansible-variable", what, "", "warning")
    unpinned: list[ConfigError] = []
    pinned = by_pins(fleet, host)

    def pin(ref: str, where: str, instance: str, service: str) -> Pin:
        try:
            return pinned(ref, where, instance, service)
        except ConfigError as error:
            unpinned.append(error)
            return Pin(ref)

    try:
        made = render(fleet, host, reveal=_closed, pin=pin)
    except ConfigError as error:
        yield from_error(error)
        return
    yield from map(from_error, unpinned)
    yield from rendered_findings(fleet, made)


def from_error(error: ConfigError) -> Finding:
    """Tell what rendering would refuse."""
    file, line = place(error.where)
    return Finding(file, line, "config", error.problem, error.hint)


def _closed(secret: Secret) -> str:
    """Stand in for a secret: what lint finds must not depend on what it is."""
    return f"secret of {secret.where}"
