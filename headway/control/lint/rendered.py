"""What a host would be given, judged as the host would take it: units, environments, modes."""

from collections.abc import Iterator

from headway.control.fleet import Fleet
from headway.control.lint.environments import environment_findings, plain_secrets
from headway.control.lint.finding import Finding, Hit, finding
from headway.control.lint.routers import router_hits
from headway.control.lint.units import unit_hits
from headway.control.lint.urls import url_hits
from headway.control.rendering.render import Rendered
from headway.control.rendering.unit_file import settings
from headway.wire.env_text import environment
from headway.wire.release import Part
from headway.wire.resources import File, Stack, Unit, unit_path

OF_COMMANDS = ("option-twice", "option-one-dash", "secret-in-argv")
"""Rules about options: where a role makes the command line, the inventory is what to change."""

_OTHERS = 0o077


def rendered_findings(fleet: Fleet, made: Rendered) -> Iterator[Finding]:
    """Judge every unit, environment and readable file of a host."""
    judged = {gate.part for gate in made.gates}
    for part in made.release.parts:
        if part.name not in judged:
            role = fleet.lookup("roles", part.role) / "role.yaml"
            yield finding(fleet.shown(role), 0, "no-gate", f"instance {part.name} of {made.host}")
        units = [one for one in part.resources if isinstance(one, Unit)]
        for unit in units:
            yield from _unit(fleet, made, part, unit)
        read = {path for unit in units for path in _environment_files(made, unit)}
        for one in part.resources:
            if isinstance(one, File):
                yield from _file(made, one, environment_of_unit=one.path in read)
            elif isinstance(one, Stack):
                yield from _stack(fleet, made, one)


def _stack(fleet: Fleet, made: Rendered, stack: Stack) -> Iterator[Finding]:
    """Judge the services of a project that are headway's, and the units that start it, too."""
    from headway.control.lint import stacks  # fleets without stacks do without

    composed = made.projects[stack.project]
    loading = {
        name: (stacks.engine_in(composed.project.services[name]), float(keys["load_s"]))
        for name, keys in composed.owns.items()
        if type(keys.get("load_s")) in (int, float)
    }
    yield from stacks.stack_findings(
        composed.project, owns=stack.owns, engines=loading, secrets=made.secret_values
    )
    for unit in (one for part in made.release.parts for one in part.resources):
        if isinstance(unit, Unit):
            text = _whole(made, unit)
            names = (stack.directory, *stack.files, f"-p {stack.project}")
            if stacks.unit_starts(text) and any(name in text for name in names):
                for hit in stacks.supervisor_hits(text, composed.project):
                    yield _placed(fleet, made.sources[unit_path(unit.name)], hit)


def _unit(fleet: Fleet, made: Rendered, part: Part, unit: Unit) -> Iterator[Finding]:
    journal = any(gate.part == part.name and gate.kind == "journal" for gate in made.gates)
    engine = part.subject is not None and part.subject.unit == unit.name
    path = unit_path(unit.name)
    for hit in unit_hits(unit.name, _whole(made, unit), engine=engine, journal=journal):
        written = hit.rule in OF_COMMANDS and made.commands.get(unit.name)
        yield _placed(fleet, written or made.sources[path], hit)


def _whole(made: Rendered, unit: Unit) -> str:
    """Join a unit and its drop-ins, as systemd does."""
    blobs = [unit.fragment, *(dropin.blob for dropin in unit.dropins)]
    return "\n".join(made.blobs[blob.sha256].decode() for blob in blobs)


def _environment_files(made: Rendered, unit: Unit) -> Iterator[str]:
    for one in settings(_whole(made, unit)):
        if (one.section, one.key) == ("Service", "EnvironmentFile"):
            yield one.value.removeprefix("-")


def _file(made: Rendered, one: File, *, environment_of_unit: bool) -> Iterator[Finding]:
    content = made.blobs[one.blob.sha256]
    source, _, line = made.sources.get(one.path, one.path).partition(":")
    number = int(line) if line.isdecimal() else 0
    text = content.decode(errors="replace")
    if not one.blob.secret:
        for hit in (*url_hits(text), *router_hits(text)):
            yield finding(source, number, hit.rule, f"{one.path}: {hit.detail}")
    if environment_of_unit or one.path.endswith(".env"):
        values = environment(text)
        for rule, _, detail in environment_findings(values):
            yield finding(source, number, rule, detail)
        for name in () if one.blob.secret else plain_secrets(values):
            rule = "env-file-readable" if one.mode & _OTHERS else "secret-in-plain-text"
            yield finding(source, number, rule, name)


def _placed(fleet: Fleet, source: str, hit: Hit) -> Finding:
    """Find the line of the fleet that a setting comes from."""
    file, _, line = source.partition(":")
    if line.isdecimal():
        return finding(file, int(line), hit.rule, hit.detail)
    path = fleet.root / file
    lines = path.read_text().split("\n") if path.is_file() else []
    named = [n for n, text in enumerate(lines, 1) if hit.key and text.startswith(hit.key + "=")]
    return finding(file, named[-1] if named else 1, hit.rule, hit.detail)
