"""How fast a rollout is where nothing changes, against the least that SSH costs, in one run.

The floor is `paramiko connect + exec true` with as many threads: a process of its own, the same
Python, TCP_NODELAY on the socket. Both are timed as whole processes, taking turns, so that the
machine's other load falls on both. Controller and hosts share this machine: ratios count.
"""

import json
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.lab.host import Host, HostSpec
from tests.lab.lab import Lab

REPO = Path(__file__).parents[2]
INVOKE = Path(sys.executable).parent / "invoke"
FLOOR = """
import socket, sys, threading
import paramiko

key = paramiko.Ed25519Key.from_private_key_file(sys.argv[1])
known = sys.argv[2]

def one(address):
    sock = socket.create_connection((address, 22), 10)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    client = paramiko.SSHClient()
    client.load_host_keys(known)
    client.connect(address, username="root", pkey=key, sock=sock, allow_agent=False,
                   look_for_keys=False)
    channel = client.get_transport().open_session()
    channel.exec_command("true")
    assert channel.recv_exit_status() == 0
    client.close()

threads = [threading.Thread(target=one, args=(address,)) for address in sys.argv[3:]]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
"""
GROUP_VARS = """
roles:
  - role: service
    name: web
    program: /usr/bin/python3
    words: [-m, http.server, --bind, 127.0.0.1, "{{ port }}"]
    health_path: /
    port: 8000
    restart_s: WAIT
"""
SSHD = "LogLevel VERBOSE\n"


@dataclass(frozen=True)
class Race:
    """Seconds of whole processes, headway's and the floor's, run in turns."""

    hosts: int
    ours: tuple[float, ...]
    floor: tuple[float, ...]

    @property
    def ratio(self) -> float:
        """Ours over the floor's, of the medians."""
        return statistics.median(self.ours) / statistics.median(self.floor)

    def line(self) -> str:
        """Say it in one line."""
        ours, floor = statistics.median(self.ours), statistics.median(self.floor)
        return (
            f"{self.hosts} unchanged: {ours:.2f} s, floor {floor:.2f} s, "
            f"ratio {self.ratio:.2f} (medians of {len(self.ours)} runs in turns)"
        )


class Track:
    """A fleet of lab hosts that a small HTTP service was rolled out to."""

    def __init__(self, lab: Lab, hosts: Sequence[Host], folder: Path) -> None:
        """Write the fleet and roll it out once."""
        self.lab = lab
        self.hosts = list(hosts)
        self.folder = folder
        lab.inventory(folder / "inventory/hosts.yaml", self.hosts)
        (folder / "inventory/group_vars").mkdir(exist_ok=True)
        (folder / "tasks.py").write_text("from headway.control.verbs import namespace\n")
        self.describe(2)

    def describe(self, wait_s: int) -> None:
        """Describe the release; another `wait_s` makes another unit of it."""
        text = GROUP_VARS.replace("WAIT", str(wait_s))
        (self.folder / "inventory/group_vars/all.yaml").write_text(text)

    def rollout(self, *names: str) -> tuple[float, str]:
        """Roll out as an operator does: a whole process; its seconds and its NDJSON."""
        pattern = ",".join(names or (host.name for host in self.hosts))
        argv = [str(INVOKE), "rollout", "--host", pattern, "--json"]
        return timed(argv, self.folder)

    def unchanged(self, names: Sequence[str]) -> float:
        """Roll out what runs already, and see that every host says so."""
        took, told = self.rollout(*names)
        assert told.count('"outcome":"unchanged"') >= len(names), told[-400:]
        return took

    def facts(self, host: Host) -> tuple[float, float]:
        """Ask a host for its facts: a whole process; its seconds, and NVML's own milliseconds."""
        took, told = timed([str(INVOKE), "facts", "--host", host.name, "--json"], self.folder)
        cards = json.loads(told)["host_facts"]["cards"]
        assert cards["trouble"] == [], cards
        return took, float(cards["took_ms"])

    def diagnose(self, host: Host) -> float:
        """Ask a host what is wrong with it, which is nothing: a whole process; its seconds."""
        took, told = timed([str(INVOKE), "diagnose", "--host", host.name, "--json"], self.folder)
        assert json.loads(told)["host_diagnosis"]["unseen"] == [], told
        return took

    def floor(self, count: int) -> float:
        """Connect and exec `true` on the first `count` hosts at once: a whole process."""
        addresses = [host.address for host in self.hosts[:count]]
        argv = [sys.executable, "-c", FLOOR, str(self.lab.key), str(self.lab.known_hosts)]
        return timed([*argv, *addresses], self.folder)[0]

    def race(self, count: int, rounds: int) -> Race:
        """Let both run in turns."""
        names = [host.name for host in self.hosts[:count]]
        pairs = [(self.unchanged(names), self.floor(count)) for _ in range(rounds)]
        return Race(count, tuple(ours for ours, _ in pairs), tuple(floor for _, floor in pairs))

    def execs(self, host: Host, act: Callable[[], object]) -> int:
        """Count the sessions that sshd started on a host during an act, from its own log."""
        count = "journalctl --no-pager -o cat -u ssh | grep -c 'Starting session: command'"
        before = int(host.inside(["sh", "-c", f"{count} || true"]))
        act()
        return int(host.inside(["sh", "-c", f"{count} || true"])) - before


def listen_closely(hosts: Sequence[Host]) -> None:
    """Have sshd log each session it starts."""
    for host in hosts:
        host.path("/etc/ssh/sshd_config.d/speed.conf").write_text(SSHD)
        host.inside(["systemctl", "reload", "ssh"])


def overhead_ms(ndjson: str, host: str) -> int:
    """Say what one changed host costs beside stop, start and gates, from its own events.

    From the first event to the last word, less what those steps took.
    """
    rows = [json.loads(row).get("host_said", {}) for row in ndjson.splitlines()]
    events = [row["event"] for row in rows if row.get("host") == host]
    spent = 0
    for body in (event["body"] for event in events):
        step = body.get("step_done", {})
        if step.get("step") in ("stop", "start"):
            spent += step["took_ms"]
        spent += body.get("reported", {}).get("report", {}).get("took_ms", 0)
    return int(events[-1]["at_ms"] - events[0]["at_ms"]) - spent


def timed(argv: Sequence[str], folder: Path) -> tuple[float, str]:
    """Run a command in a folder as an operator does: its seconds, and what it told."""
    env = {**os.environ, "PYTHONPATH": str(REPO)}
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # what is installed has its bytecode, as paramiko has
    began = time.perf_counter()
    done = subprocess.run(argv, cwd=folder, env=env, capture_output=True, text=True, check=False)
    took = time.perf_counter() - began
    if done.returncode != 0:
        said = re.sub(r"\s+", " ", done.stderr)[-400:]
        raise RuntimeError(f"{' '.join(argv[:6])} ended with {done.returncode}: {said}")
    return took, done.stdout


@dataclass(frozen=True)
class Figures:
    """Everything that the speed of a rollout is judged by."""

    ten: Race
    one: Race
    first_execs: int
    unchanged_execs: int
    overhead_ms: int
    runner_bytes: int

    def lines(self) -> list[str]:
        """Say it, a figure a line."""
        return [
            self.ten.line(),
            self.one.line(),
            f"execs a host: {self.first_execs} the first time, {self.unchanged_execs} unchanged",
            f"one changed host: {self.overhead_ms} ms beside stop, start and gates",
            f"the runner: {self.runner_bytes} bytes, once a host",
        ]


def measure(lab: Lab, folder: Path, rounds: int) -> Figures:
    """Boot ten hosts and measure everything in one run."""
    from headway.control.fleet import find
    from headway.control.reaching.pack import pack

    hosts = lab.up([HostSpec(f"s{number}") for number in range(1, 11)])
    listen_closely(hosts)
    track = Track(lab, hosts, folder)
    first = track.execs(hosts[0], lambda: track.rollout(hosts[0].name))
    track.rollout()
    track.rollout()  # looks in full once more, and seals
    unchanged = track.execs(hosts[0], lambda: track.unchanged([hosts[0].name]))
    ten, one = track.race(len(hosts), rounds), track.race(1, rounds)
    track.describe(3)
    changed = overhead_ms(track.rollout(hosts[0].name)[1], hosts[0].name)
    size = len(pack(find(folder, "")).data)
    return Figures(ten, one, first, unchanged, changed, size)
