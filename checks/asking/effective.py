"""What an engine runs with, read from wherever it shows it, and what was asked of it."""

import functools
import hashlib
import json
import re
from dataclasses import dataclass
from typing import Dict, Iterable, List, Mapping, Optional, Set, Tuple

from headway.wire.compare import CompareError, find, number
from headway.wire.engines import Engine
from headway.wire.engines import Reading as Place
from headway.wire.loader import Json
from headway.wire.tools import Unreached
from headway_checks.asking.counters import samples
from headway_checks.asking.service import OK, Service

_UNSAID = ("", "auto", "none", "null", "-1")  # left to the engine, or not said
_LONG = 80  # characters; a longer text (a chat template) is told by its hash
_DTYPES = {
    "fp8": "fp8_e4m3",
    "bf16": "bfloat16",
    "half": "float16",
    **dict.fromkeys(("f16", "fp16"), "float16"),
    **dict.fromkeys(("f32", "fp32", "float"), "float32"),
}
_SIZES = {"k": 1000, "m": 1000**2, "g": 1000**3, "K": 1024, "M": 1024**2, "G": 1024**3}
_PAIR = re.compile(
    r"""['"]?\b(\w+)['"]?\s*[=:]\s*"""
    r"""('[^']*'|"[^"]*"|<\w+\.(\w+): ([^>]*)>|-?\w[\w./+-]*)(?![\w(])"""
)
_PRIVATE = re.compile("key|secret|password|token$|authorization", re.IGNORECASE)


@dataclass(frozen=True)
class Seen:
    """A value as text, and where it was seen."""

    value: str
    where: str

    def __str__(self) -> str:
        return f"{self.value} ({self.where})"


class Sources:
    """All the places where one launch shows what it runs with; each is looked at once.

    `given` are the options of the process that serves, `meant` those of the release, by long name:
    of an option given twice the last one counts.
    """

    def __init__(self, service: Service, port: int, lines: Iterable[str]) -> None:
        self.service = service
        self.lines = tuple(lines)
        self.words = _words(service, port)
        self.given = options_of(self.words, service.table)
        meant = (word for row in service.tools.part.argv for word in row)
        self.meant = options_of(tuple(meant), service.table)

    def effective(self, name: str) -> Optional[Seen]:
        """Give what a setting is: the first place that says it; None where none does."""
        return next(iter(self.told(self.service.table.settings[name].reads)), None)

    def asked(self, name: str) -> List[Seen]:
        """Give what was asked for by a setting: on the command line, by the checkpoint."""
        setting = self.service.table.settings[name]
        by_options = [Place("argv", option) for option in setting.options]
        return self.told([*by_options, *setting.asked])

    def told(self, places: Iterable[Place]) -> List[Seen]:
        """Read these places; left out are those that say nothing or leave it to the engine."""
        found = ((place, self._at(place)) for place in places)
        return [
            Seen(value, _where(place, self.service.table))
            for place, value in found
            if value.lower() not in _UNSAID
        ]

    def changed(self) -> Dict[str, Tuple[str, str]]:
        """Name what was resolved otherwise than requested, by key: (requested, resolved)."""
        table = self.service.table
        requested, resolved = self._pairs(table.requested), self._pairs(table.resolved)
        return {
            key: (value, ", ".join(sorted(resolved[key])))
            for key, values in requested.items()
            for value in sorted(values)
            if resolved.get(key) and not _PRIVATE.search(key) and value.lower() not in _UNSAID
            if not any(same(value, one) for one in resolved[key])
        }

    def _pairs(self, name: str) -> Mapping[str, Set[str]]:
        table = self.service.table
        if name in table.paths:
            return dict(_flat(self._page(name)))
        pattern = table.pattern(name)
        return pairs(self._line(pattern.regex)) if pattern else {}

    def _at(self, place: Place) -> str:
        if place.of == "default":
            return place.at
        if place.of == "log":
            return self._line(place.at)
        if place.of == "metrics":
            return self._labelled(place.at)
        if place.of == "argv":
            option, _, pointer = place.at.partition("/")
            text = self.given.get(option, "")
            return _pick(_json(text), pointer) if pointer else text
        if place.of not in self.service.table.paths:
            text = self._file(place.of)
            return _pick(_json(text), place.at) if place.at else text_of(text)
        page = self._page(place.of)
        value = _pick(page, place.at)
        times = number(_pick(page, place.times)) if place.times else None
        seen = number(value)
        return value if times is None or seen is None else str(int(seen * times))

    def _line(self, regex: str) -> str:
        """Give the last group of the last line that matches."""
        hits = (hit for line in reversed(self.lines) if (hit := re.search(regex, line)))
        hit = next(hits, None)
        if hit is None:
            return ""
        return "0" if hit.lastgroup == "off" else str(hit[hit.lastindex or 0])

    def _labelled(self, at: str) -> str:
        name, _, label = at.rstrip("}").partition("{")
        found = samples(self._metrics, name)
        if not found:
            return ""
        return found[0].labels.get(label, "") if label else text_of(float(found[0].value))

    @functools.cached_property
    def _metrics(self) -> bytes:
        return self._body("metrics")

    @functools.cached_property
    def _pages(self) -> Dict[str, Json]:
        return {}

    def _page(self, what: str) -> Json:
        if what not in self._pages:
            self._pages[what] = _json(self._body(what).decode(errors="replace"))
        return self._pages[what]

    def _body(self, what: str) -> bytes:
        """Ask for a page, under its older name where the newer one is not there."""
        path = self.service.table.paths.get(what, what)
        span = self.service.table.spans.get(path)
        for each in (path, *([span.before] if span and span.before else [])):
            try:
                answer = self.service.ask(each)
            except Unreached:
                return b""
            if answer.status == OK:
                return answer.body
        return b""

    @functools.cached_property
    def _folder(self) -> str:
        """Name the checkpoint's folder on this host; "" where it is none (a name, one file)."""
        known = "checkpoint" in self.service.table.settings
        told = self.effective("checkpoint") if known else None
        return told.value if told and told.value.startswith("/") else ""

    @functools.cached_property
    def _files(self) -> Dict[str, str]:
        return {}

    def _file(self, name: str) -> str:
        if name not in self._files:
            argv = ["cat", f"{self._folder}/{name}"]
            ran = self.service.tools.run(argv, deadline_s=10) if self._folder else None
            good = ran is not None and ran.code == 0
            self._files[name] = ran.stdout.decode(errors="replace") if ran and good else ""
        return self._files[name]


def options_of(words: Tuple[str, ...], table: Engine) -> Dict[str, str]:
    """Read a command line: options by their long names, values as text, "true" for a mere switch.

    Of several the last one counts, as engines do it; several words of one option become one text.
    """
    found: Dict[str, str] = {}
    name = ""
    for word in words:
        if re.match(r"--?[a-zA-Z]", word):
            short, has_value, value = word.partition("=")
            name = table.options.get(short, short)
            found[name] = value if has_value else "true"
        elif name:
            found[name] = word if found[name] == "true" else f"{found[name]} {word}"
    return found


def pairs(text: str) -> Dict[str, Set[str]]:
    """Find every key and scalar value in a printed dict or object, however deep it lies."""
    found: Dict[str, Set[str]] = {}
    for key, value, name, inner in _PAIR.findall(text):
        values = {name, inner} if name else {value.strip("'\"")}
        found.setdefault(key, set()).update(values)
    return found


def same(seen: str, wanted: str) -> bool:
    """Say whether two texts mean one value: numbers, sizes, and a dtype by any of its names."""
    left, right = number(_plain(seen)), number(_plain(wanted))
    if left is not None and right is not None:
        return left == right
    return _plain(seen) == _plain(wanted)


def text_of(value: Json) -> str:
    """Word a value of JSON: a fraction in 6 digits, a long text by its hash."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.6g}"  # 0.8 comes back as 0.800000011920929 from 32 bits
    text = value if isinstance(value, str) else json.dumps(value)
    long = len(text) > _LONG or "\n" in text
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()[:12]}" if long else text


def _plain(text: str) -> str:
    size = re.fullmatch(r"(\d+)([kmgKMG])", text)
    if size:
        return str(int(size[1]) * _SIZES[size[2]])
    word = text.strip().lower().replace("torch.", "").replace("attentionbackendenum.", "")
    return _DTYPES.get(word, word)


def _where(place: Place, table: Engine) -> str:
    if place.of in table.paths:
        return table.paths[place.of]
    words = {"argv": f"argv, {place.at.partition('/')[0]}", "log": "the log", "metrics": "/metrics"}
    return {**words, "default": "the engine's own default"}.get(place.of, place.of)


def _words(service: Service, port: int) -> Tuple[str, ...]:
    """Read the command line of the process that listens, else of the launch's main process."""
    proc, subject = service.tools.proc, service.subject
    pids = [one.pid for one in proc.listeners(port) if one.is_of(subject)]
    for pid in dict.fromkeys([*pids, subject.pid]):
        words = proc.argv(pid)
        if any(words[1:]):  # a title leaves empty words behind it
            return tuple(word.decode(errors="replace") for word in words)
    return ()


def _json(text: str) -> Json:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _pick(document: Json, pointer: str) -> str:
    try:
        return text_of(find(document, pointer))
    except CompareError:
        return ""


def _flat(document: Json) -> Dict[str, Set[str]]:
    found: Dict[str, Set[str]] = {}
    rows = document.items() if isinstance(document, dict) else ()
    for key, value in rows:
        if isinstance(value, dict):
            for inner, values in _flat(value).items():
                found.setdefault(inner, set()).update(values)
        elif value is not None and not isinstance(value, list):
            found.setdefault(key, set()).add(text_of(value))
    return found
