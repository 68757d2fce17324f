"""On call: one command says what is wrong with a machine, whatever of it is broken."""

import json
import os
import shutil
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue

import pytest

from headway.control.diagnose import HostDiagnosis, text
from headway.wire.loader import load
from tests.lab.broken import Broken, breaks, cases, mends, sick
from tests.lab.cards import cards
from tests.lab.fleet import Fleet
from tests.lab.host import Host, HostSpec
from tests.lab.lab import Lab
from tests.lab.proof import Proofs
from tests.lab.speed import Track, listen_closely
from tests.lab.test_containers import DAEMON, DOCKER

pytestmark = [pytest.mark.lab, pytest.mark.oncall]

HOSTS = 4
MOST_MS = 3000
MOST_RATIO = 3.0
ROUNDS = 5
FAKETIME = Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1")
IMAGE = """\
set -e
mkdir -p /var/image/bin
cp /bin/busybox /var/image/bin/busybox
for word in sh echo sleep false; do ln -sf busybox /var/image/bin/$word; done
systemctl restart docker
tar -C /var/image -c . | docker import - busybox:1
"""
Hosts = Callable[..., list[Host]]


@dataclass(frozen=True)
class Trial:
    """What came of one broken host."""

    case: Broken
    said: HostDiagnosis
    code: int
    stderr: str
    took_s: float

    def wrong(self) -> str:
        """Say what is not as it has to be; "" where all is."""
        first = self.said.causes[0] if self.said.causes else None
        if first is None or first.finding != self.case.first:
            found = [(one.finding, one.about, one.evidence) for one in self.said.causes]
            return f"{self.case.name}: wanted {self.case.first}: {found}, {self.said.unseen}"
        told = "\n".join((first.about, *first.evidence, first.help))
        if self.case.says and self.case.says not in told:
            return f"{self.case.name}: wanted {self.case.says!r} in {told}"
        if self.code != 9 or "Traceback" in self.stderr:
            return f"{self.case.name}: exit {self.code}: {self.stderr}"
        slow = self.said.took_ms > MOST_MS
        return f"{self.case.name}: {self.said.took_ms} ms" if slow else ""


def diagnose(fleet: Fleet, host: Host) -> tuple[HostDiagnosis, int, str]:
    """Type it, as a script does."""
    said = fleet.invoke("diagnose", host)
    assert said.story, said.stderr
    [row] = said.told("host_diagnosis")
    return load(HostDiagnosis, row), said.code, said.stderr


def broken(fleet: Fleet, host: Host, case: Broken) -> Trial:
    """Break a host, ask, and mend it."""
    try:
        breaks(host, case)
        began = time.monotonic()
        said, code, stderr = diagnose(fleet, host)
        took_s = time.monotonic() - began
    finally:
        mends(host, case)
    return Trial(case, said, code, stderr, took_s)


@pytest.fixture(scope="module")
def wards(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Fleet, Host]]:
    """Return hosts that run the engine with two cards each, and one with Docker, all well."""
    specs = [*(HostSpec(f"sick{n}") for n in range(HOSTS)), DOCKER]
    hosts = lab.up(specs, fresh=True)
    made = [(Fleet(lab, tmp_path_factory.mktemp(host.name)), host) for host in hosts]

    def prepare(one: tuple[Fleet, Host]) -> None:
        fleet, host = one
        if host.spec == DOCKER:
            host.path("/etc/docker").mkdir(exist_ok=True)
            host.path("/etc/docker/daemon.json").write_text(json.dumps(DAEMON))
            done = host.ssh(["sh", "-c", IMAGE])
            assert done.returncode == 0, done.stderr
            fleet.describe(host)
        else:
            cards(host, 2)
            shutil.copy(FAKETIME, host.path("/opt/standin/libfaketime.so.1"))
            sick(fleet, host)

    with ThreadPoolExecutor() as pool:
        list(pool.map(prepare, made))
    return made


def test_each_broken_host_is_diagnosed(wards: list[tuple[Fleet, Host]], prove: Proofs) -> None:
    """The right finding comes first, without a traceback and within three seconds."""
    queues: dict[str, SimpleQueue[Broken]] = {"engine": SimpleQueue(), "docker": SimpleQueue()}
    only = os.environ.get("BROKEN", "")  # names with commas, to try some of them by hand
    every = [case for case in cases() if not only or case.name in only.split(",")]
    for case in every:
        queues[case.host].put(case)

    def work(one: tuple[Fleet, Host]) -> list[Trial | str]:
        fleet, host = one
        queue = queues["docker" if host.spec == DOCKER else "engine"]
        done: list[Trial | str] = []
        while True:
            try:
                case = queue.get_nowait()
            except Empty:
                return done
            try:
                done.append(broken(fleet, host, case))
            except Exception as error:  # noqa: BLE001 # the others go on; all is told at the end
                done.append(f"{case.name} on {host.name}: {type(error).__name__}: {error}")

    with ThreadPoolExecutor(len(wards)) as pool:
        done = [one for row in pool.map(work, wards) for one in row]
    trials = [one for one in done if isinstance(one, Trial)]
    wrong = [one for one in done if isinstance(one, str)] + [t.wrong() for t in trials if t.wrong()]
    slowest = max((trial.said.took_ms, trial.case.name) for trial in trials)
    median = statistics.median(trial.took_s for trial in trials)
    prove(
        "diagnose",
        f"{len(every)} hosts broken from outside, one thing each",
        f"the right finding first in {len(every) - len(wrong)}, no traceback",
        f"slowest {slowest[0]} ms on its host ({slowest[1]}); whole command {median:.1f} s median",
    )
    assert not wrong, "\n".join(wrong)
    assert len(trials) == len(every)


def test_a_host_that_was_rolled_out_to_diagnoses_itself_alone(
    lab: Lab, tmp_path: Path, hosts: Hosts
) -> None:
    """No controller has asked it before: what it needs came with the release."""
    [host] = hosts(HostSpec("alone"), fresh=True)
    sick(Fleet(lab, tmp_path), host)
    host.ssh(["systemctl", "stop", "engine"])

    typed = host.ssh(["headway-host", "diagnose"])

    assert typed.returncode == 9, typed.stderr
    assert typed.stdout.startswith("1 engine.service: somebody stopped the service")


def test_a_host_that_is_well_says_what_was_looked_at(
    wards: list[tuple[Fleet, Host]], prove: Proofs
) -> None:
    """Nothing found is an answer, exit 0; on the host alone, too."""
    fleet, host = wards[0]
    said, code, _ = diagnose(fleet, host)
    alone = host.ssh(["headway-host", "diagnose"])

    assert (code, said.causes, said.unseen) == (0, (), ())
    assert any("engine.service (active" in words for words in said.looked)
    assert alone.returncode == 0, alone.stdout
    assert "nothing found; looked at: headway's record" in alone.stdout
    assert max(map(len, text(said, 40).splitlines())) <= 40
    prove("diagnose", "a host that is well", text(said).splitlines()[-1])


def test_it_costs_one_exec_and_three_times_a_login(
    lab: Lab, tmp_path: Path, hosts: Hosts, prove: Proofs
) -> None:
    """At most 3 x `paramiko connect + exec true`, whole processes in turns, eight cards."""
    [host] = hosts("called1")
    cards(host, 8)
    listen_closely([host])
    track = Track(lab, [host], tmp_path)
    track.rollout()
    track.diagnose(host)  # brings what travels apart
    execs = track.execs(host, lambda: track.diagnose(host))
    turns = [(track.diagnose(host), track.floor(1)) for _ in range(ROUNDS)]
    ours, floor = (statistics.median(column) for column in zip(*turns, strict=True))
    figure = f"{ours:.2f} s, floor {floor:.2f} s, {execs} exec"
    prove("diagnose", "eight cards, whole processes in turns", figure, f"{ours / floor:.2f}")
    assert execs == 1
    assert ours <= MOST_RATIO * floor, figure
