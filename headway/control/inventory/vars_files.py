"""group_vars/ and host_vars/ beside the hosts file: which files speak for a group or host.

For NAME that is the first of NAME (a file, or a folder of files in sorted order), NAME.yml,
NAME.yaml, NAME.json, as Ansible looks them up. Each is read once, when a host first needs it.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from headway.control.errors import ConfigError
from headway.control.fleet import Fleet
from headway.control.inventory.model import Value
from headway.control.inventory.values import variables

GROUP_VARS, HOST_VARS = "group_vars", "host_vars"
ENDINGS = ("", ".yml", ".yaml", ".json")


class VarsFiles:
    """The variable files beside one hosts file."""

    def __init__(self, fleet: Fleet, folder: Path) -> None:
        """Read below `folder`, where the hosts file lies."""
        self._fleet = fleet
        self._folder = folder
        self._read: dict[tuple[str, str], tuple[dict[str, Value], ...]] = {}
        self._listed: dict[str, frozenset[str]] = {}

    def of_group(self, name: str) -> tuple[dict[str, Value], ...]:
        """Give what group_vars/ says about a group, the weakest file first."""
        return self._of(GROUP_VARS, name)

    def of_host(self, name: str) -> tuple[dict[str, Value], ...]:
        """Give what host_vars/ says about a host, the weakest file first."""
        return self._of(HOST_VARS, name)

    def unused(self, kind: str, names: Iterable[str]) -> list[str]:
        """Name the files and folders below `kind` that speak for none of these names."""
        spoken = {self._entry(kind, name) for name in names}
        return [
            self._fleet.shown(self._folder / kind / entry)
            for entry in sorted(self._list(kind))
            if entry not in spoken and not entry.startswith(".") and not entry.endswith("~")
        ]

    def _of(self, kind: str, name: str) -> tuple[dict[str, Value], ...]:
        key = (kind, name)
        if key not in self._read:
            entry = self._entry(kind, name)
            paths = () if entry is None else _files(self._folder / kind / entry)
            self._read[key] = tuple(self._load(path) for path in paths)
        return self._read[key]

    def _entry(self, kind: str, name: str) -> str | None:
        there = self._list(kind)
        return next((name + ending for ending in ENDINGS if name + ending in there), None)

    def _list(self, kind: str) -> frozenset[str]:
        if kind not in self._listed:
            folder = self._folder / kind
            entries = folder.iterdir() if folder.is_dir() else ()
            self._listed[kind] = frozenset(entry.name for entry in entries)
        return self._listed[kind]

    def _load(self, path: Path) -> dict[str, Value]:
        spot = self._fleet.document(path).spot
        if spot.value is None:
            return {}
        if not isinstance(spot.value, dict):
            problem = "wants variables, as a mapping of names to values"
            raise ConfigError(spot.where, problem, hint="write one `name: value` a line")
        return variables(spot)


def _files(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    for inner in sorted(path.iterdir(), key=lambda inner: inner.name):
        if inner.name.startswith(".") or inner.name.endswith("~"):
            continue
        if inner.is_dir():
            if not inner.suffix:
                yield from _files(inner)
        elif inner.suffix in ENDINGS:
            yield inner
