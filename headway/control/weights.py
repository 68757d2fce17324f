"""Weights pinned to content, in weights.yaml: a revision's commit, each file's size and hash.

    Qwen/Qwen3-8B@main:
      commit: 9c925d64d72725edaf899c6cb9c377fd0709d9c8
      files:
        config.json: {size: 728, blob_id: f3d0...}
        model-00001-of-00005.safetensors: {size: 3996250744, sha256: 31d6...}

Resolved once, by a person's word, and kept in git: releases are made of this and ask no hub.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatchcase
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urldefrag, urlsplit

from headway.control.errors import ConfigError, RefusedError
from headway.control.fleet import WEIGHTS, Fleet
from headway.control.inventory.model import Host
from headway.control.secrets import Secret
from headway.control.telling.amounts import size
from headway.wire.loader import dump
from headway.wire.phase import Exit
from headway.wire.resources import Pin

if TYPE_CHECKING:
    from headway.control.desk import Desk

_HEAD = "# What weights are. `invoke pin --host HOST` writes it; keep it in git.\n"
_REPO = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")
_SHA256 = re.compile(r"sha256=([0-9a-f]{64})")
_LEFT_OUT = (".gitattributes",)
_SHORT = 12


@dataclass(frozen=True)
class PinnedFile:
    """A file's size in bytes and hash: sha256, or git's id of the blob."""

    size: int
    sha256: str = ""
    blob_id: str = ""


@dataclass(frozen=True)
class WeightsPin:
    """What a revision is: its commit (of a URL the file's sha256), its files by name."""

    commit: str
    files: dict[str, PinnedFile] = field(default_factory=dict)


@dataclass(frozen=True)
class Source:
    """Where weights are from: `repo` and `revision` of a hub, or `url` of one file.

    `where` is FILE:LINE of whoever wants them.
    """

    where: str
    repo: str = ""
    revision: str = ""
    url: str = ""
    sha256: str = ""
    endpoint: str = ""
    token: Secret | None = None

    @property
    def key(self) -> str:
        """Name it as weights.yaml does."""
        return self.url or f"{self.repo}@{self.revision}"

    @property
    def name(self) -> str:
        """Name it as a folder."""
        stem = Path(urlsplit(self.url).path).stem if self.url else self.repo.replace("/", "--")
        return re.sub(r"[^\w.-]", "-", stem)


Weights = Mapping[str, WeightsPin]
Ask = Callable[[Source], WeightsPin]


def source_of(text: str, where: str, *, endpoint: str = "", token: Secret | None = None) -> Source:
    """Read ORG/REPO, ORG/REPO@REVISION or URL#sha256=HEX; anything else is a ConfigError."""
    if "://" in text:
        url, fragment = urldefrag(text)
        found = _SHA256.fullmatch(fragment)
        if found is None or not Path(urlsplit(url).path).name:
            hint = "a URL says nothing of its content: https://HOST/FILE#sha256=64 HEX DIGITS"
            raise ConfigError(where, f"weights: {url} has no hash", hint=hint)
        return Source(where, url=url, sha256=found[1], token=token)
    repo, at, revision = text.partition("@")
    if not _REPO.fullmatch(repo) or (at and not revision):
        problem = f"weights: {text!r} is no source: ORG/REPO@REVISION, URL#sha256=HEX or a path"
        raise ConfigError(where, problem)
    return Source(where, repo, revision or "main", endpoint=endpoint.rstrip("/"), token=token)


def read(fleet: Fleet) -> Weights:
    """Read what is pinned; what does not fit is a ConfigError at its line."""
    return fleet.document(fleet.root / WEIGHTS).load(dict[str, WeightsPin])


def write(path: Path, pinned: Weights) -> None:
    """Write the file whole, sorted, a file a line, so that a change shows as a small diff."""
    from headway.control.yaml_nodes import written  # 18 ms that few verbs need

    rows = ({name: _plain(pin)} for name, pin in sorted(pinned.items()))
    new = path.with_suffix(".yaml.new")
    new.write_text(_HEAD + "".join(f"\n{written(row)}" for row in rows), encoding="utf-8")
    new.replace(path)


def asking(fleet: Fleet) -> Ask:
    """Give what answers from the fleet's pins; what is not pinned is a ConfigError."""

    def ask(source: Source) -> WeightsPin:
        pin = fleet.weights.get(source.key)
        if pin is None or (source.sha256 and pin.commit != source.sha256):
            hint = "invoke pin --host HOST resolves it, once, and writes it to weights.yaml"
            raise ConfigError(source.where, f"weights {source.key} are not pinned", hint=hint)
        return pin

    return ask


def chosen(pin: WeightsPin, patterns: Iterable[str], source: Source) -> dict[str, PinnedFile]:
    """Pick the files that fit any of these patterns (all, without one); each must fit some."""
    wanted = tuple(patterns)
    found = {
        name: file
        for name, file in sorted(pin.files.items())
        if not wanted or any(fnmatchcase(name, pattern) for pattern in wanted)
    }
    for pattern in wanted:
        if not any(fnmatchcase(name, pattern) for name in found):
            some = ", ".join(sorted(pin.files)[:8])
            problem = f"weights {source.key} have no file {pattern!r}"
            raise ConfigError(source.where, problem, hint=f"there are {some} ...")
    for name, file in found.items():
        steps = name.split("/")
        if "" in steps or ".." in steps or "." in steps or not name.isprintable():
            raise ConfigError(source.where, f"weights {source.key}: {name!r} is no plain name")
        if not file.sha256 and not file.blob_id:
            raise ConfigError(source.where, f"weights {source.key}: {name} has no hash")
    return found


def resolve(source: Source) -> WeightsPin:
    """Ask the hub, or the URL's server, what it is now; what it does not give is an error."""
    token = source.token.reveal() if source.token is not None else ""
    if source.url:
        return _of_url(source, token)
    from headway.control import hub  # a second that only this needs

    commit, files = hub.commit_and_files(
        source.repo, source.revision, source.endpoint or hub.ENDPOINT, token
    )
    pinned = {
        one.name: PinnedFile(one.size, one.sha256, one.blob_id)
        for one in files
        if one.name not in _LEFT_OUT
    }
    if not commit or not pinned:
        raise RefusedError(f"{source.key}: the hub names no commit or no file of it")
    return WeightsPin(commit, pinned)


def pin(desk: "Desk", *, repin: bool) -> Exit:
    """Pin the weights these hosts name, with `repin` all of them anew, and write weights.yaml."""
    said = pinned(desk.fleet, desk.hosts, again=repin)
    if desk.json:
        for one in said:
            desk.row("weights_pin", asdict(one))
    elif said:
        from headway.control.telling.table import table  # renders do without

        header = ("WEIGHTS", "OLD", "NEW", "FILES", "SIZE")
        rows = [
            (one.source, one.old[:_SHORT] or "-", one.new[:_SHORT], str(one.files), size(one.size))
            for one in said
        ]
        desk.print(f"{table(header, rows, desk.width)}\nwrote {WEIGHTS}; commit it")
    return Exit.ACCEPTED


@dataclass(frozen=True)
class Moved:
    """A source that was resolved: its commit before ("" was none) and now, its files, their sum."""

    source: str
    old: str
    new: str
    files: int
    size: int


def pinned(fleet: Fleet, hosts: Iterable[Host], *, again: bool = False) -> list[Moved]:
    """Resolve what these hosts name, and keep it; what is pinned stays, unless `again`.

    What was resolved before an error is kept, too.
    """
    from headway.control.rendering.render import render  # it stands on this

    pins = dict(Fleet(fleet.root).weights)  # the fleet itself reads them after this
    asked: set[str] = set()
    moved: list[Moved] = []

    def ask(source: Source) -> WeightsPin:
        old = pins.get(source.key)
        stale = again or old is None or bool(source.sha256 and old.commit != source.sha256)
        if source.key not in asked and stale:
            new = pins[source.key] = resolve(source)
            total = sum(file.size for file in new.files.values())
            was = old.commit if old is not None else ""
            moved.append(Moved(source.key, was, new.commit, len(new.files), total))
        asked.add(source.key)
        return pins[source.key]

    try:
        for host in hosts:
            render(fleet, host, pin=_any_image, weights=ask)
    finally:
        if moved:
            write(fleet.root / WEIGHTS, pins)
    return moved


def _any_image(ref: str, *_: str) -> Pin:
    """Say nothing of an image: it may not be pinned yet."""
    return Pin(ref)


def _of_url(source: Source, token: str) -> WeightsPin:
    """Ask for the size alone: the hash is the operator's own word."""
    from headway.control.pins import web  # 40 ms that only this needs

    if urlsplit(source.url).scheme not in {"http", "https"}:
        raise ConfigError(source.where, f"weights: {source.url} is neither http:// nor https://")
    got = web.ask("HEAD", source.url, {}, login=f"Bearer {token}" if token else "")
    if got.status != HTTPStatus.OK:
        raise RefusedError(f"{source.url}: the server answers {got.status}")
    length = got.headers.get("content-length", "")
    if not length.isdecimal():
        raise RefusedError(f"{source.url}: the server does not say how long it is")
    name = Path(urlsplit(source.url).path).name
    return WeightsPin(source.sha256, {name: PinnedFile(int(length), source.sha256)})


def _plain(pin: WeightsPin) -> dict[str, object]:
    """Give a pin as YAML values, without the hash that a file does not have."""
    rows = {
        name: {key: value for key, value in dump(file).items() if value != ""}
        for name, file in sorted(pin.files.items())
    }
    return {"commit": pin.commit, "files": rows}
