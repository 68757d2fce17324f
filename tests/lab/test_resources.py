"""Resources on real hosts: real pip, apt, systemd, sysctls and file systems, oldest and newest.

The runner's own code runs inside the host, as it does when it travels; what it did is looked at
from outside.
"""

import hashlib
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.lab.host import Host, HostSpec
from tests.lab.lab import Lab

pytestmark = pytest.mark.lab

Boot = Callable[..., list[Host]]
Do = Callable[[str], Any]

REPO = Path(__file__).parents[2]
AT = "/opt/runner-under-test"
PRELUDE = f"""
import sys, json
sys.path.insert(0, {AT!r})
from headway.runner import observe, resources, stage
from headway.runner.disk import Disk
from headway.runner.machine import machine_of
from headway.runner.process import Processes
from headway.runner.resources import ResourceError
from headway.wire.loader import dump
from headway.wire.record import Orders
from headway.wire.release import EMPTY, Part, release_of
from headway.wire.resources import *
machine = machine_of(Disk("", "lab"), Processes())
def blob(data):
    raw = data.encode() if isinstance(data, str) else data
    return Blob(machine.blobs.put(raw), len(raw))
def tried(work, *args):
    try:
        work(*args)
    except (ResourceError, stage.StageError) as error:
        return str(error)
def staged(*parts):
    told = []
    release = release_of((Part("engine", "r", parts),))
    stage.stage(machine, release, EMPTY, told.append, Orders("me"))
    return [type(body).__name__ for body in told]
def say(value):
    print(json.dumps(value))
"""
TINY = "labtiny-1.0-py3-none-any.whl"


@pytest.fixture(params=["bullseye", pytest.param("bookworm", marks=pytest.mark.long)])
def host(request: pytest.FixtureRequest, hosts: Boot) -> Host:
    """Give a host of each age, with the runner's code on it."""
    [host] = hosts(HostSpec(f"res-{request.param[:4]}", request.param))
    for package in ("wire", "runner"):
        for source in (REPO / "headway" / package).rglob("*.py"):
            target = host.path(AT) / source.relative_to(REPO)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(source.read_bytes())
    (host.path(AT) / "headway/__init__.py").write_text("")
    return host


@pytest.fixture
def do(host: Host) -> Do:
    """Return `do(code)`: runs it inside the host under its own Python and gives what it says."""

    def run(code: str) -> Any:
        told = host.ssh(["python3", "-I", "-S", "-"], stdin=PRELUDE + code, timeout_s=180)
        assert told.returncode == 0, told.stderr
        return json.loads(told.stdout)

    return run


def tiny_wheel(folder: Path, version_line: str = "VALUE = 1\n") -> Path:
    """Make a wheel of one module, the same bytes each time."""
    info = "labtiny-1.0.dist-info"
    files = {
        "labtiny.py": version_line,
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: labtiny\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": f"labtiny.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n",
    }
    path = folder / TINY
    with zipfile.ZipFile(path, "w") as made:
        for name, text in files.items():
            made.writestr(zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0)), text)
    return path


def test_a_sysctl_runs_and_lasts_and_goes_back(host: Host, do: Do) -> None:
    """In the kernel's own file, and in a file that systemd-sysctl reads."""
    said = do("""
key = "net.ipv4.ip_local_port_range"
wanted = Sysctl(key, "20000 50000")
was = resources.before(wanted, machine)
resources.apply(wanted, machine)
now = resources.text_now(wanted, machine)
refused = tried(resources.apply, Sysctl(key, "no number"), machine)
resources.restore(was, machine)
say([now, refused, resources.text_now(wanted, machine) == was[0].state.value])
""")
    assert said == [
        "20000 50000",
        "net.ipv4.ip_local_port_range: the kernel does not take 'no number': invalid argument",
        True,
    ]
    assert list(host.path("/etc/sysctl.d").glob("*headway*")) == []


def test_an_environment_is_built_from_the_index_by_hash(lab: Lab, host: Host, do: Do) -> None:
    """With a patch, readable for the engine's user; another hash is refused and nothing stays."""
    wheel = tiny_wheel(lab.served)
    sha256 = hashlib.sha256(wheel.read_bytes()).hexdigest()
    said = do(f"""
patch = blob("--- a/labtiny.py\\n+++ b/labtiny.py\\n@@ -1 +1 @@\\n-VALUE = 1\\n+VALUE = 22\\n")
lock = "labtiny==1.0 --hash=sha256:"
index = "http://10.77.0.1:8077/simple/"
good = LockedVenv("/opt/venvs/tiny", blob(lock + {sha256!r}), index_url=index, patches=(patch,))
bad = LockedVenv("/opt/venvs/bad", blob(lock + "0" * 64), index_url=index)
resources.apply(good, machine)
say([resources.diff(good, machine), tried(resources.apply, bad, machine)])
""")
    assert said[0] is None
    assert said[1].startswith("pip could not fill /opt/venvs/bad: ERROR: ")
    assert "HASHES" in said[1]
    assert not host.path("/opt/venvs/bad").exists()
    told = host.ssh(
        "setpriv --reuid=65534 --clear-groups /opt/venvs/tiny/bin/python -c "
        "'import labtiny; print(labtiny.VALUE)'"
    )
    assert told.stdout == "22\n", told.stderr


def test_a_wheel_that_travelled_is_installed_by_its_hash(
    host: Host, do: Do, tmp_path: Path
) -> None:
    """Beside a lock that names nothing; a change by hand to what is installed shows."""
    data = tiny_wheel(tmp_path).read_bytes()
    said = do(f"""
wheel = Wheel({TINY!r}, blob(bytes.fromhex({data.hex()!r})))
wanted = LockedVenv("/opt/venvs/own", blob("# nothing\\n"), wheels=(wheel,))
resources.apply(wanted, machine)
say(resources.text_now(wanted, machine))
""")
    assert "labtiny==1.0" in said.split()
    host.ssh("/opt/venvs/own/bin/pip uninstall --yes --quiet labtiny")
    said = do("""
wanted = LockedVenv("/opt/venvs/own", blob("# nothing\\n"))
say(resources.diff(wanted, machine))
""")
    assert said == "/opt/venvs/own was changed by hand: labtiny is gone"


def test_a_found_environment_lists_what_pip_lists(host: Host, do: Do) -> None:
    """The fingerprint stands for names and versions; pip is the witness."""
    host.ssh("test -d /opt/found || python3 -m venv /opt/found")
    freeze = host.ssh("/opt/found/bin/pip list --format=freeze --disable-pip-version-check").stdout
    said = do("""
from headway.runner.resources import venv
lines = venv.listed(machine, "/opt/found")
good = FoundVenv("/opt/found", venv.fingerprint(lines))
other = FoundVenv("/opt/found", "0" * 12)
say([list(lines), resources.diff(good, machine), resources.diff(other, machine)])
""")
    ours = {line for line in said[0] if not line.startswith("pkg-resources")}
    theirs = {line.replace("_", "-") for line in freeze.split() if "pkg" not in line}
    assert ours == theirs
    assert said[1] is None
    assert "with fingerprint" in said[2]


def test_a_package_is_installed_once_and_lists_are_fetched(host: Host, do: Do) -> None:
    """From the lab's repository, whose lists a fresh host does not have."""
    said = do("""
hello = Package("lab-hello")
before = resources.diff(hello, machine)
resources.apply(hello, machine)
say([before, resources.diff(hello, machine), tried(resources.apply, Package("no-such"), machine)])
""")
    assert said[1] is None
    assert said[2] == "apt-get: E: Unable to locate package no-such"
    assert host.ssh("lab-hello").stdout == "hello\n"


def test_stage_lets_the_real_systemd_read_units(host: Host, do: Do) -> None:
    """A blank line inside ExecStart ends it, and systemd-analyze may still end with 0."""
    said = do("""
good = "[Service]\\nExecStart=/bin/sleep \\\\\\n  60\\n"
cut = "[Service]\\nExecStart=/bin/sleep \\\\\\n\\n  60\\n"
absent = "[Service]\\nExecStart=/opt/not/there\\n"
coming = "[Service]\\nExecStart=/opt/coming/run.sh\\n"
drop = DropIn("10-a.conf", blob("[Service]\\nNonsense\\n"))
script = File("/opt/coming/run.sh", blob("#!/bin/sh\\n"), 0o755)
say([
    staged(Unit("good.service", blob(good))),
    tried(staged, Unit("cut.service", blob(cut))),
    tried(staged, Unit("absent.service", blob(absent))),
    tried(staged, Unit("good.service", blob(good), dropins=(drop,))),
    staged(Unit("coming.service", blob(coming)), script),
])
""")
    assert said[0] == []
    assert said[1].startswith("engine: systemd would not take it: cut.service:4: Missing '='")
    assert "/opt/not/there is not executable" in said[2]
    assert "good.service.d/10-a.conf:2: Missing '='" in said[3]
    assert said[4] == []
    assert not host.path("/var/lib/headway/stage").exists()
    units = host.path("/etc/systemd/system")
    assert not {"good.service", "cut.service", "good.service.d"} & {p.name for p in units.iterdir()}


def test_stage_finds_read_only_full_and_immutable_places(host: Host, do: Do) -> None:
    """Each is one line, and nothing was written there."""
    host.ssh(
        "mkdir -p /mnt/ro /mnt/full; mountpoint -q /mnt/ro || mount -t tmpfs -o ro none /mnt/ro;"
        "mountpoint -q /mnt/full || mount -t tmpfs -o size=1m none /mnt/full"
    )
    said = do("""
big = blob(b"x" * 2000000)
say([
    tried(staged, File("/mnt/ro/new/x", blob("x"))),
    tried(staged, File("/mnt/full/x", blob("x"))),
    tried(resources.apply, File("/mnt/full/x", big), machine),
    tried(resources.apply, File("/mnt/ro/x", blob("x")), machine),
])
""")
    assert said[0].startswith("/mnt/ro cannot be written: read-only file system or immutable")
    assert said[1].startswith("/mnt/full: 1 MiB free on its file system, 64 MiB needed")
    assert said[2].startswith("cannot write /mnt/full/x: its file system is full")
    assert said[3].startswith("cannot write /mnt/ro/x: its file system is mounted read-only")
    assert host.ssh("ls -A /mnt/full").stdout == ""


def test_a_symlinked_config_comes_back_as_a_link(host: Host, do: Do) -> None:
    """What it points to is never written."""
    host.ssh("echo theirs > /srv/kept.conf; ln -sf /srv/kept.conf /etc/linked.conf")
    said = do("""
file = File("/etc/linked.conf", blob("ours\\n"), 0o640, "daemon", "daemon")
was = resources.before(file, machine)
resources.apply(file, machine)
held = resources.diff(file, machine)
resources.restore(was, machine)
say(held)
""")
    assert said is None
    told = host.ssh("readlink /etc/linked.conf; cat /etc/linked.conf")
    assert told.stdout == "/srv/kept.conf\ntheirs\n"


def test_a_running_unit_is_adopted_without_drift(host: Host, do: Do) -> None:
    """Its command line, environment and port are those of the process that runs."""
    unit = (
        "[Service]\nEnvironmentFile=/etc/standin.env\nRestart=always\n"
        "ExecStart=/usr/bin/python3 /opt/standin/engine.py --alias copy --port 8123\n"
        "[Install]\nWantedBy=multi-user.target\n"
    )
    host.path("/etc/systemd/system/standin.service").write_text(unit)
    host.path("/etc/standin.env").write_text("API_KEY=secret\n")
    host.ssh(
        "systemctl daemon-reload; systemctl enable --now standin 2>&1;"
        "for n in $(seq 100); do curl -sf -o /dev/null localhost:8123/health && break;"
        " sleep 0.05; done"
    )
    said = do("""
seen = observe.observe(machine, ["standin.service", "nothing.service"])
say([dump(seen), observe.alive(seen, machine),
     observe.down(seen, machine), [d.sentence for d in observe.differences(seen, machine)]])
""")
    (part,) = said[0]["parts"]
    assert part["listens"] == [8123]
    assert part["env_names"] == ["API_KEY"]
    assert ["--port", "8123"] in part["argv"]
    assert [list(each) for each in part["resources"]] == [["file"], ["file"], ["unit"]]
    assert said[1] == {"standin": "active (running)"}
    assert said[2] == {}
    assert said[3] == []

    host.ssh("systemctl disable --now standin 2>&1")
    said = do("""
seen = observe.observe(machine, ["standin.service"])
say(observe.down(seen, machine))
""")
    assert said == {"standin": "standin.service is inactive (dead)"}
