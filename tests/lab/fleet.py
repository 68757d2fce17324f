"""A small fleet for lab hosts, and headway as an operator types it: a process of its own.

The one role, `engine`, runs the stand-in engine with resources of every switching kind, so that a
release shows in many places. Its check `go` holds a host in OPEN until /var/go lies there.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import yaml

from tests.lab.host import Host
from tests.lab.lab import REPO, Lab
from tests.lab.recipes import OPS_PASSWORD

TASKS = '''\
"""The tasks of this fleet: headway's own, and a confirmation as a controller gives it."""

from headway.control.rolling import rollout as work
from headway.control.verbs import namespace
from headway.control.words import acts


@acts
def confirm(desk):
    """Confirm, as a controller does by itself when it is asked."""
    return work.request(desk.hosts, "confirm", desk.options(), desk.tell)


namespace.add_task(confirm)
'''
TEMPLATE = "colour = {{ colour }}\nof = {{ instance }}\n"
ROLE = """\
description: the stand-in engine, with files of every kind around it
defaults:
  port: 8000
  options: {}
  colour: red
  mode: '0640'
  extra: ''                # a path: one more file
  way_in: ''               # what goes to a file of sshd's
  setting: ''              # a value of a kernel setting
  pause: false             # wait for /var/go before anything is stopped
  deadline_s: 20
  require: []              # lines that this launch's log must have
  ask: []                  # a command that is one more gate
  ask_s: 20
  outside: []              # files of the fleet that pytest judges it by, through the network
  restart: always
subject: "{{ instance }}.service"
listens: ["{{ port }}"]
resources:
  - dir: {path: "/etc/{{ instance }}", mode: '0750'}
  - template: {path: "/etc/{{ instance }}/config", source: config.j2, mode: "{{ mode }}"}
  - env_file: {path: "/etc/{{ instance }}/env", values: {COLOUR: "{{ colour }}"}}
  - file: {when: "{{ extra != '' }}", path: "{{ extra }}", content: "extra of {{ colour }}\\n"}
  - file:
      when: "{{ way_in != '' }}"
      path: /etc/ssh/sshd_config.d/headway.conf
      content: "{{ way_in }}\\n"
  - sysctl:
      when: "{{ setting != '' }}"
      values: {net.ipv4.ip_unprivileged_port_start: "{{ setting }}"}
  - unit:
      name: "{{ instance }}.service"
      sections:
        Unit:
          Description: "{{ colour }} engine"
          StartLimitIntervalSec: 600
        Service:
          EnvironmentFile: "/etc/{{ instance }}/env"
          Restart: "{{ restart }}"
          RestartSec: 1
          LogRateLimitIntervalSec: 1s
          LogRateLimitBurst: 1000000
          TimeoutStopSec: 5
        Install: {WantedBy: multi-user.target}
      exec:
        program: /usr/bin/python3
        words: [/opt/standin/engine.py]
        options: "{{ {'port': port, 'alias': colour} | combine(options) }}"
gates:
  - in_place: {}
  - ready: {}
  - go: {when: "{{ pause }}"}
  - health: {deadline_s: "{{ deadline_s }}"}
  - options: {}
  - journal: {when: "{{ require != [] }}", require: "{{ require }}", deadline_s: 3}
  - command: {when: "{{ ask != [] }}", argv: "{{ ask }}", deadline_s: "{{ ask_s }}"}
  - outside: {when: "{{ outside != [] }}", tests: "{{ outside }}"}
"""
CHECK = '''\
"""Somebody let this host begin: /var/go lies there."""

from dataclasses import dataclass

from headway.wire.gate import Judgement, Wait
from headway.wire.verdict import Verdict

WHEN = "before"
DEADLINE_S = 60


@dataclass(frozen=True)
class Params:
    """Nothing to choose."""


def judge(params, subject, tools):
    """Look for the file."""
    if tools.run(["test", "-e", "/var/go"], deadline_s=5).code == 0:
        return Judgement(Verdict.PASS, ("/var/go lies there",))
    return Wait("/var/go is not there yet")
'''


def role(changes: Mapping[str, str]) -> str:
    """Give the role with other words in these places; each of them has to be there."""
    text = ROLE
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    return text


@dataclass(frozen=True)
class Said:
    """How a call of headway ended: exit code, the story by --json, and what stood on stderr."""

    code: int
    story: tuple[dict[str, Any], ...]
    stderr: str

    def told(self, kind: str) -> list[dict[str, Any]]:
        """Pick the pieces of the story of one kind."""
        return [row[kind] for row in self.story if kind in row]

    def bodies(self, kind: str) -> list[dict[str, Any]]:
        """Pick what the host itself said, by the kind of body."""
        found = (said["event"]["body"] for said in self.told("host_said"))
        return [body[kind] for body in found if kind in body]

    def report(self, gate: str) -> dict[str, Any]:
        """Give the first report of a gate; further ones may be of the way back."""
        reports: list[dict[str, Any]] = [body["report"] for body in self.bodies("reported")]
        return next(report for report in reports if report["gate"] == gate)

    @property
    def sentence(self) -> str:
        """Give the last host's last word."""
        return str(self.told("host_ended")[-1]["sentence"])


def evidence(report: Mapping[str, Any]) -> str:
    """Give a report's evidence as text."""
    return "\n".join(report["evidence"])


class Controller:
    """A call of headway that is under way: to be waited for, interrupted or killed."""

    def __init__(self, folder: Path, words: Iterable[str]) -> None:
        """Start it in the fleet's folder, without a terminal."""
        self._out = (folder / "stdout").open("w+")
        self._err = (folder / "stderr").open("w+")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "invoke", *words],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(REPO), "XDG_STATE_HOME": str(folder / "state")},
            stdin=subprocess.DEVNULL,
            stdout=self._out,
            stderr=self._err,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self._out.close()
        self._err.close()

    def kill(self) -> None:
        """End it by SIGKILL, as a lost machine would."""
        self.process.kill()
        self.process.wait()

    def said(self, timeout_s: float = 90) -> Said:
        """Wait for its end and give all that it said."""
        code = self.process.wait(timeout_s)
        for file in (self._out, self._err):
            file.seek(0)
        story = tuple(json.loads(line) for line in self._out.read().splitlines())
        return Said(code, story, self._err.read())


class Fleet:
    """A folder with inventory, role, template and check for some lab hosts."""

    def __init__(self, lab: Lab, folder: Path) -> None:
        """Write everything but the inventory."""
        self.lab = lab
        self.folder = folder
        self._calls = 0
        self._parts: dict[str, Mapping[str, Mapping[str, object]]] = {}
        self._hosts: dict[str, Host] = {}
        texts = {
            "tasks.py": TASKS,
            "templates/config.j2": TEMPLATE,
            "roles/engine/role.yaml": ROLE,
            "checks/go.py": CHECK,
        }
        for name, text in texts.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def describe(self, host: Host, **parts: Mapping[str, object]) -> None:
        """Say what a host should run: instances of the role, each with its variables."""
        self._hosts[host.name] = host
        self._parts[host.name] = {name: {"role": "engine", **own} for name, own in parts.items()}
        entries = {name: self._entry(name) for name in self._hosts}
        path = self.folder / "inventory/hosts.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(yaml.safe_dump({"all": {"hosts": entries}}, sort_keys=False))

    def forget(self) -> None:
        """Delete what releases are rendered from; only the hosts' names and addresses stay."""
        for name in ("templates", "roles", "checks"):
            shutil.rmtree(self.folder / name)
        entries = {name: self._connection(host) for name, host in self._hosts.items()}
        path = self.folder / "inventory/hosts.yaml"
        path.write_text(yaml.safe_dump({"all": {"hosts": entries}}))

    def begin(self, verb: str, host: Host | str, *words: str) -> Controller:
        """Start a verb and return at once."""
        name = host if isinstance(host, str) else host.name
        self._calls += 1
        folder = self.folder / "calls" / str(self._calls)
        folder.mkdir(parents=True)
        # Its own folder keeps what it says; the fleet is found from there upwards.
        return Controller(folder, [verb, "--host", name, "--json", *words])

    def invoke(self, verb: str, host: Host | str, *words: str) -> Said:
        """Carry a verb through."""
        with self.begin(verb, host, *words) as controller:
            return controller.said()

    def _connection(self, host: Host) -> dict[str, object]:
        password = {"ansible_become_password": OPS_PASSWORD} if host.spec.login == "ops" else {}
        return {**self.lab.connection(host), **password}

    def _entry(self, name: str) -> dict[str, object]:
        roles = [{"name": part, **own} for part, own in self._parts[name].items()]
        return {**self._connection(self._hosts[name]), "roles": roles}
