"""The gate that is judged from here: pytest with testinfra against a host, and through the network.

A test file of the fleet gets testinfra's `host` fixture, connected as headway is, and the
environment HEADWAY_HOST, HEADWAY_ADDRESS and HEADWAY_PART. What was not judged is INVALID:
nothing collected, all skipped, a test that could not be set up, no pytest.
"""

import importlib.util
import os
import shlex
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from headway.control.fleet import Fleet
from headway.control.inventory.model import Host
from headway.control.local import run
from headway.control.reaching import ssh_config
from headway.wire.gate import Gate, Report
from headway.wire.verdict import Fate, Verdict

DEADLINE_S = 300
_SHOWN = 5
_NEEDED = ("pytest", "testinfra")


@dataclass(frozen=True)
class Counts:
    """What pytest saw; `lines` tell of what went wrong, a test each."""

    passed: int = 0
    failed: int = 0
    errors: int = 0
    skipped: int = 0
    lines: tuple[str, ...] = ()


def judge(fleet: Fleet, host: Host, gate: Gate, config_file: Path | None = None) -> Report:
    """Run the tests that this gate names (`params: {tests: PATH}`) against a host."""
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        words = f"{missing[0]} is not installed here: pip install 'headway[outside]'"
        return _report(gate, Verdict.INVALID, (words,), 0)
    with tempfile.TemporaryDirectory(prefix="headway-outside-") as folder:
        config, results = Path(folder) / "ssh_config", Path(folder) / "results.xml"
        config.write_text(described(host, config_file))
        argv = pytest_argv(host, gate, config, results)
        ran = run(
            argv,
            cwd=fleet.root,
            env={
                **os.environ,
                "HEADWAY_HOST": host.name,
                "HEADWAY_ADDRESS": host.address,
                "HEADWAY_PART": gate.part,
            },
            deadline_s=gate.deadline_s or DEADLINE_S,
        )
        counts = counted(results.read_text()) if results.is_file() else Counts()
    again = "ask again: " + shlex.join(pytest_argv(host, gate))
    if ran.code is None:
        late = f"not done within {gate.deadline_s or DEADLINE_S} s"
        return _report(gate, Verdict.INVALID, (late, again), ran.took_ms)
    said = ran.stderr.decode(errors="replace").strip().splitlines()
    nothing = (said[-1],) if said and counts == Counts() else ()
    return _report(gate, verdict(counts), (*told(counts), *nothing, again), ran.took_ms)


def pytest_argv(
    host: Host, gate: Gate, config: Path | None = None, results: Path | None = None
) -> list[str]:
    """Word the call of pytest; without files of ours it is the one to run by hand."""
    python = [sys.executable if config else "python3", "-m", "pytest"]
    tests = gate.params.get("tests", ())
    files = [tests] if isinstance(tests, str) else [str(test) for test in tests]
    quiet = ["-q", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", "."] if config else []
    ours = [f"--ssh-config={config}"] if config else []
    xml = [f"--junitxml={results}"] if results else []
    sudo = ["--sudo"] if host.become else []
    return [*python, *quiet, *xml, *ours, f"--hosts=ssh://{host.name}", *sudo, *files]


def described(host: Host, config_file: Path | None) -> str:
    """Describe a host to ssh, as its inventory does, before the operator's own configuration."""
    words = {
        "hostname": host.address,
        **({"port": str(host.port)} if host.port else {}),
        **({"user": host.user} if host.user else {}),
        **({"identityfile": host.key_file} if host.key_file else {}),
        **ssh_config.of_host(host),
    }
    return ssh_config.for_host(host.name, words) + ssh_config.text(config_file)


def counted(junit: str) -> Counts:
    """Read pytest's results."""
    cases = list(ET.fromstring(junit).iter("testcase"))  # noqa: S314 # our own pytest wrote it
    wrong = [
        (case, found)
        for case in cases
        for found in case
        if found.tag in ("failure", "error", "skipped")
    ]
    kinds = [found.tag for _, found in wrong]
    lines = [
        f"{case.get('name')}: {found.get('message', '').partition(chr(10))[0]}"
        for case, found in wrong
    ]
    return Counts(
        len(cases) - len({id(case) for case, _ in wrong}),
        kinds.count("failure"),
        kinds.count("error"),
        kinds.count("skipped"),
        tuple(lines),
    )


def verdict(counts: Counts) -> Verdict:
    """Say what the tests say of the release; without one that passed, nothing."""
    if counts.failed:
        return Verdict.FAIL
    return Verdict.PASS if counts.passed and not counts.errors else Verdict.INVALID


def told(counts: Counts) -> tuple[str, ...]:
    """Tell what was counted, then the first of what went wrong."""
    total = counts.passed + counts.failed + counts.errors + counts.skipped
    words = (
        f"{total} tests: {counts.passed} passed, {counts.failed} failed, "
        f"{counts.errors} not set up, {counts.skipped} skipped"
    )
    return ("no test was collected" if total == 0 else words, *counts.lines[:_SHOWN])


def _report(gate: Gate, judged: Verdict, evidence: Sequence[str], took_ms: int) -> Report:
    return Report(
        gate.name,
        gate.kind,
        gate.part,
        judged,
        Fate.SAME,
        None,
        None,
        tuple(evidence),
        took_ms=took_ms,
    )
