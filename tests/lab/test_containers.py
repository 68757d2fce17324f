"""What is judged in a container: real Docker on a lab host, an image of nothing but busybox."""

import json
from collections.abc import Iterator

import pytest

from tests.lab import fleet as fleets
from tests.lab.fleet import Fleet, Said
from tests.lab.host import Host, HostSpec
from tests.lab.lab import Lab
from tests.lab.proof import Proofs

pytestmark = [pytest.mark.lab, pytest.mark.acceptance]

# tmpfs: overlay2 stands on it, and nothing of Docker's outlives the host.
DOCKER = HostSpec(
    "box",
    "docker",
    nspawn=(
        *("--capability=all", "--system-call-filter=add_key keyctl bpf"),
        *("--tmpfs=/var/lib/docker", "--bind=/dev/fuse"),
    ),
)
DAEMON = {"bridge": "none", "iptables": False, "ip6tables": False}
IMAGE = """\
set -e
mkdir -p /var/image/bin
cp /bin/busybox /var/image/bin/busybox
for word in sh echo sleep; do ln -sf busybox /var/image/bin/$word; done
systemctl restart docker
tar -C /var/image -c . | docker import - harness:1
docker run -d --name harness --network none -e PLACE=container harness:1 /bin/sleep 100000
"""
ASK = """echo '{"place": "'$PLACE'", "limit": '$LIMIT'}'"""
GATE = """\
- command:
      argv: [sh, -c, "{{ ask }}"]
      container: harness
      env: {LIMIT: "6"}
      expect: [{path: place, value: container}, {path: limit, value: 6}]
"""


@pytest.fixture(scope="module")
def box(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Fleet, Host]]:
    """Give a host on which a harness waits in a container; its fleet asks it as a gate."""
    [host] = lab.up([DOCKER])
    host.path("/etc/docker").mkdir(exist_ok=True)
    host.path("/etc/docker/daemon.json").write_text(json.dumps(DAEMON))
    made = host.ssh(["sh", "-c", IMAGE])
    assert made.returncode == 0, made.stderr
    fleet = Fleet(lab, tmp_path_factory.mktemp("box"))
    asks = next(line for line in fleets.ROLE.splitlines(keepends=True) if "- command: " in line)
    text = fleets.role({asks.lstrip(): GATE})
    (fleet.folder / "roles/engine/role.yaml").write_text(text)
    yield fleet, host
    host.ssh(["docker", "rm", "-f", "harness"])


def rollout(box: tuple[Fleet, Host], colour: str) -> Said:
    """Roll an engine out whose gate asks the harness where it is."""
    fleet, host = box
    fleet.describe(host, engine={"colour": colour, "ask": ASK})
    return fleet.invoke("rollout", host)


def test_a_harness_is_asked_in_its_container(box: tuple[Fleet, Host], prove: Proofs) -> None:
    """It has the container's environment and what the gate adds; stopped, it judges nothing."""
    fleet, host = box

    accepted = rollout(box, "red")

    assert accepted.code == 0, (accepted.sentence, accepted.stderr)
    report = accepted.report("command")
    assert report["verdict"] == "PASS", report["evidence"]
    assert "place == 'container'" in report["evidence"]
    [again] = [line for line in report["evidence"] if line.startswith("by hand: ")]
    typed = host.ssh(again[len("by hand: ") :])
    assert typed.returncode == 0, (again, typed.stderr)
    assert json.loads(typed.stdout) == {"place": "container", "limit": 6}

    host.ssh(["docker", "kill", "harness"])
    held = rollout(box, "blue")

    assert held.code == 3, (held.sentence, held.stderr)
    assert held.report("command")["verdict"] == "INVALID"
    assert held.report("command")["evidence"][0] == "container harness is not running"
    prove(
        "command in a container",
        "a gate asks a harness in a container of real Docker; then the container is killed",
        "PASS with the container's own environment; INVALID, held, exit 3",
        held.report("command")["evidence"][0],
    )
    assert fleet.invoke("rollback", host).code == 0
