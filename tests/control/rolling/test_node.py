"""A guest that needs its node gets what the node's runner did, or the sentence that keeps it."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from headway.control.errors import UnreachableError
from headway.control.fleet import Fleet
from headway.control.inventory.model import Host, Via
from headway.control.reaching.reach import Reach
from headway.control.rolling.asks import Asks
from headway.control.rolling.node import freed
from headway.control.rolling.visit import Task, Visit
from headway.control.telling.story import Connecting, Told
from headway.wire.cards import Holder
from headway.wire.event import Ask
from headway.wire.loader import dumps, loads
from headway.wire.talk import Freed, Look
from tests.control.doubles import LocalTransport, installed, scripted

PVE1 = Host("pve1", "10.0.0.9", (), {})
CT1 = Host("ct1", "10.0.0.29", (), {}, via=Via(PVE1, 129, "lxc", "ssh", "hosts.yaml:3"))
ASK = Ask(7, "evict", "chat", '{"cgroup": "/system.slice/chat.service"}', 180, "needs the node")
DID = Freed(ended=(Holder(4711, 12, 83_000_000_000, "compute", "VLLM::Worker"),))
SAYS = 'order = hear()\nopen("order", "w").write(json.dumps(order))\n'


def asked(
    tmp_path: Path, script: str, guest: Host = CT1, ask: Ask = ASK
) -> tuple[Freed, list[Told]]:
    """Let a guest ask while the node's runner follows a script."""
    pack = scripted(SAYS + script)
    installed(pack, tmp_path)
    told: list[Told] = []
    reach = Reach(pack, lambda _host: LocalTransport(tmp_path))
    return freed(guest, ask, reach, told.append, "op"), told


def test_the_node_is_told_which_cgroup_of_which_guest(tmp_path: Path) -> None:
    """Its runner's answer goes back as it is, and survives the way to the host."""
    script = f"say({{'freed': json.loads('{dumps(DID)}')}}); say({{'done': {{'exit_code': 0}}}})"
    did, told = asked(tmp_path, script)
    assert did == DID
    assert loads(Freed, dumps(did)) == DID
    order = (tmp_path / "order").read_text()
    assert '"guest": 129, "cgroup": "/system.slice/chat.service"' in order
    assert '"by": "op", "reason": "evict chat of ct1: container 129 on pve1"' in order
    assert '"may_kill": []' in order
    assert told == [Connecting("pve1", "10.0.0.9")]


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        (
            "say({'freed': {'sentence': 'no NVML here'}}); say({'done': {'exit_code': 8}})",
            "no NVML",
        ),
        ("say({'trouble': {'exit_code': 8, 'sentence': 'too old'}})", "pve1: too old"),
        ("say({'done': {'exit_code': 0}})", "pve1: the runner there did not say what it did"),
        ("sys.exit(3)", r"pve1: the runner ended \(exit 3\)"),
    ],
)
def test_what_keeps_the_node_from_it_is_in_the_answer(
    tmp_path: Path, script: str, sentence: str
) -> None:
    """So the guest ends with a reason, and not in a wait."""
    did, _ = asked(tmp_path, script)
    assert not did.ended
    assert re.search(sentence, did.sentence)


def test_a_node_that_cannot_be_reached_is_in_the_answer() -> None:
    """With what to do next."""

    def dial(_host: Host) -> LocalTransport:
        raise UnreachableError("pve1: nobody listens there", hint="is sshd running?")

    did = freed(CT1, ASK, Reach(scripted(""), dial), lambda _told: None, "op")
    assert did.sentence == "pve1: nobody listens there; is sshd running?"


@pytest.mark.parametrize(
    ("guest", "ask", "sentence"),
    [
        (replace(CT1, via=None), ASK, "names no node of ct1: set proxmox_host"),
        (
            replace(CT1, via=Via(PVE1, 200, "qemu", "ssh", "h:1")),
            ASK,
            "VM 200 on pve1 has its cards to itself",
        ),
        (CT1, replace(ASK, detail='{"cgroup": "/"}'), "did not say which cgroup"),
        (CT1, replace(ASK, detail='{"cgroup": "chat.service"}'), "did not say which cgroup"),
        (CT1, replace(ASK, detail="[1]"), "did not say which cgroup"),
        (CT1, replace(ASK, detail="chat"), "did not say which cgroup"),
    ],
)
def test_where_no_node_can_help_none_is_called(
    tmp_path: Path, guest: Host, ask: Ask, sentence: str
) -> None:
    """A whole guest is never freed: the cgroup has to be an instance's."""
    did, told = asked(tmp_path, "", guest, ask)
    assert sentence in did.sentence
    assert told == []


def answer(tmp_path: Path, guest: Host) -> str | None:
    """Let a guest's visit ask the controller."""
    reach = Reach(scripted(""), lambda _host: LocalTransport(tmp_path))
    visit = Visit(Task(guest, Look()), reach, lambda _told: None)
    asks = Asks(Fleet(tmp_path), reach, lambda _told: None, (), None, "op", lambda _hosts: {})
    return asks(visit, ASK)


def test_the_ask_of_a_transition_is_answered_with_it(tmp_path: Path) -> None:
    """The answer is Freed as JSON, whatever became of it."""
    said = answer(tmp_path, replace(CT1, via=None))
    assert said is not None
    assert "names no node of ct1" in loads(Freed, said).sentence


def test_nothing_is_answered_where_nothing_can_be_said(tmp_path: Path) -> None:
    """Through qm an order lasts until its end: what is said meanwhile would run it again."""
    assert answer(tmp_path, replace(CT1, via=Via(PVE1, 200, "qemu", "qm", "h:1"))) is None
