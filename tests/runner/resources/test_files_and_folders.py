"""Files and folders: whole, with mode and owner, whatever lay at the path, and refused in time."""

import os
from pathlib import Path

import pytest

from headway.runner import resources
from headway.runner.resources.error import because
from headway.wire.record import Absent, Before, WasDir, WasFile, WasLink
from headway.wire.resources import Blob, Dir, File, Resource
from tests.runner.resources.scripted import blob, machine_at

GONE = "0" * 64


def test_a_file_gets_its_bytes_mode_and_folders(tmp_path: Path) -> None:
    """Parents that are missing are made for everybody to pass."""
    machine, run = machine_at(tmp_path)
    file = File("/opt/app/conf/x.env", blob(machine, "A=1\n"), 0o600)

    assert resources.diff(file, machine) == "/opt/app/conf/x.env is missing"
    resources.apply(file, machine)

    real = tmp_path / "opt/app/conf/x.env"
    assert real.read_text() == "A=1\n"
    assert real.stat().st_mode & 0o777 == 0o600
    assert real.parent.stat().st_mode & 0o777 == 0o755
    assert resources.diff(file, machine) is None
    assert run.calls == []


def test_a_difference_says_everything_that_differs(tmp_path: Path) -> None:
    """One sentence, in words of `ls`."""
    machine, _ = machine_at(tmp_path)
    (tmp_path / "etc/x").write_text("other\n")
    (tmp_path / "etc/x").chmod(0o640)
    said = resources.diff(File("/etc/x", blob(machine, "mine!\n"), 0o600, owner="daemon"), machine)
    assert said == (
        "/etc/x has other content, has mode 0640, not 0600, belongs to root:root, not daemon:root"
    )


def test_a_link_is_replaced_and_its_target_is_not_touched(tmp_path: Path) -> None:
    """A config that an operator keeps elsewhere stays as it is, and the link comes back."""
    machine, _ = machine_at(tmp_path)
    (tmp_path / "etc/kept").write_text("theirs\n")
    (tmp_path / "etc/x").symlink_to("kept")
    file = File("/etc/x", blob(machine, "ours\n"))

    was = resources.before(file, machine)
    resources.apply(file, machine)

    assert was == (Before("/etc/x", WasLink("kept")),)
    assert (tmp_path / "etc/kept").read_text() == "theirs\n"
    assert (tmp_path / "etc/x").read_text() == "ours\n"
    resources.restore(was, machine)
    assert (tmp_path / "etc/x").readlink() == Path("kept")


def test_before_names_what_will_be_made_on_the_way(tmp_path: Path) -> None:
    """Folders that are made for a file are taken away with it."""
    machine, _ = machine_at(tmp_path)
    file = File("/opt/a/b/x", blob(machine, "x"))
    was = resources.before(file, machine)
    assert was == tuple(Before(p, Absent()) for p in ("/opt", "/opt/a", "/opt/a/b", "/opt/a/b/x"))

    resources.apply(file, machine)
    (tmp_path / "opt/a/theirs").write_text("")
    resources.restore(was, machine)

    assert [path.name for path in (tmp_path / "opt/a").iterdir()] == ["theirs"]


def test_before_records_numbers_and_keeps_bytes(tmp_path: Path) -> None:
    """Names of users may change between a rollout and the way back."""
    machine, _ = machine_at(tmp_path)
    (tmp_path / "etc/x").write_text("theirs\n")
    (tmp_path / "etc/x").chmod(0o600)
    me = machine.disk.me()
    (image,) = resources.before(File("/etc/x", blob(machine, "x")), machine)
    kept = blob(machine, "theirs\n", secret=True)
    assert image == Before("/etc/x", WasFile(kept, 0o600, *me))


@pytest.mark.parametrize(
    ("resource", "says"),
    [
        (File("/proc/x", Blob(GONE, 1)), "/proc/x is the kernel's: use a sysctl"),
        (File("/sys/x", Blob(GONE, 1)), "/sys/x is the kernel's"),
        (File("/etc/x", Blob(GONE, 1), owner="nobody-here"), "user 'nobody-here' or group 'root'"),
        (File("/etc/full", Blob(GONE, 1)), "/etc/full is a folder that is not empty"),
        (File("/etc/pipe", Blob(GONE, 1)), "/etc/pipe is a device, pipe or socket"),
        (File("/etc/x", Blob(GONE, 1)), "cannot write /etc/x: blob 000000000000 is missing"),
        (File("/etc/note/x", Blob(GONE, 1)), "cannot write /etc/note/x: "),
        (Dir("/etc/link"), "/etc/link is a symbolic link to /srv; name that folder in the role"),
        (Dir("/sys/x"), "/sys/x is the kernel's"),
        (Dir("/etc/x", group="nobody-here"), "group 'nobody-here' does not exist on this host"),
    ],
)
def test_what_cannot_be_says_why_and_changes_nothing(
    tmp_path: Path, resource: Resource, says: str
) -> None:
    """The sentence is all a person sees at night."""
    machine, _ = machine_at(tmp_path)
    (tmp_path / "etc/full").mkdir()
    (tmp_path / "etc/full/x").write_text("")
    (tmp_path / "etc/note").write_text("")
    (tmp_path / "etc/link").symlink_to("/srv")
    os.mkfifo(tmp_path / "etc/pipe")
    before = sorted(path.name for path in (tmp_path / "etc").rglob("*"))

    with pytest.raises(resources.ResourceError) as caught:
        resources.apply(resource, machine)
    assert says in str(caught.value)

    assert sorted(path.name for path in (tmp_path / "etc").rglob("*")) == before


def test_a_folder_is_made_and_given_its_mode(tmp_path: Path) -> None:
    """What lies in it is not its own: removing it leaves what others put there."""
    machine, _ = machine_at(tmp_path)
    folder = Dir("/opt/models", 0o750)
    resources.apply(folder, machine)
    assert (tmp_path / "opt/models").stat().st_mode & 0o777 == 0o750
    (tmp_path / "opt/models").chmod(0o700)
    assert resources.diff(folder, machine) == "/opt/models has mode 0700, not 0750"
    resources.apply(folder, machine)
    assert resources.diff(folder, machine) is None

    (tmp_path / "opt/models/weights").write_text("")
    resources.remove(folder, machine)
    assert (tmp_path / "opt/models/weights").exists()


def test_a_folder_takes_the_place_of_a_file_and_gives_it_back(tmp_path: Path) -> None:
    """The before-image of a folder's path may be a file."""
    machine, _ = machine_at(tmp_path)
    (tmp_path / "etc/x").write_text("theirs\n")
    was = resources.before(Dir("/etc/x"), machine)
    resources.apply(Dir("/etc/x"), machine)
    assert (tmp_path / "etc/x").is_dir()
    resources.restore(was, machine)
    assert (tmp_path / "etc/x").read_text() == "theirs\n"


def test_a_recorded_folder_comes_back_with_its_mode(tmp_path: Path) -> None:
    """Also where a file took its place."""
    machine, _ = machine_at(tmp_path)
    (tmp_path / "etc/x").write_text("")
    me = machine.disk.me()
    resources.restore((Before("/etc/x", WasDir(0o711, *me)),), machine)
    assert (tmp_path / "etc/x").stat().st_mode & 0o777 == 0o711


def test_selinux_labels_are_restored_only_where_selinux_is_on(tmp_path: Path) -> None:
    """A rename keeps the label of the temporary file, which a service may not be let to read."""
    machine, run = machine_at(tmp_path)
    (tmp_path / "sys/fs/selinux").mkdir(parents=True)
    (tmp_path / "sys/fs/selinux/enforce").write_text("1")
    resources.apply(File("/etc/x", blob(machine, "x")), machine)
    assert run.calls == ["restorecon /etc/x"]


@pytest.mark.parametrize(
    ("file", "says"),
    [
        (b"text\n", "text\n"),
        (b"\xff\xfe", None),
        (b"x" * (1024 * 1024 + 1), None),
        (None, None),
    ],
)
def test_text_now_is_what_can_be_shown(
    tmp_path: Path, file: bytes | None, says: str | None
) -> None:
    """A plan shows text, and never bytes or a megabyte."""
    machine, _ = machine_at(tmp_path)
    if file is not None:
        (tmp_path / "etc/x").write_bytes(file)
    assert resources.text_now(File("/etc/x", Blob(GONE, 1)), machine) == says
    assert resources.text_now(File("/etc/x", Blob(GONE, 1, secret=True)), machine) is None


def test_errors_of_the_system_become_advice() -> None:
    """A night's reader is told where to look; an unknown error keeps its own words."""
    assert "immutable" in str(because("cannot write /x", PermissionError(1, "not permitted")))
    assert str(because("cannot write /x", OSError(122, "quota"))).endswith("quota is used up")
    assert str(because("cannot write /x", OSError(99, "Odd Thing"))) == "cannot write /x: odd thing"
