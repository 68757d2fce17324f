"""What is known of each engine, as data: no check and no lint rule names an engine.

One file an engine in engines/ beside this module, from its sources and from runs of it; `versions`
are those that its names and patterns were read in.
"""

import functools
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Dict, Iterable, Optional, Tuple

from headway.wire.loader import Json, load, parse

FOLDER = Path(__file__).resolve().parent / "engines"


class EngineError(ValueError):
    """There is no such engine; the sentence names those there are."""


@dataclass(frozen=True)
class Pattern:
    """A kind of log line. `finding` is its entry in findings.json, "" where it is a mere fact.

    `since` and `until` are the first and the last version read that has it; "" is all of them.
    """

    id: str
    regex: str
    finding: str = ""
    since: str = ""
    until: str = ""


@dataclass(frozen=True)
class Engine:
    """Names, paths, metrics and log lines of one engine.

    `paths` are by what they answer: health, models, completion, metrics. `loading` are statuses
    that mean "not yet". `completion` is the body of the smallest real request; the model's name is
    added. `counters` are token counters by meaning, each under the names it had over the versions.
    `causes` are lines that say why a start failed, `symptoms` those that only say that it did;
    `errors` may come in a good start too, and explain a failed one where no cause is known.
    Lines that `harmless` matches are never any of these: a warning that quotes an error.
    `named` are lines a release must do without or accept by name. `options` maps short spellings
    to long ones. `titles` are process titles by which its workers are known.
    """

    name: str
    versions: Tuple[str, ...]
    paths: Dict[str, str]
    completion: Dict[str, Json]
    counters: Dict[str, Tuple[str, ...]]
    metrics_option: str = ""
    key_variable: str = ""
    loading: Tuple[int, ...] = (503,)
    health_timeout_s: int = 10
    finish_reasons: Tuple[str, ...] = ("stop", "length")
    ready: Tuple[Pattern, ...] = ()
    causes: Tuple[Pattern, ...] = ()
    symptoms: Tuple[Pattern, ...] = ()
    errors: Tuple[Pattern, ...] = ()
    harmless: str = ""
    named: Tuple[Pattern, ...] = ()
    facts: Tuple[Pattern, ...] = ()
    options: Dict[str, str] = field(default_factory=dict)
    titles: Tuple[str, ...] = ()

    def kind_of(self, line: str) -> Tuple[str, Optional[Pattern]]:
        """Say whether a line tells of a failure: "causes", "errors" or "symptoms", and by what."""
        if not (self.harmless and _compiled(self.harmless).search(line)):
            groups = {"causes": self.causes, "symptoms": self.symptoms, "errors": self.errors}
            for group, patterns in groups.items():
                pattern = matching(line, patterns)
                if pattern is not None:
                    return group, pattern
        return "", None

    def pattern(self, name: str) -> Optional[Pattern]:
        """Find a pattern of any group by its id."""
        groups = (self.ready, self.causes, self.symptoms, self.errors, self.named, self.facts)
        return next((one for group in groups for one in group if one.id == name), None)


@dataclass(frozen=True)
class Cause:
    """The line that says best why an engine failed, and the pattern that knows it."""

    line: str
    pattern: Pattern


def names() -> Tuple[str, ...]:
    """Name every engine there is a table for."""
    return tuple(sorted(file.stem for file in FOLDER.glob("*.json")))


@functools.cache
def engine(name: str) -> Engine:
    """Read an engine's table, or raise EngineError."""
    if name not in names():
        raise EngineError(f"unknown engine {name!r}; there are {', '.join(names())}")
    return load(Engine, parse((FOLDER / f"{name}.json").read_bytes()), ("engines", name))


def first_cause(
    lines: Iterable[str], tables: Iterable[Engine], *, ended: bool = False
) -> Optional[Cause]:
    """Find the line that says why a start failed; None where none says that it did.

    The first known cause, else the first error, else the first symptom: vLLM's last line is only
    "Engine core initialization failed. See root cause above.". Errors count where there is a
    symptom, or the engine has `ended`.
    """
    tables = tuple(tables)
    found: Dict[str, Cause] = {}
    for line in lines:
        for table in tables:
            group, pattern = table.kind_of(line)
            if pattern is not None:
                found.setdefault(group, Cause(line, pattern))
    failed = ended or "causes" in found or "symptoms" in found
    order = ("causes", "errors", "symptoms") if failed else ()
    return next((found[group] for group in order if group in found), None)


def matching(line: str, patterns: Iterable[Pattern]) -> Optional[Pattern]:
    """Give the first of these patterns that a line matches."""
    return next((one for one in patterns if _compiled(one.regex).search(line)), None)


@functools.cache
def _compiled(regex: str) -> "re.Pattern[str]":
    return re.compile(regex)
