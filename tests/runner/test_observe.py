"""Observation: what runs unmanaged becomes a release that can be gone back to; drift is named."""

import os
from pathlib import Path

import pytest

from headway.runner import observe
from headway.runner.adoption import options
from headway.runner.observe import ObserveError
from headway.runner.resources.venv import fingerprint
from headway.wire.release import EMPTY, Origin, Part, SubjectSpec, release_of
from headway.wire.resources import Blob, Dir, DropIn, File, Unit
from headway.wire.talk import Difference
from tests.runner.resources.scripted import blob, machine_at

FRAGMENT = "[Service]\nEnvironmentFile=/etc/x.env\n[Install]\nWantedBy=multi-user.target\n"
UNITS = "etc/systemd/system"
NOTHING = Blob("0" * 64, 1)
SHOWN = """LoadState=loaded
FragmentPath=/etc/systemd/system/x.service
EnvironmentFiles=/etc/x.env (ignore_errors=no)
EnvironmentFiles=/etc/not-there.env (ignore_errors=yes)
Environment=NCCL_DEBUG=INFO "GREETING=hello OTHER=world"
Restart=always
MainPID=42
ControlGroup=/system.slice/x.service
"""


def _put(root: Path, path: str, text: str, mode: int = 0o644) -> None:
    real = root / path
    real.parent.mkdir(parents=True, exist_ok=True)
    real.write_text(text)
    real.chmod(mode)


def _running(root: Path, *words: str) -> None:
    """Lay a process 42 of x.service under /proc, listening on port 8000."""
    _put(root, "proc/42/cmdline", "".join(word + "\0" for word in words))
    _put(root, "proc/42/cgroup", "0::/system.slice/x.service\n")
    (root / "proc/42/fd").mkdir()
    (root / "proc/42/fd/3").symlink_to("socket:[777]")
    row = " 0: 00000000:{:04X} 00000000:0000 {} 0:0 0:0 0 0 0 {}\n"
    rows = row.format(8000, "0A", 777) + row.format(22, "0A", 5) + row.format(8000, "01", 778)
    _put(root, "proc/net/tcp", "head\n" + rows)


def _host(root: Path) -> None:
    _put(root, f"{UNITS}/x.service", FRAGMENT)
    _put(root, f"{UNITS}/x.service.d/10-a.conf", "[Service]\nNice=1\n", 0o600)
    _put(root, f"{UNITS}/x.service.d/zz-headway-guard.conf", "[Unit]\n")
    _put(root, "etc/x.env", "API_KEY=secret\n# no\n  HF_HOME=/x\n", 0o600)
    _put(root, "etc/x.yaml", "model: y\n")
    _put(root, "opt/v/pyvenv.cfg", "")
    _put(root, "opt/v/bin/python", "x" * 300_000)
    (root / "opt/v/lib/python3.11/site-packages/vllm-0.12.0.dist-info").mkdir(parents=True)
    _put(root, "srv/model/a.safetensors", "x" * 10)
    os.utime(root / "srv/model/a.safetensors", (1_700_000_000, 1_700_000_000))
    (root / UNITS / "multi-user.target.wants").mkdir()
    (root / UNITS / "multi-user.target.wants/x.service").symlink_to("/etc/systemd/system/x.service")
    words = ("/opt/v/bin/python", "-m", "vllm.serve", "--config=/etc/x.yaml", "--model")
    _running(root, *words, "/srv/model", "--port", "8000")


def test_a_running_unit_is_held_whole(tmp_path: Path) -> None:
    """Unit, drop-ins, environment and settings are held; environment and weights are named."""
    machine, _ = machine_at(tmp_path, {"systemctl show": (0, SHOWN, "")})
    _host(tmp_path)

    seen = observe.observe(machine, ["x.service"], {"x.service": "engine"})

    env = blob(machine, "API_KEY=secret\n# no\n  HF_HOME=/x\n", secret=True)
    (part,) = seen.parts
    assert seen.origin is Origin.ADOPTED
    assert part == Part(
        "engine",
        "adopted",
        (
            File("/etc/x.env", env, 0o600),
            File("/etc/x.yaml", blob(machine, "model: y\n", secret=True)),
            Unit(
                "x.service",
                blob(machine, FRAGMENT),
                enabled=True,
                restart="always",
                dropins=(DropIn("10-a.conf", blob(machine, "[Service]\nNice=1\n", secret=True)),),
            ),
        ),
        (
            ("/opt/v/bin/python",),
            ("-m", "vllm.serve"),
            ("--config=/etc/x.yaml",),
            ("--model", "/srv/model"),
            ("--port", "8000"),
        ),
        ("API_KEY", "GREETING", "HF_HOME", "NCCL_DEBUG", "OTHER"),
        SubjectSpec("x.service"),
        (8000,),
    )
    marked = fingerprint(["vllm==0.12.0"])
    assert seen.unheld == (
        f"/opt/v: 1 packages with fingerprint {marked}",
        "/srv/model: 10 bytes, changed at 1700000000 (Unix seconds)",
    )


def test_what_was_observed_does_not_drift(tmp_path: Path) -> None:
    """Right after an adoption nothing differs, and finding that out runs nothing."""
    machine, run = machine_at(tmp_path, {"systemctl show": (0, SHOWN, "")})
    _host(tmp_path)
    seen = observe.observe(machine, ["x.service"])
    assert seen.parts[0].name == "x"
    calls = len(run.calls)
    assert observe.differences(seen, machine) == ()
    assert len(run.calls) == calls


def test_two_units_of_a_part_are_one_part(tmp_path: Path) -> None:
    """A timer beside its service; the one with a process speaks for both."""
    shown = SHOWN.replace("MainPID=42", "MainPID=0").replace("x.service", "x.timer")
    machine, _ = machine_at(tmp_path, {"systemctl show": (0, shown + "\n" + SHOWN, "")})
    _host(tmp_path)
    _put(tmp_path, f"{UNITS}/x.timer", "[Timer]\n")
    names = {"x.timer": "engine", "x.service": "engine"}
    (part,) = observe.observe(machine, ["x.timer", "x.service"], names).parts
    assert part.subject == SubjectSpec("x.service")
    assert part.argv[0] == ("/opt/v/bin/python",)
    held = [each.name for each in part.resources if isinstance(each, Unit)]
    assert held == ["x.timer", "x.service"]
    paths = [each.path for each in part.resources if isinstance(each, File)]
    assert paths == ["/etc/x.env", "/etc/x.yaml"]


def test_what_cannot_be_held_is_named_by_what_would_be_overwritten(tmp_path: Path) -> None:
    """A unit without a lasting file cannot be gone back to: --no-way-back is asked for."""
    shown = SHOWN.replace("/etc/systemd/system/x", "/run/systemd/transient/x")
    machine, _ = machine_at(tmp_path, {"systemctl show": (0, shown, "")})
    _host(tmp_path)
    seen = observe.observe(machine, ["x.service"])
    assert seen.parts == ()
    (said,) = seen.unheld
    assert said.startswith("/etc/systemd/system/x.service: x.service is made at run time (/run/")


@pytest.mark.parametrize("load", ["not-found", "masked"])
def test_a_unit_that_cannot_run_is_left_out(tmp_path: Path, load: str) -> None:
    """There is nothing to go back to under its name."""
    shown = f"LoadState={load}\nFragmentPath=\nMainPID=0\n"
    machine, _ = machine_at(tmp_path, {"systemctl show": (0, shown, "")})
    assert observe.observe(machine, ["x.service"]).parts == ()


def test_what_nobody_can_see_is_not_taken_for_absent(tmp_path: Path) -> None:
    """Taken for a bare host, its units would be overwritten without a way back."""
    machine, _ = machine_at(tmp_path, {"systemctl": (1, "", "Failed to connect to bus\n")})
    with pytest.raises(ObserveError, match="does not say what runs here: Failed to connect"):
        observe.observe(machine, ["x.service"])


def test_unmanaged_units_are_those_the_release_uses_and_nobody_owns(tmp_path: Path) -> None:
    """A masked unit runs nothing; a packaged one does, and one that systemd-run made."""
    machine, _ = machine_at(tmp_path)
    _put(tmp_path, "run/systemd/transient/made.service", "")
    _put(tmp_path, f"{UNITS}/ours.service", "")
    _put(tmp_path, f"{UNITS}/theirs.service", "")
    _put(tmp_path, "usr/lib/systemd/system/packaged.service", "")
    (tmp_path / UNITS / "masked.service").symlink_to("/dev/null")
    names = ["ours", "theirs", "packaged", "made", "masked", "new"]
    units = tuple(Unit(f"{name}.service", NOTHING) for name in names)
    accepted = release_of((Part("engine", "r", units[:1]),))
    wanted = release_of((Part("engine", "r", units),))
    assert observe.unmanaged(machine, wanted, accepted) == {
        "theirs.service": "engine",
        "packaged.service": "engine",
        "made.service": "engine",
    }


def test_drift_is_named_by_part_kind_and_name(tmp_path: Path) -> None:
    """With the text that lies there now, where it may be shown."""
    machine, run = machine_at(tmp_path)
    _put(tmp_path, "etc/x.conf", "by hand\n")
    file = File("/etc/x.conf", blob(machine, "ours\n"))
    hidden = File("/etc/x.conf", blob(machine, "ours\n", secret=True))
    release = release_of((Part("a", "r", (file, Dir("/opt/d"))), Part("b", "r", (hidden,))))
    said = "/etc/x.conf has other content"
    assert observe.differences(release, machine) == (
        Difference("a", "file", "/etc/x.conf", said, "by hand\n"),
        Difference("a", "dir", "/opt/d", "/opt/d is missing"),
        Difference("b", "file", "/etc/x.conf", said),
    )
    assert observe.sentences(release.parts[0], machine) == (said, "/opt/d is missing")
    assert run.calls == []


@pytest.mark.parametrize(
    ("mode", "ours", "shown"),
    [
        (0o644, False, True),
        (0o640, False, False),
        (0o600, True, True),
    ],
)
def test_a_file_that_others_may_not_read_is_not_shown(
    tmp_path: Path, mode: int, *, ours: bool, shown: bool
) -> None:
    """A plan would print the old key of a host; what a release wrote as no secret is no secret."""
    machine, _ = machine_at(tmp_path)
    _put(tmp_path, "etc/x", "old\n", mode)
    wanted = release_of((Part("x", "r", (File("/etc/x", blob(machine, b"new\n"), mode),)),))
    accepted = release_of((Part("x", "r", (File("/etc/x", blob(machine, b"old\n"), mode),)),))

    [found] = observe.differences(wanted, machine, accepted=accepted if ours else EMPTY)

    assert found.text == ("old\n" if shown else None)


def test_enabled_counts_at_rest_alone(tmp_path: Path) -> None:
    """In a transition it is set last, and a parked host's units do not start at boot."""
    machine, _ = machine_at(tmp_path)
    _put(tmp_path, f"{UNITS}/x.service", FRAGMENT)
    release = release_of((Part("a", "r", (Unit("x.service", blob(machine, FRAGMENT)),)),))
    said = "x.service: is not enabled: it would not start at boot"
    assert observe.sentences(release.parts[0], machine, enabled=False) == ()
    assert observe.differences(release, machine, enabled=False) == ()
    assert [each.sentence for each in observe.differences(release, machine)] == [said]


def test_all_units_are_asked_about_at_once(tmp_path: Path) -> None:
    """One command, whatever the number of parts; a part without a unit says nothing."""
    shown = (
        "LoadState=loaded\nActiveState=active\nSubState=running\nNRestarts=2\n\n"
        "LoadState=not-found\nActiveState=inactive\nSubState=dead\nNRestarts=0\n"
    )
    machine, run = machine_at(tmp_path, {"systemctl show": (0, shown, "")})
    parts = (
        Part("a", "r", (), subject=SubjectSpec("a.service")),
        Part("b", "r", (Unit("b.timer", NOTHING),)),
        Part("c", "r"),
    )
    assert observe.alive(release_of(parts), machine) == {
        "a": "active (running), restarted 2 times by systemd",
        "b": "not-found",
    }
    assert len(run.calls) == 1
    assert run.calls[0].endswith("a.service b.timer")


@pytest.mark.parametrize(
    ("subject", "other", "says"),
    [
        ("active", "inactive", None),
        ("active", "failed", "once.service is failed (x)"),
        ("activating", "inactive", "a.service is activating (x), restarted 3 times by systemd"),
        ("inactive", "failed", "a.service is inactive (x), restarted 3 times by systemd"),
    ],
)
def test_a_part_is_down_when_its_subject_is_not_active(
    tmp_path: Path, subject: str, other: str, says: str | None
) -> None:
    """A unit in a restart loop is `activating`; one that runs once is inactive when it is done."""
    row = "LoadState=loaded\nActiveState={}\nSubState=x\nNRestarts={}\n"
    shown = row.format(subject, 3) + "\n" + row.format(other, 0)
    machine, run = machine_at(tmp_path, {"systemctl show": (0, shown, "")})
    units = tuple(Unit(name, NOTHING) for name in ("a.service", "once.service"))
    release = release_of((Part("a", "r", units, subject=SubjectSpec("a.service")),))
    assert observe.down(release, machine) == ({} if says is None else {"a": says})
    assert len(run.calls) == 1


def test_silence_of_systemd_is_said(tmp_path: Path) -> None:
    """It is no state of the unit's."""
    machine, run = machine_at(tmp_path, {"systemctl": (1, "", "Failed to connect to bus\n")})
    release = release_of((Part("a", "r", (), subject=SubjectSpec("a.service")), Part("b", "r")))
    said = {"a": "systemd does not say what runs here: Failed to connect to bus"}
    assert observe.alive(release, machine) == said
    assert observe.down(release, machine) == said
    run.calls.clear()
    assert observe.alive(EMPTY, machine) == {}
    assert observe.down(EMPTY, machine) == {}
    assert run.calls == []


def test_a_command_line_is_read_by_options() -> None:
    """A negative number is a value, a bare dash too."""
    words = ["/bin/x", "run", "--a", "1", "-b", "-1", "-", "--c=2", "-.5"]
    assert options(words) == (
        ("/bin/x", "run"),
        ("--a", "1"),
        ("-b", "-1", "-"),
        ("--c=2", "-.5"),
    )


def test_bytes_of_the_record_that_are_gone_are_named(tmp_path: Path) -> None:
    """What lies there is as wanted, and nobody could write it again: edited or gone in blobs."""
    machine, _ = machine_at(tmp_path)
    names = ("whole", "edited", "lost")
    files = tuple(File(f"/etc/{name}", blob(machine, name)) for name in names)
    release = release_of((Part("engine", "llama_cpp", files),))
    assert observe.beside(release, machine) == ()

    (tmp_path / machine.blobs.path(files[1].blob.sha256)[1:]).write_bytes(b"EDITED")
    (tmp_path / machine.blobs.path(files[2].blob.sha256)[1:]).unlink()

    named = [one.sentence for one in observe.beside(release, machine)]
    gone = "is missing or was changed in the record"
    assert named == [f"{f.path}: its blob {f.blob.sha256[:12]} {gone}" for f in files[1:]]
