"""The runner as it travels: packed by path, never imported, named by its content.

What only some hosts need travels apart, in satchels (wire/satchels.py); the name covers them, too.

The name hashes names and bytes of what is packed, not what is sent: another library compresses to
other bytes, and two operators' machines must not keep two runners of the same code on a host. So
an unchanged host costs reading some files, and nothing is compressed.
"""

import bz2
import hashlib
import importlib.util
import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import headway
from headway.control.errors import HeadwayError
from headway.control.fleet import Fleet, builtin
from headway.control.reaching.slim import slim
from headway.wire.loader import dump
from headway.wire.satchels import FILE, SATCHELS, satchel_of

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
    def satchels(self) -> dict[str, bytes]:
        """Pack what travels apart, by name: each as it is sent."""
        return {name: _zipped(self._of(name)) for name in SATCHELS}

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
    def data(self) -> bytes:
        """Compress it for a host that lacks it, with what its satchels will be sent as."""
        from headway.wire.resources import Blob  # a host that has it is called before it is loaded

        sent = {
            name: Blob(hashlib.sha256(data).hexdigest(), len(data))
            for name, data in self.satchels.items()
        }
        index = json.dumps({name: dump(blob) for name, blob in sent.items()}).encode()
        return _zipped({**self._of(""), FILE: index})

    def _of(self, satchel: str) -> dict[str, bytes]:
        return {name: data for name, data in self.files.items() if satchel_of(name) == satchel}


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
    files["pynvml.py"] = _library("pynvml")
    files["__main__.py"] = files[_ENTRY]
    return Pack(files)


def _library(name: str) -> bytes:
    """Read a library that is one file, without importing it."""
    found = importlib.util.find_spec(name)
    if found is None or found.origin is None:
        raise HeadwayError(f"{name} is not installed here", hint="pip install headway again")
    return Path(found.origin).read_bytes()


def _sources(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        if path.suffix in (".py", ".json", ".txt") and "__pycache__" not in path.parts:
            yield path


def _zipped(files: Mapping[str, bytes]) -> bytes:
    """Compress a plain zip as one stream: half the size of a deflated one.

    Its many small files are alike, which a zip that deflates each by itself cannot use.
    """
    plain = io.BytesIO()
    with zipfile.ZipFile(plain, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(files):
            data = slim(files[name]) if _is_ours(name) else files[name]
            archive.writestr(zipfile.ZipInfo(name, _DATE), data)
    return bz2.compress(plain.getvalue())


def _is_ours(name: str) -> bool:
    """Say whether a source is ours: a library's own carries its licence in a comment."""
    return name.endswith(".py") and name != "pynvml.py"


def _hash(files: Mapping[str, bytes]) -> str:
    total = hashlib.sha256()
    for name in sorted(files):
        total.update(f"{name} {len(files[name])}\n".encode())
        total.update(files[name])
    return total.hexdigest()
