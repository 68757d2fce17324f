"""One host, a fleet in a few lines that describes it, and headway as a person types it."""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from tests.control.bad_input import Case, written
from tests.lab.host import Host
from tests.lab.lab import REPO, Lab
from tests.lab.recipes import OPS_PASSWORD

HEADWAY = [sys.executable, "-c", "from headway.control.program import main; main()"]
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


class Workbench:
    """A host in hand, and the folder of its fleet."""

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
