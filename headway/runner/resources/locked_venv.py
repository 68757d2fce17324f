"""A virtual environment from a lock file with hashes, in an immutable folder named by content.

An environment cannot be moved, so it is built where it will be used; a marker is written last,
after everything else is on the disk. A folder without it is half built, and is built anew.
"""

import os
from typing import Iterator, List, Optional

from headway.runner.machine import Machine
from headway.runner.resources import venv
from headway.runner.resources.error import ResourceError
from headway.runner.resources.patch import PatchError, patched
from headway.wire.resources import Blob, LockedVenv
from headway.wire.tools import Ran

MARKER = ".headway-complete"
_SCRATCH = ".headway-build"
_VENV_S = 300
_PIP_S = 3600  # prefetch's deadline in DESIGN 4
_SYNC_S = 600
_UNANSWERED = "after connection broken by"  # pip's warning before it tries once more


def diff(wanted: LockedVenv, machine: Machine) -> Optional[str]:
    """Say that it is missing, half built, or was changed after it was built."""
    built = machine.disk.read(f"{wanted.path}/{MARKER}")
    if built is None:
        there = machine.disk.seen(wanted.path) is not None
        return f"{wanted.path} " + ("was left half built" if there else "is missing")
    changed = venv.compare(built.decode().splitlines(), venv.listed(machine, wanted.path))
    return f"{wanted.path} was changed by hand: {changed}" if changed else None


def text_now(wanted: LockedVenv, machine: Machine) -> Optional[str]:
    """List what is installed, a line a package; None where there is none."""
    lines = venv.listed(machine, wanted.path)
    return "\n".join(lines) + "\n" if lines else None


def refusal(wanted: LockedVenv, machine: Machine) -> Optional[str]:
    """Say that a complete one was changed: something may run from it, so it is not rebuilt."""
    if machine.disk.seen(f"{wanted.path}/{MARKER}") is None:
        return None
    wrong = diff(wanted, machine)
    return (
        f"{wrong}; stop what runs from it and remove the folder, it is built anew"
        if wrong
        else None
    )


def apply(wanted: LockedVenv, machine: Machine) -> None:
    """Build it; when that fails nothing of it is left."""
    machine.disk.rmtree(wanted.path)
    machine.disk.mkdirs(os.path.dirname(wanted.path))
    umask = os.umask(0o022)  # the engine's user reads it, whatever the login's umask is
    try:
        _build(wanted, machine)
    except (OSError, ResourceError):
        machine.disk.rmtree(wanted.path)
        raise
    finally:
        os.umask(umask)


def _build(wanted: LockedVenv, machine: Machine) -> None:
    _check(
        machine.run([wanted.python, "-I", "-m", "venv", wanted.path], deadline_s=_VENV_S),
        f"cannot make {wanted.path} with {wanted.python} (Debian: package python3-venv)",
    )
    machine.disk.mkdirs(f"{wanted.path}/{_SCRATCH}")
    requirements = list(_requirements(wanted, machine))
    argv = pip_argv(wanted, requirements)
    env = {"PIP_CONFIG_FILE": "/dev/null"} if wanted.index_url else {}
    _check(machine.run(argv, env=env, deadline_s=_PIP_S), f"pip could not fill {wanted.path}")
    for blob in wanted.patches:
        _patch(wanted, blob, machine)
    machine.disk.rmtree(f"{wanted.path}/{_SCRATCH}")
    _check(machine.run(["sync", "--file-system", wanted.path], deadline_s=_SYNC_S), "sync failed")
    lines = venv.listed(machine, wanted.path)
    marker = "".join(line + "\n" for line in lines).encode()
    machine.disk.write(f"{wanted.path}/{MARKER}", marker, 0o644, *machine.disk.me())


def pip_argv(wanted: LockedVenv, requirements: List[str]) -> List[str]:
    """Word pip's call: nothing without a hash goes in, no environment variable has a say."""
    index = _index(wanted.index_url) if wanted.index_url else []
    files = [word for path in requirements for word in ("--requirement", path)]
    return [
        f"{wanted.path}/bin/python",
        *("-I", "-m", "pip", "--isolated", "install", "--require-hashes", "--no-input"),
        *("--no-cache-dir", "--disable-pip-version-check", "--quiet"),
        *index,
        *files,
    ]


def _index(url: str) -> List[str]:
    """Name the index; plain HTTP will do, since hashes say what is right, not the connection."""
    scheme, _, rest = url.partition("://")
    host = rest.partition("/")[0].rpartition("@")[2]
    return ["--index-url", url, *(["--trusted-host", host] if scheme == "http" else [])]


def _requirements(wanted: LockedVenv, machine: Machine) -> Iterator[str]:
    """Write the lock, and the wheels that travelled with a list of their own; give both paths."""
    scratch = f"{wanted.path}/{_SCRATCH}"
    me = machine.disk.me()
    machine.disk.write(f"{scratch}/lock.txt", machine.blobs.read(wanted.lock), 0o644, *me)
    yield f"{scratch}/lock.txt"
    rows = []
    for wheel in wanted.wheels:
        path = f"{scratch}/{wheel.name}"
        machine.disk.write(path, machine.blobs.read(wheel.blob), 0o644, *me)
        rows.append(f"{path} --hash=sha256:{wheel.blob.sha256}\n")
    if rows:
        machine.disk.write(f"{scratch}/wheels.txt", "".join(rows).encode(), 0o644, *me)
        yield f"{scratch}/wheels.txt"


def _patch(wanted: LockedVenv, blob: Blob, machine: Machine) -> None:
    """Patch site-packages; compiled files of what was patched go, their stamp may still fit."""
    folder = venv.site_packages(machine, wanted.path)
    if folder is None:
        raise ResourceError(f"{wanted.path} has no site-packages to patch")
    try:
        results = patched(
            machine.blobs.read(blob).decode(), lambda name: machine.disk.read(f"{folder}/{name}")
        )
    except (PatchError, UnicodeDecodeError) as error:
        raise ResourceError(f"patch {blob.sha256[:12]} of {wanted.path}: {error}") from None
    for name, data in results.items():
        path = f"{folder}/{name}"
        if data is None:
            machine.disk.remove(path)
        else:
            seen = machine.disk.seen(path)
            machine.disk.mkdirs(os.path.dirname(path))
            machine.disk.write(path, data, seen.mode if seen else 0o644, *machine.disk.me())
        _drop_compiled(machine, path)


def _drop_compiled(machine: Machine, path: str) -> None:
    folder, name = os.path.split(path)
    stem = name[: -len("py")]
    for each in machine.disk.names(f"{folder}/__pycache__"):
        if name.endswith(".py") and each.startswith(stem):
            machine.disk.remove(f"{folder}/__pycache__/{each}")


def _check(ran: Ran, what: str) -> None:
    """Raise with the line that says why.

    Of an index that does not answer pip's last word is that it has no such package.
    """
    if ran.code == 0:
        return
    if ran.code is None:
        raise ResourceError(f"{what}: not done after {ran.took_ms // 1000} s")
    said = (ran.stderr + b"\n" + ran.stdout).decode(errors="replace").splitlines()
    lines = [line.rstrip() for line in said if line.strip()]
    why = _decisive(lines) or f"code {ran.code}"
    if any(_UNANSWERED in line for line in lines):
        why = f"its package index does not answer; look at index_url, or at pip.conf there ({why})"
    raise ResourceError(f"{what}: {why}")


def _decisive(lines: List[str]) -> str:
    """Give pip's last ERROR line, with what stands indented below it; else the last line."""
    errors = [index for index, line in enumerate(lines) if line.startswith("ERROR:")]
    if not errors:
        return lines[-1].strip() if lines else ""
    error, below = lines[errors[-1]], lines[errors[-1] + 1 :][:1]
    if below and below[0].startswith(" "):
        return f"{error.partition('. ')[0]}: {below[0].strip().rstrip(':')}"
    return error
