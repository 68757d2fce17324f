"""The verbs over doubles of hosts: what is ordered, what is told, and whose exit code it is."""

from dataclasses import replace
from pathlib import Path

import pytest

from headway.control.errors import ConfigError, UnreachableError
from headway.control.fleet import Fleet
from headway.control.inventory import load
from headway.control.inventory.model import Host
from headway.control.reaching.looks import look
from headway.control.reaching.reach import Reach
from headway.control.rolling import rollout as verbs
from headway.control.rolling.rollout import Options
from headway.control.telling.story import Began, Ended, HostSaid, Told
from headway.wire.event import Reported
from headway.wire.phase import Exit
from headway.wire.record import Orders
from headway.wire.talk import Looked
from headway.wire.verdict import Verdict
from tests.control.doubles import LocalTransport, installed, scripted

INVENTORY = """
all:
  vars:
    roles:
      - {role: service, name: engine, program: /bin/engine, port: 8080}
  hosts: {gpu1: {}, gpu2: {}, gpu3: {}}
"""
SAYS_ITS_ORDER = """
import os
order = hear()
with open(os.getcwd() + "/order", "w") as file: json.dump(order, file)
say({"done": {"exit_code": 0, "sentence": "fine"}})
"""


class Bench:
    """A fleet of files and doubles of its hosts, each with a runner that follows a script."""

    def __init__(self, folder: Path, script: str, inventory: str = INVENTORY) -> None:
        self.folder = folder
        (folder / "inventory").mkdir()
        (folder / "inventory/hosts.yaml").write_text(inventory)
        self.fleet = Fleet(folder)
        self.hosts = load(self.fleet).select(["all"])
        self.pack = scripted(script)
        self.told: list[Told] = []
        self.called: list[str] = []
        self.options = Options(self.fleet, Orders("op"), Reach(self.pack, self.dial))

    def dial(self, host: Host) -> LocalTransport:
        """Connect to a double, but gpu3 cannot be reached."""
        self.called.append(host.name)
        if host.name == "gpu3":
            raise UnreachableError("gpu3: nobody listens there")
        (self.folder / host.name).mkdir(exist_ok=True)
        installed(self.pack, self.folder / host.name)
        return LocalTransport(self.folder / host.name)

    def order(self, host: str) -> str:
        """Read what a double was ordered."""
        return (self.folder / host / "order").read_text()


def test_nothing_is_run_on_a_host_when_one_of_them_cannot_be_rendered(tmp_path: Path) -> None:
    """Host 2 misses a value: exit 2 before any host is told anything."""
    broken = (
        INVENTORY.replace("gpu2: {}", "gpu2: {program: '{{ nowhere }}'}")
        .replace("program: /bin/engine, ", "")
        .replace("gpu1: {}", "gpu1: {program: /bin/engine}")
    )
    bench = Bench(tmp_path, SAYS_ITS_ORDER, broken)
    with pytest.raises(ConfigError, match="nowhere"):
        verbs.rollout(bench.hosts[:2], bench.options, bench.told.append)
    assert bench.told == []
    assert not (tmp_path / "gpu1/order").exists()


def test_nothing_begins_where_a_guest_is_reached_by_qm_alone(tmp_path: Path) -> None:
    """A rollout wants a stream: the second host's line is named, and the first is not called."""
    guest = "gpu2: {proxmox_host: pve, proxmox_vmid: 129, ansible_connection: qm}"
    bench = Bench(tmp_path, SAYS_ITS_ORDER, INVENTORY.replace("gpu2: {}", guest))
    for verb in (verbs.rollout, verbs.restart, verbs.park, verbs.check):
        with pytest.raises(ConfigError, match=r"hosts.yaml:6: gpu2: ansible_connection qm carries"):
            verb(bench.hosts[:2], bench.options, bench.told.append)
    assert (bench.told, bench.called) == ([], [])


def test_a_verb_tells_its_story_from_began_to_ended(tmp_path: Path) -> None:
    """The worst of the hosts' own codes is the verb's; the third host is unreachable."""
    bench = Bench(tmp_path, SAYS_ITS_ORDER)
    code = verbs.request(bench.hosts, "hold", bench.options, bench.told.append)
    assert code is Exit.UNREACHABLE
    first, last = bench.told[0], bench.told[-1]
    assert isinstance(first, Began)
    assert isinstance(last, Ended)
    assert (first.verb, first.hosts, first.by) == ("hold", ("gpu1", "gpu2", "gpu3"), "op")
    assert (last.rollout, last.exit_code, last.untouched) == (first.rollout, 5, ())
    assert '"hold"' in bench.order("gpu1")


@pytest.mark.parametrize(
    ("verb", "kind"),
    [
        (verbs.rollback, "rollback"),
        (verbs.restart, "repair"),
        (verbs.unpark, "repair"),
        (verbs.park, "park"),
        (verbs.adopt, "adopt"),
        (verbs.check, "check"),
        (verbs.rollout, "rollout"),
    ],
)
def test_every_verb_gives_its_order(tmp_path: Path, verb: object, kind: str) -> None:
    """One order a host, of the kind the wire names."""
    bench = Bench(tmp_path, SAYS_ITS_ORDER)
    code = verb(bench.hosts[:1], bench.options, bench.told.append)  # type: ignore[operator]
    assert code is Exit.ACCEPTED
    assert bench.order("gpu1").startswith(f'{{"{kind}"')
    assert bench.called == ["gpu1"]


def test_adopt_without_units_takes_those_of_the_description(tmp_path: Path) -> None:
    """The units that the release would have are the ones that may run already."""
    bench = Bench(tmp_path, SAYS_ITS_ORDER)
    verbs.adopt(bench.hosts[:1], bench.options, bench.told.append)
    assert '"units": ["engine.service"]' in bench.order("gpu1")


def test_a_floor_is_asked_only_where_others_run_the_role(tmp_path: Path) -> None:
    """A lone host has nobody to wait for; --floor 0 asks nobody."""
    bench = Bench(tmp_path, SAYS_ITS_ORDER)
    for peers, floor, asked in (
        (bench.hosts, None, True),
        (bench.hosts, 0, False),
        ((), None, False),
    ):
        options = replace(bench.options, peers=tuple(peers), floor=floor)
        verbs.rollout(bench.hosts[:1], options, bench.told.append)
        assert f'"floor": {str(asked).lower()}' in bench.order("gpu1")


LOOKS = """
hear()
state = {"schema": 1, "phase": "IDLE", "accepted": [], "rejected": [], "parked": None}
empty = {"schema": 1, "id": "empty", "origin": "empty"}
say({"looked": {"state": state, "accepted": empty}})
say({"done": {"exit_code": 0, "sentence": ""}})
"""


def test_a_look_answers_for_every_host_in_order(tmp_path: Path) -> None:
    """An error is an answer, too: status shows the others all the same."""
    bench = Bench(tmp_path, LOOKS)
    answers = look(bench.hosts, bench.options.reach)
    assert list(answers) == ["gpu1", "gpu2", "gpu3"]
    assert isinstance(answers["gpu2"], Looked)
    assert isinstance(answers["gpu3"], UnreachableError)
    assert look((), bench.options.reach) == {}


def test_check_judges_from_outside_what_is_judged_there(tmp_path: Path) -> None:
    """The gate is run from here after the host's own, and its verdict counts."""
    gates = "roles/outer/role.yaml"
    (tmp_path / "roles/outer").mkdir(parents=True)
    (tmp_path / gates).write_text(
        "description: judged from outside\ngates:\n  - outside: {tests: [tests/none.py]}\n"
    )
    bench = Bench(tmp_path, SAYS_ITS_ORDER, "all: {vars: {roles: [outer]}, hosts: {gpu1: {}}}\n")
    code = verbs.check(bench.hosts, bench.options, bench.told.append)
    assert code is Exit.HELD
    (said,) = [told for told in bench.told if isinstance(told, HostSaid)]
    assert isinstance(said.event.body, Reported)
    assert said.event.body.report.verdict is Verdict.INVALID
