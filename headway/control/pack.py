"""The runner as it travels: packed by path, never imported, named by its content.

The name hashes names and bytes of what is packed, not the zip: another zlib deflates to other
bytes, and two operators' machines must not keep two runners of the same code on a host. So an
unchanged host costs reading some files, and nothing is deflated.
"""

import hashlib
import io
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import headway
from headway.control.fleet import Fleet, builtin

CHECKS = "headway_checks"
HOST_FILES = ("headway-recover.service", "headway-host")
"""What the runner puts on a host beside its record: recovery at boot, and a command."""
_DATE = (1980, 1, 1, 0, 0, 0)  # the earliest a zip can say: the same bytes at any time
_ENTRY = "headway/runner/__main__.py"


@dataclass(frozen=True)
class Pack:
    """Runner, vocabulary and checks: bytes by path. The names are what hosts keep them under."""

    files: Mapping[str, bytes]

    @cached_property
    def sha256(self) -> str:
        """Name the runner by everything in it."""
        return _hash(self.files)

    @cached_property
    def checks_sha256(self) -> str:
        """Name the code that judges: criteria and acceptances record it."""
        prefix = CHECKS + "/"
        return _hash({name: data for name, data in self.files.items() if name.startswith(prefix)})

    @cached_property
    def zip(self) -> bytes:
        """Deflate it for a host that lacks it: sorted names, fixed dates."""
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
            for name in sorted(self.files):
                entry = zipfile.ZipInfo(name, _DATE)
                archive.writestr(entry, self.files[name], zipfile.ZIP_DEFLATED, 9)
        return buffer.getvalue()


def pack(fleet: Fleet) -> Pack:
    """Pack this headway's runner with the fleet's checks; its own go before the built-in ones."""
    package = Path(headway.__file__).resolve().parent
    files = {"headway/__init__.py": (package / "__init__.py").read_bytes()}
    for folder in ("wire", "runner"):
        for path in _sources(package / folder):
            files[path.relative_to(package.parent).as_posix()] = path.read_bytes()
    for checks in reversed(fleet.folders("checks")):
        for path in _sources(checks):
            files[f"{CHECKS}/{path.relative_to(checks).as_posix()}"] = path.read_bytes()
    files.setdefault(f"{CHECKS}/__init__.py", b"")
    for name in HOST_FILES:
        files[f"host/{name}"] = (builtin("systemd") / name).read_bytes()
    files["__main__.py"] = files[_ENTRY]
    return Pack(files)


def _sources(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        if path.suffix in (".py", ".json") and "__pycache__" not in path.parts:
            yield path


def _hash(files: Mapping[str, bytes]) -> str:
    total = hashlib.sha256()
    for name in sorted(files):
        total.update(f"{name} {len(files[name])}\n".encode())
        total.update(files[name])
    return total.hexdigest()
