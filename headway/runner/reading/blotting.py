"""Secret values of the record's own files are blotted out of what is told of it.

The controller knows today's secrets. What an older release held, or somebody wrote by hand before
headway came, only the host knows: files that others may not read, and what names a secret in any.
"""

import json
import re
from typing import Iterable, Iterator, Set, Type, TypeVar

from headway.runner.blobs import Blobs
from headway.runner.records import RecordError, Records
from headway.wire.loader import dumps, loads
from headway.wire.record import Before, WasFile
from headway.wire.release import Release
from headway.wire.resources import Blob

MASK = "***"
LEAST, WORD = 8, 12
"""Shorter values, and shorter words within a value, stand in too many other words."""

T = TypeVar("T")
_OTHERS_READ = 0o004
_VALUE = re.compile(r"^\s*(?:export\s+)?([\w.-]+)\s*[:=]\s*(.*\S)", re.MULTILINE)
_NAMED = re.compile(r"(?i)key|token|secret|passw")
_HARMLESS = re.compile(r"[\d.,:-]+|/[\w./@-]*|-.*|[A-Z][A-Z0-9_]*|[Tt]rue|[Ff]alse")
_PROSE = re.compile(r"[A-Z]?[a-z]+")
_CUT = re.compile(r"[\s\"'=:/@,;()<>|]+")


def values_in(text: str, *, named: bool = False) -> Iterator[str]:
    """Give what a file keeps: each value of an assignment, and each long word.

    With `named`, only values of what is called a secret: the file is open to everybody. A value
    that is an assignment again (systemd's Environment=KEY=value) is taken apart, too.
    """
    for name, found in _VALUE.findall(text):
        value = found.strip("\"'")
        inner = _VALUE.match(value)
        if inner is None and (not named or _NAMED.search(name)):
            yield value
        elif inner is not None:
            yield from values_in(value, named=named)
    if not named:
        words = tuple(_words(text))
        alone = len(text.split()) == 1
        yield from (word for word in words if alone or len(word) >= WORD)


def secrets_of(records: Records, blobs: Blobs) -> Set[str]:
    """Collect secrets out of every release that is kept here, and of what lay there before."""
    found: Set[str] = set()
    public: Set[str] = set()
    for release in _releases(records):
        for blob in release.blobs():
            found.update(values_in(_text(blobs, blob), named=not blob.secret))
        rows = (row for part in release.parts for row in part.argv)
        public.update(word for row in rows if not _NAMED.search(row[0]) for word in _words(*row))
    for one in _before(records):
        if isinstance(one.state, WasFile):
            named = bool(one.state.mode & _OTHERS_READ)
            found.update(values_in(_text(blobs, one.state.blob), named=named))
    return {one for one in found - public if len(one) >= LEAST and not _HARMLESS.fullmatch(one)}


def blotted(value: T, kind: Type[T], secrets: Iterable[str]) -> T:
    """Give an equal value without these, wherever they stand in it."""
    text = dumps(value)
    for secret in sorted(secrets, key=lambda one: (-len(one), one)):
        text = text.replace(json.dumps(secret)[1:-1], MASK)
    return loads(kind, text)


def _words(*texts: str) -> Iterator[str]:
    """Give the words of texts; what is a path is left whole, and out."""
    for text in texts:
        for chunk in text.split():
            if not _HARMLESS.fullmatch(chunk.rpartition("=")[2]):
                yield from (word for word in _CUT.split(chunk) if not _PROSE.fullmatch(word))


def _releases(records: Records) -> Iterator[Release]:
    for name in records.releases():
        try:
            yield records.release(name)
        except RecordError:
            continue


def _before(records: Records) -> Iterator[Before]:
    yield from records.state().under
    for name in records.transitions():
        try:
            yield from records.transition(name).before
        except RecordError:
            continue


def _text(blobs: Blobs, blob: Blob) -> str:
    return (blobs.read_if_whole(blob.sha256) or b"").decode(errors="replace")
