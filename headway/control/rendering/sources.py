"""The files of a fleet that a role names: its own, then templates/, systemd/, and the fleet's."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from headway.control.errors import ConfigError
from headway.control.fleet import Fleet
from headway.control.near import near


@dataclass(frozen=True)
class Sources:
    """Finds and reads what the files of one role refer to by name."""

    fleet: Fleet
    role: str

    def folders(self) -> tuple[Path, ...]:
        """Say where a name is looked up, in order; the fleet's own before the built-in ones."""
        roles = [folder / self.role for folder in self.fleet.folders("roles")]
        shared = [*self.fleet.folders("templates"), *self.fleet.folders("systemd")]
        return (*roles, *shared, self.fleet.root)

    def path(self, name: str, where: str) -> Path:
        """Find a file; a ConfigError at `where` when there is none, or when it leaves the fleet."""
        if Path(name).is_absolute() or ".." in Path(name).parts:
            raise ConfigError(where, f"{name!r} leaves the fleet", hint="name a file below it")
        for folder in self.folders():
            if (folder / name).is_file():
                return folder / name
        names = {
            str(path.relative_to(folder))
            for folder in self.folders()[:-1]
            if folder.is_dir()
            for path in folder.rglob("*")
            if path.is_file() and path.name != "role.yaml"
        }
        raise ConfigError(where, f"there is no file {name!r}; {near(name, names)}")

    def files(self, name: str, where: str) -> tuple[str, ...]:
        """Name every file of a folder, or the file itself; a ConfigError where there is neither."""
        for folder in self.folders():
            if (folder / name).is_dir() and ".." not in Path(name).parts:
                found = sorted(path for path in (folder / name).rglob("*") if path.is_file())
                return tuple(str(path.relative_to(folder)) for path in found)
        self.path(name, where)
        return (name,)

    def bytes(self, name: str, where: str) -> tuple[bytes, str]:
        """Read a file: its bytes and what messages call it."""
        path = self.path(name, where)
        try:
            seen = path.stat()
            return _read(path, seen.st_mtime_ns, seen.st_size), self.fleet.shown(path)
        except OSError as error:
            raise ConfigError(where, f"{name} cannot be read: {error.strerror}") from None

    def text(self, name: str, where: str) -> tuple[str, str]:
        """Read a text file, line ends as they are: its text and what messages call it."""
        content, shown = self.bytes(name, where)
        try:
            return content.decode(), shown
        except UnicodeDecodeError as error:
            raise ConfigError(shown, f"byte {error.start} is not UTF-8") from None

    def included(self, name: str) -> tuple[str, str]:
        """Read what a template includes."""
        return self.text(name, name)


@lru_cache(maxsize=256)
def _read(path: Path, _changed: int, _size: int) -> bytes:
    """Read a file once for all hosts: a wheel may be 100 MB, and a fleet has hundreds of hosts."""
    return path.read_bytes()
