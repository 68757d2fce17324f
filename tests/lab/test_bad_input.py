"""Hosts that are unfit, or that forbid it: one line, the right exit code, nothing changed there.

Cases are data: tests/cases/bad_input/. Each breaks a host from outside, types a verb and mends it.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.control.bad_input import Case, cases, is_one_line, written
from tests.lab.host import Host, HostSpec
from tests.lab.lab import REPO, Lab
from tests.lab.looks import FOLDERS, RECORD, Entry, tree
from tests.lab.proof import Proofs
from tests.lab.recipes import OPS_PASSWORD
from tests.lab.record import pids

pytestmark = [pytest.mark.lab, pytest.mark.rollout]

ITEM = "6 bad input"
HEADWAY = [sys.executable, "-c", "from headway.control.program import main; main()"]
SPECS = {
    "sick1": HostSpec("sick1"),
    "sick2": HostSpec("sick2", login="ops"),
    "nopy": HostSpec("nopy", without=("/usr/bin/python3",)),
    "old": HostSpec("old", "bullseye"),
}
ENGINE = {
    "role": "service",
    "name": "web",
    "program": "/usr/bin/python3",
    "words": ["/opt/standin/engine.py"],
    "options": {"port": 8000},
    "port": 8000,
}
OTHERWISE = {"env": {"CHANGED": "yes"}}
HOMES = ("HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME")
PLACES = (*FOLDERS, "/root", "/home")


class Bench:
    """One host, a fleet that describes it, and headway as it is typed."""

    def __init__(self, lab: Lab, host: Host, folder: Path) -> None:
        self.lab = lab
        self.host = host
        self.folder = folder

    def describe(self, case: Case, **engine: object) -> None:
        """Write the fleet of a case anew; `engine` are variables of the one instance."""
        shutil.rmtree(self.folder, ignore_errors=True)
        roles: list[dict[str, Any]] = [{**ENGINE, **engine, **case.engine}]
        files = {"tasks.py": "", **case.files}
        if case.role:
            roles.append({"role": "bad", "name": "b"})
            files["roles/bad/role.yaml"] = case.role
        variables = {**self.lab.connection(self.host), "roles": roles}
        if self.host.spec.login == "ops":
            variables["ansible_become_password"] = OPS_PASSWORD
        given = {name: v for name, v in {**variables, **case.vars}.items() if v is not None}
        hosts = {"all": {"hosts": {self.host.name: given}}}
        files["inventory/hosts.yaml"] = yaml.safe_dump(hosts)
        written(self.folder, {name: self._filled(text) for name, text in files.items()})

    def type(self, words: str) -> "subprocess.CompletedProcess[str]":
        """Run headway in the fleet's folder, in nobody's home."""
        env = {**os.environ, **dict.fromkeys(HOMES, str(self.folder)), "PYTHONPATH": str(REPO)}
        env.pop("SSH_AUTH_SOCK", None)
        return subprocess.run(
            [*HEADWAY, *shlex.split(words)],
            cwd=self.folder,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
        )

    def seen(self) -> tuple[dict[str, Entry], set[int], object]:
        """Look at what must not change: files, the engine's processes, where the host stands."""
        running = pids(self.host.cgroup / "system.slice/web.service")
        return tree(self.host, PLACES), running, _stands(self.host)

    def shell(self, lines: str) -> None:
        """Break or mend the host from outside, whatever its sshd and logins are worth."""
        if lines:
            self.host.inside(["sh", "-ec", lines])

    @contextmanager
    def broken(self, case: Case) -> Iterator[None]:
        """Break the host, and mend it whatever comes."""
        if case.first:
            self.type(case.first)
        try:
            self.shell(case.broken)
            yield
        finally:
            self.shell(case.mended)
            if case.last:
                assert self.type(case.last).returncode == 0

    def _filled(self, text: str | bytes | None) -> str | bytes | None:
        return text.replace("{address}", self.host.address) if isinstance(text, str) else text


def stands(benches: Mapping[str, Bench]) -> None:
    """See that sick1 runs an accepted release; where it does already, nothing is to be done."""
    bench = benches.get("sick1")
    if bench is not None:
        bench.describe(Case("accepted"))
        done = bench.type("rollout --host sick1")
        assert done.returncode == 0, done.stderr


def _stands(host: Host) -> object:
    path = host.path(f"{RECORD}/state.json")
    if not path.exists():
        return None
    try:
        state = json.loads(path.read_bytes())
    except ValueError:
        return path.read_bytes()
    return [state[name] for name in ("phase", "accepted", "rejected", "parked", "transition")]


@pytest.mark.parametrize(
    ("group", "what"),
    [
        ("login", "logins, keys, shells and sudo that do not let us in"),
        ("unfit", "hosts without Python or systemd, hosts met for the first time"),
        ("stage", "units, disks and owners that a release cannot have there"),
        ("record", "records that forbid it, or that somebody changed"),
    ],
)
def test_it_is_one_line_and_nothing_is_changed(
    group: str,
    what: str,
    lab: Lab,
    hosts: Callable[..., list[Host]],
    tmp_path: Path,
    prove: Proofs,
) -> None:
    """Files outside the record, the running engine and where the host stands are as they were."""
    found = cases(group)
    names = list(dict.fromkeys(case.host for case in found))
    booted = hosts(*(SPECS[name] for name in names), fresh=group == "unfit")
    benches = {host.name: Bench(lab, host, tmp_path / host.name) for host in booted}
    stands(benches)
    for case in found:
        bench = benches[case.host]
        bench.describe(case, **OTHERWISE)
        with bench.broken(case):
            before = bench.seen()
            done = bench.type(case.verb or f"rollout --host {bench.host.name}")
            after = bench.seen()
        is_one_line(case, done.returncode, done.stdout, done.stderr)
        assert after == before, f"{case.name}: changed the host"
    stands(benches)
    prove(
        ITEM,
        what,
        "one line each and the exit code of DESIGN 4; files, engine and record as before",
        f"{len(found)} cases",
    )
