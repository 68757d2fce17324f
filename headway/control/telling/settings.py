"""headway.yaml beside the inventory: where else the story of a verb goes.

    sinks:
      - webhook: {url: 'https://ops/hook', secret: !secret {env: HOOK_KEY}, tell: [ended, reported]}
      - slack: {url: !secret {file: ../kept/slack-url}}
      - textfile: {path: /var/lib/prometheus/node-exporter/headway.prom}
      - ndjson: {path: /var/log/headway.ndjson}

docs/events.md says what each of them gets.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from headway.control.errors import ConfigError
from headway.control.fleet import SETTINGS, Fleet
from headway.control.near import near
from headway.control.secrets import Secret
from headway.control.telling import story
from headway.wire.event import Body
from headway.wire.loader import kind_of

KINDS = tuple(kind_of(one) for one in (*get_args(story.Told), *get_args(Body)))
"""What can be told: pieces of the story, and what a host says."""

USUAL = ("began", "host_ended", "ended", "lost", "note")


@dataclass(frozen=True)
class Webhook:
    """POST each piece as JSON to `url`, signed with `secret`; `tell` picks kinds of pieces."""

    url: Any
    secret: Any = ""
    tell: tuple[str, ...] = USUAL


@dataclass(frozen=True)
class Slack:
    """POST a sentence where something begins, a host ended, or all is over."""

    url: Any


@dataclass(frozen=True)
class Textfile:
    """Keep a file for Prometheus' node exporter: how each host and verb ended, and measurements."""

    path: str


@dataclass(frozen=True)
class Ndjson:
    """Add every piece to a file, as --json writes it."""

    path: str


Setting = Webhook | Slack | Textfile | Ndjson


@dataclass(frozen=True)
class Settings:
    """All of headway.yaml."""

    sinks: tuple[Setting, ...] = ()


@dataclass(frozen=True)
class Outlet:
    """A setting with its texts revealed and checked; `where` is FILE:LINE, for messages."""

    where: str
    setting: Setting
    url: str = ""
    secret: str = ""
    path: Path = Path()


def outlets(fleet: Fleet) -> tuple[Outlet, ...]:
    """Read where the story goes besides the screen; no file is nowhere. ConfigError at its line."""
    file = fleet.root / SETTINGS
    if not file.exists():
        return ()
    document = fleet.document(file)
    settings = document.load(Settings) if document.value is not None else Settings()
    return tuple(
        _outlet(fleet, setting, lambda *path, n=n: document.where(("sinks", n, *path)))
        for n, setting in enumerate(settings.sinks)
    )


def _outlet(fleet: Fleet, setting: Setting, where: Callable[..., str]) -> Outlet:
    kind = kind_of(type(setting))
    if isinstance(setting, (Textfile, Ndjson)):
        path = (fleet.root / Path(setting.path).expanduser()).resolve()
        if not path.parent.is_dir():
            raise ConfigError(where(kind, "path"), f"{path.parent} is no folder", hint="make it")
        return Outlet(where(kind), setting, path=path)
    url = _text(setting.url, where(kind, "url"))
    if not url.startswith(("https://", "http://")):
        raise ConfigError(where(kind, "url"), "wants an address with http:// or https://")
    if isinstance(setting, Slack):
        return Outlet(where(kind), setting, url)
    for name in setting.tell:
        if name not in KINDS:
            raise ConfigError(
                where(kind, "tell"), f"nothing is told as {name!r}; {near(name, KINDS)}"
            )
    return Outlet(where(kind), setting, url, _text(setting.secret, where(kind, "secret")))


def _text(value: object, where: str) -> str:
    if isinstance(value, Secret):
        return value.reveal()
    if not isinstance(value, str):
        raise ConfigError(where, f"wants text, got {value!r}")
    return value
