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
class Span:
    """Between which versions a path, a series or a field is there; "" is all that were read.

    `before` is what stood in its place until `since`.
    """

    since: str = ""
    until: str = ""
    before: str = ""

    def __str__(self) -> str:
        """Word it: "from 0.18.0 on", "up to 0.11.2"."""
        words = [f"from {self.since} on"] if self.since else []
        words += [f"up to {self.until}"] if self.until else []
        return ", ".join([*words, *([f"{self.before} before"] if self.before else [])])


@dataclass(frozen=True)
class Reading:
    """A place where it shows what an engine runs with.

    `of` is "log" (`at` is a regex; the last line counts, its group `off` means 0), "metrics" (`at`
    is series{label}, or a series for its value), "argv" (`at` is an option), "default" (`at` is
    what the engine takes unasked), one of `Engine.paths` or a file of the checkpoint (`at` is a
    path into their JSON, "" the whole text). `times` is a path to a number that multiplies it.
    """

    of: str
    at: str = ""
    times: str = ""


@dataclass(frozen=True)
class Setting:
    """Something an engine runs with: how it is asked for, and where it shows what came of it.

    `options` are long names on the command line; behind a slash, a path into the option's JSON.
    `asked` are other places that ask for it: the checkpoint. `reads` are most trusted first.
    """

    options: Tuple[str, ...] = ()
    asked: Tuple[Reading, ...] = ()
    reads: Tuple[Reading, ...] = ()


@dataclass(frozen=True)
class Engine:
    """Names, paths, metrics, settings and log lines of one engine.

    `paths` are by what they answer: health, models, completion, chat, metrics, config.
    `completion` is the body of the smallest real request; the model's name is added.
    `counters` are series by meaning, each under the names it had over the versions, the newest
    first, and may be picked by a label. heartbeat moves with every step of the scheduler, queue is
    a histogram; failed are requests that the engine could not answer, aborted those that were left
    or cut off. `cached_apart`: its prompt counter leaves out what the prefix cache gave.
    `absent_when_off` are shown only while what they count is switched on, `lazy` only from their
    first count on.
    `reasoning` are a message's fields for what was thought, the newest first.
    `spans` say of a path, series or field named here in which versions it is there.
    `settings` are what `config` compares; the group of pattern `requested` shows what was asked
    for, that of `resolved`, a pattern or a path, what came of it.
    `loading` are statuses that mean "not yet".
    `causes` are lines that say why a start failed, `symptoms` those that only say that it did;
    `errors` may come in a good start too, and explain a failed one where no cause is known.
    Lines that `harmless` matches are never any of these: a warning that quotes an error.
    `named` are lines a release must do without or accept by name. `options` maps short spellings
    to long ones. `titles` are process titles by which its workers are known.
    `tokenize` says under which key a text is counted ("text"), and where its tokens or their
    number stand in the answer ("tokens", "" is all of it). `unending` makes a request go on to its
    limit of tokens. `own_rate` leads to the tokens/s that it tells of itself at a stream's end.
    """

    name: str
    versions: Tuple[str, ...]
    paths: Dict[str, str]
    completion: Dict[str, Json]
    counters: Dict[str, Tuple[str, ...]]
    cached_apart: bool = False
    absent_when_off: Tuple[str, ...] = ()
    lazy: Tuple[str, ...] = ()
    reasoning: Tuple[str, ...] = ("reasoning_content",)
    spans: Dict[str, Span] = field(default_factory=dict)
    settings: Dict[str, Setting] = field(default_factory=dict)
    requested: str = ""
    resolved: str = ""
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
    tokenize: Dict[str, str] = field(default_factory=dict)
    unending: Dict[str, Json] = field(default_factory=dict)
    own_rate: str = ""

    def kind_of(self, line: str) -> Tuple[str, Optional[Pattern]]:
        """Say whether a line tells of a failure: "causes", "errors" or "symptoms", and by what."""
        if not (self.harmless and _compiled(self.harmless).search(line)):
            groups = {"causes": self.causes, "symptoms": self.symptoms, "errors": self.errors}
            for group, patterns in groups.items():
                pattern = matching(line, patterns)
                if pattern is not None:
                    return group, pattern
        return "", None

    def span(self, name: str) -> str:
        """Word in which versions a name is there; "" where that is all of them."""
        return str(self.spans.get(name, ""))

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
