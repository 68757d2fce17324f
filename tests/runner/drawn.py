"""Hosts and releases drawn at random: parts over the same few paths, and what nobody owns."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from hypothesis import strategies as st

from headway.runner import changes
from headway.wire.release import Part, Release, SubjectSpec, release_of
from headway.wire.resources import Dir, DropIn, File, Resource, Sysctl, Unit
from tests.runner.attempt import UNIT, blob
from tests.runner.world import UNITS, WANTS, World

PATHS = ("/etc/a", "/etc/s/b", "/etc/s/c", "/opt/new/deep/d", "/opt/new/e")
SHARED = ("/etc/s", "/opt/new", "/opt/new/deep")
NAMES = ("one.service", "two.service", "three.service")
DROPINS = ("10-x.conf", "20-y.conf")
KEYS = ("kernel.panic", "vm.swappiness")  # net.* would ask for a confirmation
PARTS = ("p", "q", "r")

owner = st.sampled_from((*PARTS, None))
words = st.sampled_from(("old", "new", "newer"))
dropins = st.dictionaries(st.sampled_from(DROPINS), words, max_size=2)


@dataclass(frozen=True)
class DrawnUnit:
    """A unit of a part: what its texts say, and whether it starts at boot."""

    part: str
    words: str
    dropins: dict[str, str]
    enabled: bool
    subject: bool


@dataclass(frozen=True)
class Drawn:
    """A release before it has bytes: whose each path, unit and setting is."""

    order: tuple[str, ...]
    files: dict[str, tuple[str, str, int]]
    folders: dict[str, tuple[frozenset[str], int]]
    units: dict[str, DrawnUnit]
    settings: dict[str, tuple[str, str]]

    def made(self, world: World, wrong: str = "", fault: str = "") -> Release:
        """Make it; units of the part `wrong` say `fault`, which the world's judge heeds."""
        return release_of(
            tuple(self._part(world, name, fault if name == wrong else "") for name in self.order)
        )

    def parts_with_units(self) -> list[str]:
        """Name the parts that something judges by a unit."""
        mine = {unit.part for unit in self.units.values() if unit.subject}
        return [name for name in self.order if name in mine]

    def _part(self, world: World, name: str, fault: str) -> Part:
        found: list[Resource] = []
        for path, (parts, mode) in self.folders.items():
            if name in parts:
                found.append(Dir(path, mode))
        for path, (part, text, mode) in self.files.items():
            if part == name:
                found.append(File(path, blob(world, text), mode))
        for key, (part, value) in self.settings.items():
            if part == name:
                found.append(Sysctl(key, value))
        subject = None
        for unit, drawn in self.units.items():
            if drawn.part == name:
                found.append(_unit(world, unit, drawn, fault))
                subject = subject or (SubjectSpec(unit) if drawn.subject else None)
        return Part(name, "drawn", tuple(found), subject=subject)


def _unit(world: World, name: str, drawn: DrawnUnit, fault: str) -> Unit:
    text = UNIT.format(name=name.partition(".")[0], words=f"{drawn.words} {fault}".strip())
    drops = (
        DropIn(each, blob(world, f"# {words}\n")) for each, words in sorted(drawn.dropins.items())
    )
    return Unit(name, blob(world, text), drawn.enabled, "always", tuple(drops))


@st.composite
def releases(draw: st.DrawFn) -> Drawn:
    """Draw a release of one to three parts in any order."""
    order = draw(
        st.permutations(PARTS).flatmap(
            lambda row: st.sampled_from(range(1, 4)).map(lambda count: tuple(row[:count]))
        )
    )
    mine = st.sampled_from((*order, *order, None))
    files, folders, units, settings = {}, {}, {}, {}
    for path in PATHS:
        if part := draw(mine):
            files[path] = (part, draw(words), draw(st.sampled_from((0o600, 0o644))))
    for path in SHARED:
        if parts := draw(st.frozensets(st.sampled_from(order))):
            folders[path] = (parts, draw(st.sampled_from((0o700, 0o755))))
    for name in NAMES:
        if part := draw(mine):
            units[name] = DrawnUnit(
                part, draw(words), draw(dropins), draw(st.booleans()), draw(st.booleans())
            )
    for key in KEYS:
        if part := draw(mine):
            settings[key] = (part, draw(st.sampled_from(("1", "2"))))
    return Drawn(order, files, folders, units, settings)


@dataclass(frozen=True)
class Lying:
    """Something on the host that no release of headway's put there."""

    kind: str
    path: str
    text: str
    mode: int
    enabled: bool
    running: bool


unowned = st.one_of(
    st.builds(
        Lying,
        kind=st.sampled_from(("file", "link")),
        path=st.sampled_from(PATHS),
        text=st.sampled_from(("", "theirs\n")),
        mode=st.sampled_from((0o600, 0o644)),
        enabled=st.just(value=False),
        running=st.just(value=False),
    ),
    st.builds(
        Lying,
        kind=st.just("dir"),
        path=st.sampled_from(SHARED),
        text=st.just(""),
        mode=st.sampled_from((0o700, 0o755)),
        enabled=st.just(value=False),
        running=st.just(value=False),
    ),
    st.builds(
        Lying,
        kind=st.just("unit"),
        path=st.sampled_from(NAMES),
        text=words,
        mode=st.just(0o644),
        enabled=st.booleans(),
        running=st.booleans(),
    ),
    st.builds(
        Lying,
        kind=st.just("file"),
        path=st.sampled_from([f"{UNITS}/{unit}.d/{name}" for unit in NAMES for name in DROPINS]),
        text=words,
        mode=st.sampled_from((0o600, 0o644)),
        enabled=st.just(value=False),
        running=st.just(value=False),
    ),
)


def lay(world: World, things: Iterable[Lying]) -> None:
    """Put these there, each unless something of an earlier one is in its way."""
    for key in KEYS:
        real = Path(world.disk.real("/proc/sys/" + key.replace(".", "/")))
        real.parent.mkdir(parents=True, exist_ok=True)
        real.write_text("7\n")
    for thing in things:
        path = f"{UNITS}/{thing.path}" if thing.kind == "unit" else thing.path
        real = Path(world.disk.real(path))
        real.parent.mkdir(parents=True, exist_ok=True)
        if real.is_symlink() or real.exists():
            continue
        if thing.kind == "link":
            real.symlink_to("/nowhere")
        elif thing.kind == "dir":
            real.mkdir(mode=thing.mode)
        elif thing.kind == "unit":
            real.write_text(UNIT.format(name="theirs", words=thing.text))
            if thing.enabled:
                world.systemd.enable(thing.path)
            if thing.running:
                world.systemd.start(thing.path)
        else:
            real.write_text(thing.text)
        if thing.kind in ("file", "unit"):
            real.chmod(thing.mode)


@dataclass(frozen=True)
class Standing:
    """All of a host that a way back has to bring back."""

    tree: dict[str, tuple[str, int, bytes]]
    up: frozenset[str]
    settings: dict[str, bytes | None]


def moved(now: Standing, then: Standing) -> dict[str, tuple[object, object]]:
    """Name what is not as it was, with both sides; {} when all is."""
    found: dict[str, tuple[object, object]] = {}
    for path in now.tree.keys() | then.tree.keys():
        if now.tree.get(path) != then.tree.get(path):
            found[path] = (now.tree.get(path), then.tree.get(path))
    if now.up != then.up:
        found["up"] = (sorted(now.up), sorted(then.up))
    if now.settings != then.settings:
        found["settings"] = (now.settings, then.settings)
    return found


def standing(world: World) -> Standing:
    """Look at the whole host."""
    values = {key: world.disk.read("/proc/sys/" + key.replace(".", "/")) for key in KEYS}
    tree = {path: entry for path, entry in world.tree().items() if path != WANTS}
    return Standing(tree, frozenset(world.systemd.up), values)


def started(release: Release) -> set[str]:
    """Name the units that run when a release does."""
    return {unit for part in release.parts for unit in changes.started_units(part)}
