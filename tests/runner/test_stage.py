"""Stage: what can be known before anything is touched stops a rollout there, in one line."""

import hashlib
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from headway.runner import room
from headway.runner.disk import Disk, Room
from headway.runner.machine import Machine, machine_of
from headway.runner.resources.weights import come
from headway.runner.stage import StageError, stage
from headway.wire.event import Body, StepBegan, StepDone
from headway.wire.record import Orders
from headway.wire.release import EMPTY, Part, Release, release_of
from headway.wire.resources import (
    Blob,
    Dir,
    DropIn,
    Fetch,
    File,
    FoundVenv,
    LockedVenv,
    Package,
    Resource,
    Sysctl,
    Unit,
    Weights,
    WeightsFile,
    Wheel,
)
from tests.lab.hub import Hub
from tests.runner.resources.scripted import Scripted, blob, machine_at, tree

GONE = Blob("0" * 64, 7)
ORDERS = Orders(by="tester")
VERIFY = "systemd-analyze verify --man=no"
MIB = 1024 * 1024


@pytest.fixture
def host(tmp_path: Path) -> tuple[Machine, Scripted]:
    """Give a host on which everything works."""
    return machine_at(tmp_path)


def _release(*resources: Resource) -> Release:
    return release_of((Part("engine", "llama_cpp", resources),))


def _staged(
    machine: Machine, release: Release, accepted: Release = EMPTY, orders: Orders = ORDERS
) -> list[Body]:
    told: list[Body] = []
    stage(machine, release, accepted, told.append, orders)
    return told


def test_what_can_be_written_is_only_looked_at(
    tmp_path: Path, host: tuple[Machine, Scripted]
) -> None:
    """Nothing outside /var/lib/headway is another afterwards, and no scratch is left in it."""
    machine, run = host
    before = tree(tmp_path)
    unit = Unit("x.service", blob(machine, "[Service]\n"))
    release = _release(File("/opt/a/x", blob(machine, "x")), Dir("/opt/b"), unit)
    assert _staged(machine, release) == []
    assert tree(tmp_path) == before
    assert not (tmp_path / "var/lib/headway/stage").exists()
    scratch = f"{tmp_path}/var/lib/headway/stage"
    assert run.calls == [
        f"systemd-run --wait --quiet --collect --unit=headway-stage-{release.id} -- true",
        f"{VERIFY} {scratch}/x.service",
    ]


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        (File("/etc/x", GONE), "lacks 1 blobs on this host, the first is 000000000000"),
        (Dir("/etc/x", owner="nobody-here"), "user 'nobody-here' or group"),
        (Dir("/sys/x"), "/sys/x is the kernel's"),
        (Sysctl("net.not.here", "1"), "net.not.here does not exist in this kernel"),
        (FoundVenv("/opt/v", "0" * 12), "/opt/v is missing or lists no packages: headway did not"),
    ],
)
def test_what_cannot_be_applied_stops_here(
    tmp_path: Path, host: tuple[Machine, Scripted], wanted: Resource, says: str
) -> None:
    """Inside a transition the same sentence would have cost a restart."""
    machine, run = host
    before = tree(tmp_path)
    with pytest.raises(StageError) as caught:
        _staged(machine, _release(wanted))
    assert says in str(caught.value)
    assert run.calls == []
    assert tree(tmp_path) == before


class SickDisk(Disk):
    """A disk with a read-only /etc, or with little room left everywhere."""

    def __init__(self, root: Path, free_bytes: int) -> None:
        super().__init__(str(root), "t")
        self.free_bytes = free_bytes

    def writable(self, path: str) -> bool:
        """Say no for /etc, as the kernel does for root on a read-only file system."""
        return path != "/etc"

    def room(self, _: str) -> Room:
        """Give one file system for all."""
        return Room(1, self.free_bytes, None)


def test_a_read_only_folder_is_found(tmp_path: Path, host: tuple[Machine, Scripted]) -> None:
    """Root may write anywhere else: the kernel is asked, not the mode."""
    _, run = host
    machine = machine_of(SickDisk(tmp_path, 999 * MIB), run)
    with pytest.raises(StageError, match=r"^/etc cannot be written: read-only file system"):
        _staged(machine, _release(File("/etc/x", blob(machine, "x"))))


def test_a_file_is_no_folder_to_write_into(tmp_path: Path, host: tuple[Machine, Scripted]) -> None:
    """Unless the release itself makes it one, or the accepted one takes it away.

    It was found by the write once, after the engine had been stopped.
    """
    machine, _ = host
    (tmp_path / "etc/app").write_text("a file")
    into = File("/etc/app/x", blob(machine, "x"))
    with pytest.raises(StageError, match=r"^/etc/app is no folder, and /etc/app/x is to lie in it"):
        _staged(machine, _release(into))
    _staged(machine, _release(Dir("/etc/app"), into))
    _staged(machine, _release(into), _release(File("/etc/app", blob(machine, "a file"))))


def test_a_host_without_transient_units_is_refused(host: tuple[Machine, Scripted]) -> None:
    """The transition could not outlive its connection there."""
    machine, run = host
    run.table["systemd-run"] = (1, "", "Failed to connect to bus: No such file or directory\n")
    with pytest.raises(StageError, match="no transient units here: Failed to connect to bus"):
        _staged(machine, _release(Dir("/etc/x")))


def test_additive_resources_are_brought_about_and_told(
    tmp_path: Path, host: tuple[Machine, Scripted]
) -> None:
    """A person waits here for pip: the step says what it is about."""
    machine, run = host

    def pip(_: Sequence[str]) -> tuple[int, str, str]:
        (tmp_path / "opt/v/lib/python3.11/site-packages/a-1.dist-info").mkdir(parents=True)
        return 0, "", ""

    run.table["/opt/v/bin/python"] = pip
    release = _release(LockedVenv("/opt/v", blob(machine, "lock\n")))
    began, done = _staged(machine, release)
    assert began == StepBegan("engine", "stage", "/opt/v is missing")
    assert isinstance(done, StepDone)
    assert (done.part, done.step, done.detail) == ("engine", "stage", "/opt/v")
    assert _staged(machine, release) == []


def test_maintenance_is_the_orders_to_give(tmp_path: Path, host: tuple[Machine, Scripted]) -> None:
    """A driver package in a role is refused on any other day."""
    machine, run = host
    (tmp_path / "var/lib/dpkg").mkdir()
    (tmp_path / "var/lib/dpkg/status").write_text("")
    with pytest.raises(StageError, match="use --maintenance"):
        _staged(machine, _release(Package("nvidia-driver")))
    with pytest.raises(StageError, match="did not hold"):
        _staged(
            machine, _release(Package("nvidia-driver")), orders=replace(ORDERS, maintenance=True)
        )
    assert run.calls[-1].endswith("install nvidia-driver")


def test_no_way_back_is_refused_unless_allowed(host: tuple[Machine, Scripted]) -> None:
    """The accepted release ran from an environment that somebody changed since."""
    machine, _ = host
    accepted = _release(FoundVenv("/opt/old", "0" * 12))
    with pytest.raises(StageError, match=f"^no way back to release {accepted.id}: /opt/old is mis"):
        _staged(machine, _release(Dir("/etc/x")), accepted)
    lost = _release(File("/etc/x", GONE))
    with pytest.raises(StageError, match=f"release {lost.id} lacks 1 blobs"):
        _staged(machine, _release(Dir("/etc/y")), lost)
    allowed = replace(ORDERS, no_way_back=True)
    assert _staged(machine, _release(Dir("/etc/x")), accepted, allowed) == []


def test_units_are_verified_as_they_will_be(tmp_path: Path, host: tuple[Machine, Scripted]) -> None:
    """With their drop-ins, and without those that will be gone by then."""
    machine, run = host
    seen: dict[str, str] = {}

    def verify(argv: Sequence[str]) -> tuple[int, str, str]:
        for path in Path(argv[-1]).parent.rglob("*.conf"):
            seen[path.name] = str(path.readlink()) if path.is_symlink() else path.read_text()
        return 0, "", ""

    run.table[VERIFY] = verify
    old = tmp_path / "etc/systemd/system/x.service.d"
    old.mkdir()
    (old / "old.conf").write_text("[Service]\n")
    new = DropIn("new.conf", blob(machine, "[Unit]\n"))
    _staged(machine, _release(Unit("x.service", blob(machine, "[Service]\n"), dropins=(new,))))
    assert seen == {"old.conf": "/dev/null", "new.conf": "[Unit]\n"}


@pytest.mark.parametrize(
    ("said", "refused"),
    [
        ("{0}/x.service:8: Missing '=', ignoring line.", "x.service:8: Missing '=', ignoring"),
        ("x.service: Command /opt/no is not executable: No such file", "/opt/no is not executable"),
        ("x.service: Command /opt/run.sh is not executable: No such file", None),
        ("other.service: Unit configuration has fatal error", None),
    ],
)
def test_a_unit_systemd_would_cut_is_refused(
    tmp_path: Path, host: tuple[Machine, Scripted], said: str, refused: str | None
) -> None:
    """By what it says: it ends with 0 all the same. What the release itself brings is no fault."""
    machine, run = host
    run.table[VERIFY] = (0, "", said.format(f"{tmp_path}/var/lib/headway/stage") + "\n")
    release = _release(
        Unit("x.service", blob(machine, "[Service]\n")), File("/opt/run.sh", blob(machine, "#!"))
    )
    if refused is None:
        assert _staged(machine, release) == []
    else:
        with pytest.raises(StageError) as caught:
            _staged(machine, release)
        assert str(caught.value).startswith("engine: systemd would not take it: ")
        assert refused in str(caught.value)
        assert str(tmp_path) not in str(caught.value)
    assert not (tmp_path / "var/lib/headway/stage").exists()


def test_room_is_added_up_a_file_system() -> None:
    """Two folders of one file system share its room; each file costs a block and an inode."""
    needs = [room.Need("/opt/x", 60 * MIB), room.Need("/srv/x", 60 * MIB)]
    one = {"/opt/x": Room(1, 150 * MIB, None), "/srv/x": Room(1, 150 * MIB, None)}
    two = {"/opt/x": Room(1, 150 * MIB, None), "/srv/x": Room(2, 150 * MIB, None)}
    assert room.shortage(needs, one) == "/opt: 150 MiB free on its file system, 184 MiB needed"
    assert room.shortage(needs, two) is None


def test_inodes_run_out_before_bytes_do() -> None:
    """A model cache of small files does that; `df` shows plenty of room."""
    needs = [room.Need("/opt/x", 1)]
    rooms = {"/opt/x": Room(1, 9000 * MIB, 100)}
    assert room.shortage(needs, rooms) == "/opt: 100 inodes free on its file system, 257 needed"


def test_only_what_is_not_there_yet_needs_room(host: tuple[Machine, Scripted]) -> None:
    """An environment takes several times its wheels; a release that is in place takes none."""
    machine, _ = host
    file = File("/etc/x", blob(machine, b"x" * 5000))
    wheel = Wheel("w", Blob("1" * 64, 10 * MIB))
    env = LockedVenv("/opt/v", blob(machine, "lock"), wheels=(wheel,))
    release = _release(file, env)
    record = room.Need("/var/lib/headway/", 0)
    assert list(room.needs(release, ())) == [record]
    assert list(room.needs(release, (file, env))) == [
        record,
        room.Need("/etc/x", 8192, 2),
        room.Need("/opt/v", 40 * MIB, 5000),
    ]


def test_a_full_disk_is_said_in_stage(tmp_path: Path, host: tuple[Machine, Scripted]) -> None:
    """And not in the middle of a write."""
    _, run = host
    machine = machine_of(SickDisk(tmp_path, 5 * MIB), run)
    with pytest.raises(StageError, match="5 MiB free on its file system, 64 MiB needed; make room"):
        _staged(machine, _release(Dir("/opt/x")))


# --- weights ------------------------------------------------------------------------------------

BIG = b"w" * 300_000


def _weights(path: str, data: bytes = BIG) -> Weights:
    digest = hashlib.sha256(data).hexdigest()
    return Weights(path, "org/m@abc", (WeightsFile("m.gguf", len(data), digest),))


def _fetching(hub: Hub, *wanted: Weights) -> Release:
    commit = hub.repositories["org/m"].branches["main"]
    url = f"{hub.url}/org/m/resolve/{commit}/"
    fetches = tuple(Fetch(one.path, url) for one in wanted)
    parts = (Part("engine", "llama_cpp", wanted),)
    return release_of(parts, fetches=fetches)


def test_weights_come_in_stage(tmp_path: Path, host: tuple[Machine, Scripted]) -> None:
    """Both releases' own: those of the accepted one are there before anything stops."""
    machine, _ = host
    with Hub() as hub:
        hub.publish("org/m", {"m.gguf": BIG})
        new, old = _weights("/srv/weights/new"), _weights("/srv/weights/old")
        told = _staged(machine, _fetching(hub, new), _fetching(hub, old))
    assert (tmp_path / "srv/weights/new/m.gguf").read_bytes() == BIG
    assert (tmp_path / "srv/weights/old/m.gguf").read_bytes() == BIG
    began = [one.detail for one in told if isinstance(one, StepBegan)]
    assert began == ["/srv/weights/new is missing", "/srv/weights/old is missing"]


def test_truncated_weights_of_the_way_back_are_named(
    tmp_path: Path, host: tuple[Machine, Scripted]
) -> None:
    """They are not fetched over: the accepted engine runs from them right now."""
    machine, _ = host
    with Hub() as hub:
        hub.publish("org/m", {"m.gguf": BIG})
        old = _fetching(hub, _weights("/srv/weights/old"))
        _staged(machine, old)
        os.truncate(tmp_path / "srv/weights/old/m.gguf", 17)
        hub.asked.clear()
        with pytest.raises(StageError) as caught:
            _staged(machine, _fetching(hub, _weights("/srv/weights/new")), old)
        assert f"no way back to release {old.id}: /srv/weights/old was changed" in str(caught.value)
        assert "m.gguf has 17 bytes, not 300000" in str(caught.value)
        with pytest.raises(StageError, match=r"m\.gguf has 17 bytes, not 300000"):
            _staged(machine, old)
        assert hub.asked == []


def test_weights_that_do_not_fit_are_not_begun(tmp_path: Path) -> None:
    """Their sizes are known before a byte comes; what is here already needs no room again."""
    run = Scripted()
    machine_at(tmp_path)
    size = 900 * MIB
    wanted = Weights("/srv/w/m", "org/m@abc", (WeightsFile("m.gguf", size, "0" * 64),))
    release = release_of(
        (Part("engine", "llama_cpp", (wanted,)),), fetches=(Fetch("/srv/w/m", "http://none/"),)
    )
    machine = machine_of(SickDisk(tmp_path, 800 * MIB), run)
    with pytest.raises(StageError, match=r"800 MiB free on its file system, 964 MiB needed"):
        _staged(machine, release)
    part = tmp_path / "srv/w/.headway-coming-m/m.gguf.part"
    part.parent.mkdir(parents=True)
    with part.open("wb") as file:
        file.truncate(300 * MIB)
    here = {"/srv/w/m": come(wanted, machine)}
    assert room.Need("/srv/w/m", 600 * MIB, 2) in room.needs(release, [wanted], here)


def test_a_rollback_asks_for_nothing_of_what_it_leaves(host: tuple[Machine, Scripted]) -> None:
    """Somebody paged at night went nowhere: bytes of the very release to leave were lost."""
    machine, _ = host
    left = _release(File("/etc/x", GONE))
    kept = _release(File("/etc/x", blob(machine, "kept")))
    with pytest.raises(StageError, match="lacks 1 blobs"):
        stage(machine, kept, left, lambda _: None, ORDERS)

    assert stage(machine, kept, left, lambda _: None, ORDERS, going_back=True) == ()
