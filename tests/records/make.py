"""Write down a record as this version of headway makes it: `python -m tests.records.make`.

A host's whole life in small: something lay there, A was accepted over it, B over A, C failed, and
D waits for a person. Later versions have to read it and go back from it. A record of a version
that is not released yet is written anew; a released one is never touched again.
"""

import json
import shutil
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import headway
from headway.wire.loader import Json
from headway.wire.marks import ROOT
from headway.wire.release import Release, release_of
from headway.wire.resources import Dir, DropIn, Sysctl, Unit
from headway.wire.talk import Request
from tests.records.types import TYPES_FILE, described
from tests.runner.attempt import UNIT, Attempt, blob, part
from tests.runner.drawn import standing
from tests.runner.world import World

FOLDER = Path(__file__).parents[1] / "cases/records"


def bare(folder: Path) -> World:
    """A host with a file and a setting of somebody else's."""
    world = World(folder)
    (folder / "etc/motd").write_text("theirs\n")
    _set_swappiness(world, "60\n")
    return world


def _set_swappiness(world: World, value: str) -> None:
    path = world.root / "proc/sys/vm/swappiness"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value)


def release(world: World, words: str, files: dict[str, str]) -> Release:
    """A release of all that a record can hold: parts, files, a unit with a drop-in, a setting."""
    engine = part(world, "engine", words, {"/etc/engine/env": f"A={words}\n", **files})
    unit = Unit(
        "helper.service",
        blob(world, UNIT.format(name="helper", words=words)),
        enabled=False,
        dropins=(DropIn("10-nice.conf", blob(world, "[Service]\nNice=5\n")),),
    )
    host = part(world, "host", "same")
    more = (Dir("/opt/headway", 0o700), Sysctl("vm.swappiness", "10"), unit)
    host = replace(host, resources=(*host.resources, *more))
    return release_of((host, engine), secret_names=("TOKEN",))


def live(world: World) -> dict[str, Json]:
    """Live the life up to D waiting for a person; tell how the host stood on A, on B and now."""
    attempt = Attempt(world)
    stood = {}
    for words, files in (("a", {"/etc/motd": "a\n"}), ("b", {"/opt/b/deep": "b\n"})):
        attempt.bring(release(world, words, files))
        stood[words] = seen(world)
    attempt.bring(release(world, "WRONG-health", {}))
    attempt.bring(release(world, "MUTE-health", {"/etc/motd": "d\n"}))
    held = attempt.state().transition or ""
    attempt.records.put_request(held, Request("resume", "somebody", "once more"))
    return {**stood, "now": seen(world)}


def seen(world: World) -> Json:
    """Tell how a host stands, as JSON: git keeps no modes."""
    now = standing(world)
    return {
        "tree": {
            path: [kind, mode, data.decode()] for path, (kind, mode, data) in now.tree.items()
        },
        "up": sorted(now.up),
        "swappiness": (world.disk.read("/proc/sys/vm/swappiness") or b"").decode(),
    }


def stand(world: World, seen: Json) -> None:
    """Make a host stand as one was seen."""
    for path, (kind, mode, text) in sorted(seen["tree"].items()):
        real = Path(world.disk.real(path))
        real.parent.mkdir(parents=True, exist_ok=True)
        if kind == "link":
            real.symlink_to(text)
            continue
        if kind == "dir":
            real.mkdir(exist_ok=True)
        else:
            real.write_text(text)
        real.chmod(mode)
    _set_swappiness(world, seen["swappiness"])
    world.systemd.up = {unit: f"launch-{unit}" for unit in seen["up"]}


def main() -> None:
    """Write the record and the types it is made of."""
    version = ".".join(headway.__version__.split(".")[:2])
    target = FOLDER / version
    shutil.rmtree(target, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        world = bare(Path(folder) / "host")
        stood = live(world)
        shutil.copytree(world.disk.real(ROOT), target / "record")
    (target / "host.json").write_text(json.dumps(stood, indent=1, sort_keys=True) + "\n")
    TYPES_FILE.write_text(described())
    sys.stdout.write(f"wrote {target} and {TYPES_FILE}\n")


if __name__ == "__main__":
    main()
