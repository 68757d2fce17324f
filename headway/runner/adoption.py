"""A running unit as a part of a release: what can be held of it, and what can only be named."""

import os
import re
from dataclasses import replace
from typing import Dict, Iterable, Iterator, List, Optional, Tuple

from headway.runner.changes import ADOPTED_ROLE
from headway.runner.machine import Machine
from headway.runner.resources import ResourceError, venv
from headway.runner.resources.owner import group_name, owner_name
from headway.runner.resources.place import lying
from headway.runner.resources.unit import ELSEWHERE, FOLDER, dropins, links
from headway.runner.tools.proc import RealProc
from headway.wire.record import WasFile
from headway.wire.release import Part, SubjectSpec
from headway.wire.resources import Blob, DropIn, File, Resource, Unit, dropin_path

PROPERTIES = (
    "LoadState",
    "FragmentPath",
    "EnvironmentFiles",
    "Environment",
    "Restart",
    "MainPID",
    "ControlGroup",
)
_OTHERS_READ = 0o004
_LARGEST_CONFIG = 256 * 1024  # bytes; a larger file in a command line is weights, not settings


def part_of(
    machine: Machine, name: str, unit: str, seen: Dict[str, str]
) -> Tuple[Part, Tuple[str, ...]]:
    """Hold a unit with its drop-ins, environment and settings files; name the rest."""
    held = _unit(machine, unit, seen)
    env_files = [file_of(machine, path) for path in _env_paths(machine, seen)]
    pid = int(seen.get("MainPID") or 0)
    words = [os.fsdecode(word) for word in _proc(machine).argv(pid)] if pid else []
    configs, unheld = _named_in(machine, words)
    files = {each.path: each for each in (*env_files, *configs)}
    part = Part(
        name,
        ADOPTED_ROLE,
        resources=(*files.values(), held),
        argv=options(words),
        env_names=_env_names(machine, env_files, seen),
        subject=SubjectSpec(unit) if unit.endswith(".service") else None,
        listens=_listens(machine, seen.get("ControlGroup", "")) if pid else (),
    )
    return part, unheld


def merged(first: Optional[Part], second: Part) -> Part:
    """Put two units of one part together; who is judged is the first that has a process."""
    if first is None:
        return second
    speaks, other = (first, second) if first.argv or not second.argv else (second, first)
    mine: Tuple[Resource, ...] = tuple(
        each for each in second.resources if each not in first.resources
    )
    return replace(
        speaks,
        resources=first.resources + mine,
        subject=speaks.subject or other.subject,
        env_names=tuple(dict.fromkeys(first.env_names + second.env_names)),
        listens=tuple(sorted({*first.listens, *second.listens})),
    )


def options(words: Iterable[str]) -> Tuple[Tuple[str, ...], ...]:
    """Group a command line, the executable first, then one tuple an option with its values."""
    rows: List[List[str]] = []
    for word in words:
        starts = word.startswith("-") and not re.match(r"-[\d.]", word) and word != "-"
        if not rows or starts:
            rows.append([word])
        else:
            rows[-1].append(word)
    return tuple(tuple(row) for row in rows)


# --- what can be held ---------------------------------------------------------------------------


def _unit(machine: Machine, unit: str, seen: Dict[str, str]) -> Unit:
    path = seen.get("FragmentPath", "")
    if os.path.dirname(path) not in (FOLDER, *ELSEWHERE):
        raise ResourceError(
            f"{unit} is made at run time ({path or 'no file'}), nothing lasting describes it"
        )
    fragment = _blob(machine, path)
    rows = tuple(
        DropIn(name, _blob(machine, dropin_path(unit, name))) for name in dropins(unit, machine)
    )
    enabled = bool(links(unit, machine))
    return Unit(unit, fragment, enabled, seen.get("Restart") or "no", rows)


def _blob(machine: Machine, path: str) -> Blob:
    """Keep a unit file's bytes, through links; one that others may not read is secret."""
    data = machine.disk.read(path)
    if data is None:
        raise ResourceError(f"{path} does not read")
    seen = machine.disk.seen(path)
    secret = seen is not None and seen.kind == "file" and not seen.mode & _OTHERS_READ
    return Blob(machine.blobs.put(data), len(data), secret)


def file_of(machine: Machine, path: str) -> File:
    """Hold a file with its bytes, mode and owner, as a secret: nobody said that it is none."""
    was = lying(machine, path)
    if not isinstance(was, WasFile):
        raise ResourceError(f"{path} is no regular file")
    blob = replace(was.blob, secret=True)
    return File(path, blob, was.mode, owner_name(machine, was.uid), group_name(machine, was.gid))


def _env_paths(machine: Machine, seen: Dict[str, str]) -> Iterator[str]:
    """Read `PATH (ignore_errors=no)` rows; a file that may be missing may well be."""
    for row in seen.get("EnvironmentFiles", "").splitlines():
        path = row.rpartition(" (ignore_errors")[0] or row
        found = machine.disk.seen(path)
        if found is not None and found.kind == "file":
            yield path


def _env_names(machine: Machine, files: Iterable[File], seen: Dict[str, str]) -> Tuple[str, ...]:
    names = re.findall(r"(?:^|[ \"'])([A-Za-z_][A-Za-z0-9_]*)=", seen.get("Environment", ""))
    for file in files:
        text = machine.blobs.read(file.blob).decode(errors="replace")
        names += re.findall(r"^\s*([A-Za-z_][A-Za-z0-9_]*)=", text, re.MULTILINE)
    return tuple(sorted(set(names)))


def _listens(machine: Machine, cgroup: str) -> Tuple[int, ...]:
    """Name the TCP ports that processes of this cgroup listen on."""
    proc = _proc(machine)
    return tuple(
        port
        for port in _ports(machine)
        if any(cgroup and each.cgroup.startswith(cgroup) for each in proc.listeners(port))
    )


def _ports(machine: Machine) -> List[int]:
    rows: List[str] = []
    for table in ("tcp", "tcp6"):
        text = (machine.disk.read(f"/proc/net/{table}") or b"").decode()
        rows.extend(text.splitlines()[1:])
    fields = [row.split() for row in rows]
    return sorted({int(row[1].rpartition(":")[2], 16) for row in fields if row[3] == "0A"})


def _proc(machine: Machine) -> RealProc:
    return RealProc(machine.disk.root)


# --- what can only be named ---------------------------------------------------------------------


def _named_in(machine: Machine, words: List[str]) -> Tuple[List[File], Tuple[str, ...]]:
    """Sort the paths of a command line: settings are held, programs and weights are named."""
    files: List[File] = []
    unheld: List[str] = []
    paths = [word.partition("=")[2] if word.startswith("-") else word for word in words]
    for index, path in enumerate(paths):
        seen = machine.disk.seen(path) if path.startswith("/") and path != "/" else None
        if seen is None:
            continue
        home = _venv_of(machine, path)
        if home is not None:
            unheld.append(_venv_sentence(machine, home))
        elif index and seen.kind == "file" and seen.size <= _LARGEST_CONFIG:
            files.append(file_of(machine, path))
        else:
            unheld.append(stamp(machine, path))
    return files, tuple(dict.fromkeys(unheld))


def _venv_of(machine: Machine, path: str) -> Optional[str]:
    folder = os.path.dirname(path)
    while folder != "/":
        if machine.disk.seen(folder + "/pyvenv.cfg") is not None:
            return folder
        folder = os.path.dirname(folder)
    return None


def _venv_sentence(machine: Machine, path: str) -> str:
    lines = venv.listed(machine, path)
    return f"{path}: {len(lines)} packages with fingerprint {venv.fingerprint(lines)}"


def stamp(machine: Machine, path: str) -> str:
    """Name a program or weights by size and time: hashing weights would take minutes."""
    real = machine.disk.real(path)
    files = [real]
    if os.path.isdir(real):
        files = [os.path.join(real, name) for name in sorted(os.listdir(real))]
    stats = [os.stat(each) for each in files if os.path.isfile(each)]
    size = sum(each.st_size for each in stats)
    newest = max((int(each.st_mtime) for each in stats), default=0)
    return f"{path}: {size} bytes, changed at {newest} (Unix seconds)"
