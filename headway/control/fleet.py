"""Where a fleet's files lie: its own roles, templates, checks and units, then the built-in ones.

    ROOT/inventory/hosts.yaml               one fleet, or
    ROOT/inventory/NAME/hosts.yaml          one folder a fleet, chosen by --inventory NAME
    ROOT/roles, templates, checks, systemd  what this fleet adds to the built-in ones
    ROOT/baselines.yaml                     pinned measurements (baselines.py)
    ROOT/pins.yaml                          pinned images (pins/pins.py)
    ROOT/headway.yaml                       where else the story goes (telling/settings.py)
    ROOT/weights.yaml                       pinned weights (weights.py)

group_vars/ and host_vars/ lie beside the hosts file, as Ansible wants them.
"""

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import headway
from headway.control.errors import ConfigError, UsageError
from headway.control.near import near

if TYPE_CHECKING:
    from headway.control.baselines import Baselines
    from headway.control.pins.pins import Pins
    from headway.control.secret_sources import Sources
    from headway.control.weights import Weights
    from headway.control.yaml_nodes import Document

Kind = Literal["roles", "templates", "checks", "systemd"]

HOSTS_FILES = ("hosts.yaml", "hosts.yml", "hosts", "hosts.ini")
VARIABLE = "HEADWAY_INVENTORY"
BASELINES = "baselines.yaml"
PINS = "pins.yaml"
SETTINGS = "headway.yaml"
WEIGHTS = "weights.yaml"


@dataclass(frozen=True)
class Fleet:
    """The files of one operator; `inventory` names a folder below inventory/, or is a path."""

    root: Path
    inventory: str = ""

    def lookup(self, kind: Kind, name: str, *, where: str = "") -> Path:
        """Find what lies at KIND/NAME: the fleet's own, else the built-in one.

        Not found is a ConfigError at `where` (FILE:LINE of whatever refers to it), else a
        UsageError; both offer the names there are.
        """
        if name and ".." not in Path(name).parts and not Path(name).is_absolute():
            for folder in self.folders(kind):
                path = folder / name
                if path.exists():
                    return path
        problem = f"there is no {name!r} in {kind}/; {near(name, self.names(kind))}"
        raise ConfigError(where, problem) if where else UsageError(problem)

    def folders(self, kind: Kind) -> tuple[Path, Path]:
        """Say where things of a kind are looked up, in order."""
        return self.root / kind, builtin(kind)

    def names(self, kind: Kind) -> tuple[str, ...]:
        """List what can be looked up, sorted; what is hidden or generated is left out."""
        found = {
            path.name
            for folder in self.folders(kind)
            if folder.is_dir()
            for path in folder.iterdir()
            if not path.name.startswith((".", "__"))
        }
        return tuple(sorted(found))

    def shown(self, path: Path) -> str:
        """Write a path as messages do: below the fleet's root where it lies there."""
        return str(path.relative_to(self.root)) if path.is_relative_to(self.root) else str(path)

    def document(self, path: Path) -> "Document":
        """Read a YAML file of the fleet, with secrets; one that ansible-vault made is opened."""
        from headway.control import yaml_nodes  # 18 ms that few verbs need

        text, shown = self.text(path), self.shown(path)
        if text.startswith("$ANSIBLE_VAULT;"):
            return self.secrets.vault_document(text, shown)
        return yaml_nodes.parse(text, shown, self.secrets.tags)

    def text(self, path: Path) -> str:
        """Read a text file of the fleet; what cannot be read is a ConfigError."""
        shown = self.shown(path)
        try:
            return path.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            hint = "save the file as UTF-8"
            raise ConfigError(shown, f"byte {error.start} is not UTF-8", hint=hint) from None
        except OSError as error:
            raise ConfigError(shown, f"cannot be read: {error.strerror}") from None

    @cached_property
    def secrets(self) -> "Sources":
        """Give the sources of this fleet's secrets: each is asked once."""
        from headway.control.secret_sources import Sources  # with the documents

        return Sources(self.root)

    @cached_property
    def baselines(self) -> "Baselines":
        """Give the pinned measurements of this fleet, read once."""
        if not (self.root / BASELINES).exists():
            return {}
        from headway.control.baselines import read  # few fleets have any

        return read(self)

    @cached_property
    def pins(self) -> "Pins":
        """Give the pinned images of this fleet, read once."""
        from headway.control.pins.pins import Pins, read  # with the stacks

        return read(self) if (self.root / PINS).exists() else Pins()

    @cached_property
    def weights(self) -> "Weights":
        """Give the pinned weights of this fleet, read once."""
        if not (self.root / WEIGHTS).exists():
            return {}
        from headway.control.weights import read  # few fleets have any

        return read(self)

    def hosts_file(self) -> Path:
        """Find the inventory file; several and none chosen is a UsageError that lists them."""
        folder = self.root / "inventory"
        if self.inventory:
            return self._chosen(folder)
        here = _hosts_in(folder)
        if here:
            return here
        fleets = self.inventories()
        if len(fleets) == 1:
            return _hosts_in(folder / fleets[0]) or folder
        if fleets:
            raise UsageError(
                "inventory/ holds several fleets: " + ", ".join(fleets),
                hint=f"choose one: --inventory {fleets[0]}, or export {VARIABLE}={fleets[0]}",
            )
        raise UsageError(
            f"there is no inventory in {folder}", hint="write your hosts to inventory/hosts.yaml"
        )

    def inventories(self) -> tuple[str, ...]:
        """List the folders below inventory/ that hold a fleet."""
        folder = self.root / "inventory"
        inside = sorted(folder.iterdir()) if folder.is_dir() else []
        return tuple(path.name for path in inside if path.is_dir() and _hosts_in(path))

    def _chosen(self, folder: Path) -> Path:
        for path in (folder / self.inventory, self.root / self.inventory):
            if path.is_file():
                return path
            found = _hosts_in(path)
            if found:
                return found
        problem = f"there is no inventory {self.inventory!r}"
        known = self.inventories()
        if not known:
            hint = f"inventory/ holds one fleet: leave --inventory (or {VARIABLE}) out"
            raise UsageError(problem, hint=hint)
        raise UsageError(f"{problem}; {near(self.inventory, known)}")


def find(start: Path, inventory: str | None = None) -> Fleet:
    """Find the fleet that `start` lies in: the nearest folder up that holds inventory/ or tasks.py.

    Which inventory: the one named here, else by HEADWAY_INVENTORY, else the only one there is. A
    path to one (with a slash) is taken as seen from `start`.
    """
    start = start.resolve()
    chosen = inventory or os.environ.get(VARIABLE, "")
    if "/" in chosen and (start / chosen).exists():
        chosen = str(start / chosen)
    for folder in (start, *start.parents):
        if (folder / "inventory").is_dir() or (folder / "tasks.py").is_file():
            return Fleet(folder, chosen)
    raise UsageError(
        f"{start} is in no fleet: no folder up from here holds inventory/ or tasks.py",
        hint="go to your fleet's folder, or write inventory/hosts.yaml here",
    )


def builtin(kind: Kind) -> Path:
    """Say where the built-in ones lie: in the wheel, or beside the package in a checkout."""
    package = Path(headway.__file__).resolve().parent
    packed = package / "builtin" / kind
    return packed if packed.is_dir() else package.parent / kind


def _hosts_in(folder: Path) -> Path | None:
    return next((folder / name for name in HOSTS_FILES if (folder / name).is_file()), None)
