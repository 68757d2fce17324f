"""A, then B, then back to A: every byte, mode, absence and empty folder is as it was (DESIGN 8.3).

The machine of each example is a temporary root with unowned files, links and folders on it; the
resources of A and B are drawn over the same few paths, so that files meet folders and links.
"""

import contextlib
import shutil
import tempfile
from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st

from headway.runner import guard, resources
from headway.runner.changes import owned, switching
from headway.runner.machine import Machine
from headway.wire.record import Before
from headway.wire.release import Part, Release, release_of
from headway.wire.resources import Dir, DropIn, File, Resource, Sysctl, Unit
from tests.runner.resources.scripted import blob, machine_at, tree

PATHS = ("/etc/a", "/etc/a/b", "/etc/a/b/c", "/opt/new/deep/d", "/opt/e")
UNITS = ("one.service", "two.service")
NAMES = ("10-x.conf", "20-y.conf")
KEYS = ("net.core.somaxconn", "net.ipv4.tcp_syncookies")

content = st.sampled_from([b"", b"one\n", b"two\n"])
file_modes = st.sampled_from([0o600, 0o644, 0o755])
dir_modes = st.sampled_from([0o700, 0o755])
dropins = st.dictionaries(st.sampled_from(NAMES), content, max_size=2)
wanted = st.one_of(
    st.tuples(st.just("file"), st.sampled_from(PATHS), content, file_modes),
    st.tuples(st.just("dir"), st.sampled_from(PATHS), dir_modes),
    st.tuples(st.just("unit"), st.sampled_from(UNITS), content, dropins, st.booleans()),
    st.tuples(st.just("sysctl"), st.sampled_from(KEYS), st.sampled_from(["0", "1", "2"])),
)
unowned = st.one_of(
    st.tuples(st.just("file"), st.sampled_from(PATHS), content, file_modes),
    st.tuples(st.just("link"), st.sampled_from(PATHS), st.sampled_from(["/nowhere", "b"])),
    st.tuples(st.just("dir"), st.sampled_from(PATHS), dir_modes),
    st.tuples(
        st.just("file"),
        st.sampled_from([f"/etc/systemd/system/{unit}" for unit in UNITS]),
        content,
        st.sampled_from([0o600, 0o644]),
    ),
    st.tuples(
        st.just("file"),
        st.sampled_from([f"/etc/systemd/system/{u}.d/{n}" for u in UNITS for n in NAMES]),
        content,
        st.sampled_from([0o600, 0o644]),
    ),
)


def _lay(root: Path, thing: tuple) -> None:  # type: ignore[type-arg] # drawn rows of any shape
    """Put an unowned thing there unless something is in its way."""
    kind, path, *rest = thing
    real = root / path[1:]
    try:
        real.parent.mkdir(parents=True, exist_ok=True)
        if real.is_symlink() or real.exists():
            return
        if kind == "link":
            real.symlink_to(rest[0])
        elif kind == "dir":
            real.mkdir()
            real.chmod(rest[0])
        else:
            real.write_bytes(rest[0])
            real.chmod(rest[1])
    except (FileExistsError, NotADirectoryError, FileNotFoundError):
        return


def _resources(machine: Machine, rows: list[tuple]) -> tuple[Resource, ...]:  # type: ignore[type-arg] # as above
    """Make resources of drawn rows: one a name, and no file where another's folder has to be."""
    made: dict[str, Resource] = {}
    for kind, name, *rest in rows:
        if kind == "file":
            made[name] = File(name, blob(machine, rest[0]), rest[1])
        elif kind == "dir":
            made[name] = Dir(name, rest[0])
        elif kind == "sysctl":
            made[name] = Sysctl(name, rest[0])
        else:
            drop = tuple(DropIn(each, blob(machine, data)) for each, data in rest[1].items())
            made[name] = Unit(name, blob(machine, rest[0], secret=rest[2]), dropins=drop)
    files = [name for name, each in made.items() if isinstance(each, File)]
    return tuple(
        each
        for name, each in made.items()
        if not any(name.startswith(path + "/") for path in files)
    )


def _release(machine: Machine, rows: list[tuple]) -> Release:  # type: ignore[type-arg] # as above
    return release_of((Part("p", "r", _resources(machine, rows)),))


def _before(machine: Machine, start: Release, target: Release) -> tuple[Before, ...]:
    """Record what B touches and A does not own, as the transition does."""
    mine = owned(start)
    found = [
        image
        for resource in switching(target.parts[0])
        for image in resources.before(resource, machine)
    ]
    return tuple(image for image in found if image.path not in mine)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(unowned, max_size=5),
    st.lists(wanted, max_size=4),
    st.lists(wanted, max_size=4),
    st.integers(0, 4),
)
@example(
    [], [("dir", "/etc/a/b", 0o700), ("dir", "/etc/a", 0o700)], [("file", "/etc/a", b"", 0o600)], 1
)
def test_back_to_a_is_a_byte_for_byte(
    lying: list[tuple],  # type: ignore[type-arg] # drawn rows of any shape
    a_rows: list[tuple],  # type: ignore[type-arg] # the same
    b_rows: list[tuple],  # type: ignore[type-arg] # the same
    written: int,
) -> None:
    """However far B was written, and however often the way back is walked, A comes back whole."""
    root = Path(tempfile.mkdtemp(prefix="headway-"))
    try:
        machine, _ = machine_at(root)
        for key in KEYS:
            path = root / "proc/sys" / key.replace(".", "/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("7\n")
        for thing in lying:
            _lay(root, thing)
        a, b = _release(machine, a_rows), _release(machine, b_rows)
        old, new = switching(a.parts[0]), switching(b.parts[0])
        try:
            resources.exchange((), old, machine)
        except resources.ResourceError:
            return  # something unowned is in A's way: A never ran here
        whole = tree(root)

        try:
            was = _before(machine, a, b)
        except resources.ResourceError:
            return  # a loop of links on the way: refused before anything is touched
        units = [each.name for each in (*old, *new) if isinstance(each, Unit)]
        guard.put(machine, "t1", units)
        with contextlib.suppress(resources.ResourceError):  # a step that fails goes back too
            resources.exchange(old, new[:written], machine)
        resources.go_back(new, old, was, machine)
        resources.go_back(new, old, was, machine)
        guard.off(machine, units)

        assert tree(root) == whole
        assert [resources.diff(each, machine, enabled=False) for each in old] == [None] * len(old)
    finally:
        shutil.rmtree(root)
