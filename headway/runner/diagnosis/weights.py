"""The models that engines are told to load: there, whole enough to be looked at, and readable."""

import os
import pwd
import stat
from typing import Dict, Iterator, List, Tuple

from headway.runner.diagnosis.ordering import Found
from headway.runner.diagnosis.seen import Seen, Unit, Weights
from headway.runner.machine import Machine
from headway.wire.release import Part, Release

_OPTIONS = ("--model", "--model-path", "-m", "--tokenizer", "--mmproj", "--model-draft", "-md")
_FOUND = {
    "missing": "weights-missing",
    "empty": "weights-empty",
    "unreadable": "weights-unreadable",
}


def look(machine: Machine, release: Release, units: Dict[str, Unit]) -> Tuple[Weights, ...]:
    """Look at every model that a command line of the release names by a path."""
    found: List[Weights] = []
    for part in release.parts:
        if part.subject is None:
            continue
        user = units[part.subject.unit]["User"] if part.subject.unit in units else ""
        for path in named(part):
            real = machine.disk.real(path)
            found.append(
                Weights(part.name, part.subject.unit, path, _trouble(real, user), user or "root")
            )
    return tuple(found)


def named(part: Part) -> Tuple[str, ...]:
    """Name the paths of models on a command line: by option, or after `serve`."""
    words = [word for group in part.argv for word in group]
    pairs = list(zip(words, words[1:]))
    paths = [value for name, value in pairs if name in (*_OPTIONS, "serve")]
    paths += [word.partition("=")[2] for word in words if word.partition("=")[0] in _OPTIONS]
    return tuple(dict.fromkeys(path for path in paths if path.startswith("/")))


def probes(seen: Seen) -> Iterator[Found]:
    """Say which of them are not as an engine needs them."""
    for one in seen.weights:
        if one.trouble:
            told = f"{one.path}: {one.trouble}" + (
                f" by {one.user}" if one.trouble == "unreadable" else ""
            )
            yield Found(_FOUND[one.trouble], one.unit, (told,), {"path": one.path})


def _trouble(real: str, user: str) -> str:
    try:
        seen = os.stat(real)
        empty = not os.listdir(real) if stat.S_ISDIR(seen.st_mode) else seen.st_size == 0
    except (FileNotFoundError, NotADirectoryError):
        return "missing"
    except OSError:
        return "unreadable"
    if empty:
        return "empty"
    return "" if _may_read(real, user) else "unreadable"


def _may_read(real: str, user: str) -> bool:
    """Say whether a user may read a path: every folder above lets him through."""
    if user in ("", "root", "0"):
        return True
    try:
        who = pwd.getpwnam(user)
        groups = set(os.getgrouplist(user, who.pw_gid))
    except (KeyError, OSError):
        return True  # that the user does not exist is another finding
    path = os.path.realpath(real)
    if not _allowed(path, who.pw_uid, groups, 4):
        return False
    while path != "/":
        path = os.path.dirname(path)
        if not _allowed(path, who.pw_uid, groups, 1):
            return False
    return True


def _allowed(path: str, uid: int, groups: "set[int]", bit: int) -> bool:
    seen = os.stat(path)
    shift = 6 if seen.st_uid == uid else 3 if seen.st_gid in groups else 0
    return bool(seen.st_mode >> shift & bit)
