"""A systemd unit: fragment, drop-ins, and whether it starts at boot.

A unit owns its whole folder /etc/systemd/system/NAME.d: a drop-in somebody left there would
change what runs, so apply removes it (the before-images keep it). Reload, start, stop and enable
are steps of the transition.
"""

from typing import Dict, Iterator, List, Optional, Tuple

from headway.runner.machine import Machine
from headway.runner.resources.error import ResourceError
from headway.runner.resources.file import holds, text_at
from headway.runner.resources.place import before_of, clear, in_the_way, make_way, relabel
from headway.wire.record import Absent, Before, WasUnit
from headway.wire.resources import Blob, Unit, dropin_path, unit_path

NAME = "unit:"
GUARD = "zz-headway-guard.conf"
FOLDER = "/etc/systemd/system"
ELSEWHERE = (
    "/run/systemd/system",
    "/usr/local/lib/systemd/system",
    "/usr/lib/systemd/system",
    "/lib/systemd/system",
)
_PASSING = ("/etc/systemd/system.control", "/run/systemd/system.control", "/run/systemd/system")
_OTHERS_READ = 0o004


def diff(unit: Unit, machine: Machine, *, enabled: bool = True) -> Optional[str]:
    """Say what is not as wanted; `enabled`: whether it has to start at boot by now, too."""
    wrong = list(_file_differences(unit, machine))
    wrong += [f"{path} is not of this release" for path in strangers(unit, machine)]
    wrong += [f"{path} changes it" for path in passing(unit.name, machine)]
    if enabled:
        wrong += _enabled_otherwise(unit, machine)
    return f"{unit.name}: " + "; ".join(wrong) if wrong else None


def text_now(unit: Unit, machine: Machine) -> Optional[str]:
    """Read fragment and drop-ins as `systemctl cat` shows them; None where any is secret."""
    blobs = (unit.fragment, *(dropin.blob for dropin in unit.dropins))
    if any(blob.secret for blob in blobs):
        return None
    fragment = effective(unit.name, machine)
    paths = [fragment] if fragment else []
    paths += [dropin_path(unit.name, name) for name in dropins(unit.name, machine)]
    texts = [(path, text_at(machine, path)) for path in paths]
    shown = [f"# {path}\n{text}" for path, text in texts if text is not None]
    return "\n".join(shown) if shown else None


def refusal(unit: Unit, machine: Machine) -> Optional[str]:
    """Say why it cannot be applied here: above all, a drop-in that headway cannot take away."""
    for path in passing(unit.name, machine):
        return f"{path} changes {unit.name}; remove it, then `systemctl daemon-reload`"
    wanted = (unit_path(unit.name), *(dropin_path(unit.name, d.name) for d in unit.dropins))
    return next((why for why in (in_the_way(machine, path) for path in wanted) if why), None)


def apply(unit: Unit, machine: Machine) -> None:
    """Bring fragment and drop-ins about; what another release or a person left there goes."""
    for path in strangers(unit, machine):
        if not clear(machine, path):
            raise ResourceError(f"{path} is a folder where a drop-in could be; move it away")
    _drop_empty_folder(unit, machine)
    if not _fragment_stands(unit, machine):
        _write_fragment(unit, machine)
    for dropin in unit.dropins:
        path = dropin_path(unit.name, dropin.name)
        if not _as_wanted(machine, path, dropin.blob):
            _write(machine, path, dropin.blob)


def before(unit: Unit, machine: Machine) -> Tuple[Before, ...]:
    """Record whether it is enabled and runs, its fragment, its folder and every drop-in."""
    folder = unit_path(unit.name) + ".d"
    names = {*dropins(unit.name, machine), *(dropin.name for dropin in unit.dropins)}
    paths = [dropin_path(unit.name, name) for name in sorted(names)]
    standing = _standing(unit.name, machine)
    return (standing, *before_of(machine, unit_path(unit.name), folder, *paths))


def remove(unit: Unit, machine: Machine) -> None:
    """Remove fragment and drop-ins, and the links that would start it at boot."""
    unlink(unit.name, machine)
    machine.disk.remove(unit_path(unit.name))
    for dropin in unit.dropins:
        machine.disk.remove(dropin_path(unit.name, dropin.name))
    machine.disk.rmdir(unit_path(unit.name) + ".d")


# --- looking --------------------------------------------------------------------------------


def effective(name: str, machine: Machine) -> Optional[str]:
    """Say which fragment systemd goes by: /etc before /run before what packages bring."""
    paths = (f"{folder}/{name}" for folder in (FOLDER, *ELSEWHERE))
    return next((path for path in paths if machine.disk.seen(path) is not None), None)


def dropins(name: str, machine: Machine) -> List[str]:
    """Name the drop-ins in the unit's own folder, but for headway's guard."""
    names = machine.disk.names(unit_path(name) + ".d")
    return [each for each in names if each.endswith(".conf") and each != GUARD]


def strangers(unit: Unit, machine: Machine) -> List[str]:
    """Give the paths of drop-ins in the unit's own folder that it does not want."""
    wanted = {dropin.name for dropin in unit.dropins}
    return [
        dropin_path(unit.name, name) for name in dropins(unit.name, machine) if name not in wanted
    ]


def passing(name: str, machine: Machine) -> List[str]:
    """Give the paths of drop-ins that `systemctl set-property` and the like left for a while."""
    return [
        f"{folder}/{name}.d/{each}"
        for folder in _PASSING
        for each in machine.disk.names(f"{folder}/{name}.d")
        if each.endswith(".conf")
    ]


def links(name: str, machine: Machine) -> List[str]:
    """Give the paths of the links in /etc that make a unit start with others: it is enabled."""
    folders = [
        each for each in machine.disk.names(FOLDER) if each.endswith((".wants", ".requires"))
    ]
    paths = (f"{FOLDER}/{folder}/{name}" for folder in folders)
    return [path for path in paths if machine.disk.seen(path) is not None]


def unlink(name: str, machine: Machine) -> None:
    """Disable a unit without asking systemd, which refuses once the fragment is gone."""
    for path in links(name, machine):
        machine.disk.remove(path)
        machine.disk.rmdir(path.rpartition("/")[0])


def install(fragment: bytes) -> Dict[str, List[str]]:
    """Read the [Install] section: WantedBy and its like with all their words."""
    found: Dict[str, List[str]] = {}
    section = ""
    for line in fragment.decode(errors="replace").splitlines():
        text = line.strip()
        if text.startswith("["):
            section = text
        elif section == "[Install]" and "=" in text and text[0] not in "#;":
            key, _, value = text.partition("=")
            found.setdefault(key.strip(), []).extend(value.split())
    return found


# --- going back -----------------------------------------------------------------------------


def put_back(machine: Machine, name: str, was: WasUnit) -> None:
    """Enable or disable a unit as it was; whether it runs is the transition's to bring about."""
    from headway.runner import systemd  # hosts that change nothing do without

    now = bool(links(name, machine))
    if was.enabled and not now:
        systemd.enable(machine.run, [name])
    if now and not was.enabled:
        unlink(name, machine)


def _standing(name: str, machine: Machine) -> Before:
    from headway.runner import systemd  # hosts that change nothing do without

    if effective(name, machine) is None:
        return Before(NAME + name, Absent())
    state = systemd.show(machine.run, name, ["ActiveState"])["ActiveState"]
    running = state in ("active", "activating", "reloading")
    return Before(NAME + name, WasUnit(bool(links(name, machine)), running))


# --- the parts of a diff and of apply ---------------------------------------------------------


def _file_differences(unit: Unit, machine: Machine) -> Iterator[str]:
    if not _fragment_stands(unit, machine):
        path = effective(unit.name, machine)
        yield f"{path} differs" if path else f"{unit_path(unit.name)} is missing"
    for dropin in unit.dropins:
        path = dropin_path(unit.name, dropin.name)
        if not _as_wanted(machine, path, dropin.blob):
            yield f"{path} differs" if machine.disk.seen(path) else f"{path} is missing"


def _enabled_otherwise(unit: Unit, machine: Machine) -> List[str]:
    """Say so unless it has no [Install]: others start it then, enabled or not."""
    now = bool(links(unit.name, machine))
    if now and not unit.enabled:
        return ["is enabled, and should not start at boot"]
    if unit.enabled and not now:
        path = effective(unit.name, machine)
        wants = install((machine.disk.read(path) if path else None) or b"")
        if wants.get("WantedBy") or wants.get("RequiredBy"):
            return ["is not enabled: it would not start at boot"]
    return []


def _fragment_stands(unit: Unit, machine: Machine) -> bool:
    path = effective(unit.name, machine)
    return path is not None and _as_wanted(machine, path, unit.fragment)


def _as_wanted(machine: Machine, path: str, blob: Blob) -> bool:
    """Bytes and, for a file of /etc, readers: a unit that holds a secret is not for others."""
    seen = machine.disk.seen(path)
    if seen is None or seen.kind not in ("file", "link") or not holds(machine, path, seen, blob):
        return False
    if seen.kind == "link" or not path.startswith(FOLDER):
        return True
    return bool(seen.mode & _OTHERS_READ) is not blob.secret


def _write_fragment(unit: Unit, machine: Machine) -> None:
    """Write it to /etc, or uncover the one below: a copy would hide a package's next version."""
    path = unit_path(unit.name)
    below = [f"{folder}/{unit.name}" for folder in ELSEWHERE]
    shown = next((each for each in below if machine.disk.seen(each) is not None), None)
    if shown is not None and _as_wanted(machine, shown, unit.fragment):
        machine.disk.remove(path)
    else:
        _write(machine, path, unit.fragment)


def _write(machine: Machine, path: str, blob: Blob) -> None:
    make_way(machine, path)
    mode = 0o600 if blob.secret else 0o644
    machine.disk.write(path, machine.blobs.read(blob), mode, *machine.disk.me())
    relabel(machine, path)


def _drop_empty_folder(unit: Unit, machine: Machine) -> None:
    if not unit.dropins and machine.disk.seen(unit_path(unit.name) + ".d") is not None:
        machine.disk.rmdir(unit_path(unit.name) + ".d")
