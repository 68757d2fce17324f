"""Compose projects: what cuts a command short, kills an engine early, or shows a secret."""

import re
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

from headway.control.lint.commands import argv_findings, engine_of
from headway.control.lint.environments import environment_findings, plain_secrets
from headway.control.lint.finding import Finding, Hit, Hits, placed
from headway.control.lint.scripts import script_hits
from headway.control.lint.units import seconds
from headway.control.rendering import shell_words
from headway.control.rendering.compose import Project, ServiceText
from headway.control.rendering.interpolation import has_default
from headway.control.rendering.unit_file import last, settings

_SHELL = re.compile(r"(?:.*/)?(?:ba|da|z|)sh")
_SCRIPT_OPTION = re.compile(r"-[a-z]*c")
_IMAGES = {
    "vllm-openai": "vllm",
    "vllm/vllm": "vllm",
    "sglang": "sglang",
    "llama.cpp": "llama_cpp",
    "llama-cpp": "llama_cpp",
}
_COMPOSES = re.compile(r"docker(?:\s+compose|-compose)\b.*\bup\b(?P<services>.*)")
_DETACHED = re.compile(r"(?:^|\s)(?:-d|--detach|--no-start)(?:\s|$)")
_RESTARTS = ("always", "on-failure", "on-abnormal", "on-abort", "on-watchdog", "on-success")


@dataclass(frozen=True)
class Seen:
    """A service as its rules see it: `engine` is "" for no engine, `load_s` 0 where unknown."""

    project: Project
    service: ServiceText
    engine: str
    load_s: float
    secrets: Collection[str]

    def found(self, rule: str, key: str, *deeper: str, detail: str = "") -> Finding:
        """Make a finding at a key of the service."""
        where = self.project.at("services", self.service.name, key, *deeper)
        about = f"service {self.service.name}"
        return placed(where, rule, f"{about}, {detail}" if detail else about)


Found = Iterator[Finding]


def stack_findings(
    project: Project,
    *,
    owns: Collection[str] | None = None,
    engines: Mapping[str, tuple[str, float]] | None = None,
    secrets: Collection[str] = (),
) -> Found:
    """Judge the services of a project, or those of `owns`.

    `engines` says of a service which engine it is ("" for none that is known) and how many seconds
    loading takes, 0 for what is no engine; other services are engines if their image or command
    says so. `secrets` are values that must not be shown (or what stands for them).
    """
    for service in project.services.values():
        if owns is not None and service.name not in owns:
            continue
        engine, load_s = (engines or {}).get(service.name, (engine_in(service), 0.0))
        seen = Seen(project, service, engine, load_s, secrets)
        for rule in (*ALWAYS, *(ENGINE if engine or load_s else ())):
            yield from rule(seen)
    for one in project.unset:
        yield placed(one.where, "variable-unset", one.variable)


def supervisor_hits(text: str, project: Project) -> Hits:
    """Judge a systemd unit that starts this project: one of the two restarts its services."""
    found = settings(text)
    restart = last(found, "Restart")
    line = next((one.line for one in reversed(found) if one.key == "Restart"), 1)
    for one in found:
        ups = _COMPOSES.search(one.value) if one.key == "ExecStart" else None
        if ups is None or restart not in _RESTARTS or _DETACHED.search(ups["services"]):
            continue
        named = set(ups["services"].split()) & set(project.services) or set(project.services)
        both = [
            f"{name} (restart: {service.restart})"
            for name, service in project.services.items()
            if name in named and service.restart not in ("", "no")
        ]
        if both:
            detail = f"Restart={restart} over {', '.join(both)}"
            yield Hit(line, "two-supervisors", detail, "Restart")


def unit_starts(text: str) -> bool:
    """Say whether a systemd unit runs `docker compose up`."""
    return any(one.key == "ExecStart" and _COMPOSES.search(one.value) for one in settings(text))


def engine_in(service: ServiceText) -> str:
    """Name the engine that a service's command or image says it is, "" for none."""
    argv = argv_of(service)
    named = [engine for part, engine in _IMAGES.items() if part in service.image]
    return engine_of(" ".join(argv[:4])) or (named[0] if named else "")


def argv_of(service: ServiceText) -> tuple[str, ...]:
    """Give what a service runs, as far as its files say; of a shell's script the last command."""
    argv = (*(service.entrypoint or ()), *(service.command or ()))
    script = _script(argv)
    if script is None:
        return argv
    try:
        inside = shlex.split(script.replace("\\\n", " ").replace("\n", " ; "), comments=False)
    except ValueError:
        return argv
    ends = [at for at, word in enumerate(inside) if re.fullmatch(r"[;&|]+", word)]
    return tuple(inside[ends[-1] + 1 if ends else 0 :])


def _words_lost(seen: Seen) -> Found:
    for key, raw in _strings(seen.service):
        lost = shell_words.split(raw).lost.strip()
        if lost:
            yield seen.found("command-words-lost", key, detail=f"{lost[:60]!r}")


def _comments(seen: Seen) -> Found:
    for key, raw in _strings(seen.service):
        argv = shell_words.split(raw).words
        comment = next((word for word in argv if word.startswith("#")), "")
        if comment and _script(argv) is None:
            yield seen.found("command-comment", key, detail=comment)


def _shell_comments(seen: Seen) -> Found:
    """Judge a script for `sh -c`: folded, it is one line, and a comment takes all the rest."""
    service = seen.service
    for key, argv in (("entrypoint", service.entrypoint), ("command", service.command)):
        script = _script((*(service.entrypoint or ()), *argv)) if argv else None
        if script is None or argv is None or script not in argv:
            continue
        path = ("services", service.name, key)
        item = seen.project.style(*path, str(argv.index(script)))
        folded = ">" in (seen.project.style(*path), item)
        line = next((one for one in script.strip().split("\n") if _bare_comment(one)), "")
        rest = _bare_comment(line)
        if rest and ("\n" not in script.strip() or folded) and (folded or " -" in rest):
            yield seen.found("shell-comment", key, detail=rest[:60])
        elif "\n" in script.strip():
            for hit in script_hits(script):
                detail = f"line {hit.line} of the script"
                yield seen.found(hit.rule, key, detail=f"{detail}: {hit.detail}".rstrip(": "))


def _arguments(seen: Seen) -> Found:
    for rule, detail in argv_findings(argv_of(seen.service), seen.engine):
        yield seen.found(rule, "command", detail=detail)


def _image(seen: Seen) -> Found:
    if has_default(seen.service.image_raw):
        now = ", and does so now" if seen.service.image_falls_back else ""
        yield seen.found("image-default", "image", detail=seen.service.image_raw + now)


def _environment(seen: Seen) -> Found:
    values = {name: value for name, value in seen.service.environment.items() if value}
    for rule, name, detail in environment_findings(values):
        yield seen.found(rule, "environment", name, detail=detail)
    named = set(plain_secrets(values))
    for name, value in values.items():
        if name in named or any(secret in value for secret in seen.secrets if secret):
            yield seen.found("secret-in-inspect", "environment", name, detail=name)
    for key, others in (("labels", tuple(seen.service.labels.values())), ("command", _argv(seen))):
        if any(secret in value for value in others for secret in seen.secrets if secret):
            yield seen.found("secret-in-inspect", key, detail=f"{key} with a secret")


def _stop_grace(seen: Seen) -> Found:
    if not seen.service.stop_grace_period:
        yield seen.found("no-stop-grace", "image")


def _cards(seen: Seen) -> Found:
    key = "gpus" if "gpus" in seen.service.whole else "deploy"
    for one in seen.service.devices:
        if not one.ids and one.count in ("all", "-1", ""):
            yield seen.found("cards-all", key, detail=f"count: {one.count or 'all by default'}")
    shown = seen.service.environment.get("NVIDIA_VISIBLE_DEVICES")
    if seen.service.whole.get("runtime") == "nvidia" and shown == "all":
        detail = "NVIDIA_VISIBLE_DEVICES=all"
        yield seen.found("cards-all", "environment", "NVIDIA_VISIBLE_DEVICES", detail=detail)


def _start_period(seen: Seen) -> Found:
    check = seen.service.healthcheck
    test = check.get("test")
    if not test or check.get("disable") == "true" or test == ["NONE"]:
        return
    period = seconds(str(check.get("start_period") or "0s"))
    if period is not None and (period < seen.load_s or period == 0):
        takes = f", loading takes {seen.load_s:g} s" if seen.load_s else ""
        detail = f"start_period {period:g} s{takes}"
        yield seen.found("start-period-short", "healthcheck", "start_period", detail=detail)


def _strings(service: ServiceText) -> Iterator[tuple[str, str]]:
    """Give the commands that are written as one string."""
    for key, raw in (("entrypoint", service.entrypoint_raw), ("command", service.command_raw)):
        if isinstance(raw, str):
            yield key, raw


def _argv(seen: Seen) -> tuple[str, ...]:
    return (*(seen.service.entrypoint or ()), *(seen.service.command or ()))


def _script(argv: tuple[str, ...]) -> str | None:
    """Find the script in `bash -c SCRIPT`, None where no shell is called."""
    for at, word in enumerate(argv[:-2] if len(argv) > 2 else ()):  # noqa: PLR2004 # sh -c SCRIPT
        if _SHELL.fullmatch(word) and _SCRIPT_OPTION.fullmatch(argv[at + 1]):
            return argv[at + 2]
    return None


def _bare_comment(line: str) -> str:
    """Give what a shell takes for a comment in a line, from its # on."""
    quote = ""
    for at, char in enumerate(line):
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char == "#" and (at == 0 or line[at - 1] in " \t;"):
            return line[at:]
    return ""


Rule = Callable[[Seen], Found]
ALWAYS: tuple[Rule, ...] = (
    *(_words_lost, _comments, _shell_comments, _arguments, _image, _environment),
)
ENGINE: tuple[Rule, ...] = (_stop_grace, _cards, _start_period)
