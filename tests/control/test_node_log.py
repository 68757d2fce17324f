"""The facts of a container name what its node's kernel log has, or why that is not to be seen."""

import json
import threading
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from headway.control.cards_text import attention, facts
from headway.control.desk import Desk
from headway.control.errors import HeadwayError, UnreachableError
from headway.control.facts import facts as show
from headway.control.inventory.model import Host, Via
from headway.control.node_log import nodes, with_node_log
from headway.control.reaching.reach import Reach
from headway.wire.cards import CardsHost, CardsSeen, KernelLog, Xid
from headway.wire.loader import dumps
from headway.wire.record import State
from headway.wire.release import EMPTY
from headway.wire.talk import Looked
from tests.control.doubles import LocalTransport, installed, scripted

PVE1, PVE2 = Host("pve1", "10.0.0.9", (), {}), Host("pve2", "10.0.0.8", (), {})
CT1 = Host("ct1", "10.0.0.29", (), {}, via=Via(PVE1, 129, "lxc", "ssh", "hosts.yaml:3"))
CT2 = Host("ct2", "10.0.0.30", (), {}, via=Via(PVE1, 130, "lxc", "pct", "hosts.yaml:7"))
VM1 = Host("vm1", "10.0.0.31", (), {}, via=Via(PVE2, 201, "qemu", "ssh", "hosts.yaml:9"))
GPU1 = Host("gpu1", "10.0.0.1", (), {})
UNSEEN = CardsHost(module="580.159.04", log="not visible from here: it is the node's")
XID = Xid(7200, "0000:9b:00", 79, "fallen off the bus", "RESTART_BM", "restart it", "NVRM: ...")
LOOKED = Looked(State(), EMPTY)
CT1_LOOKED = replace(LOOKED, cards=CardsSeen(driver="580.159.04", host=UNSEEN))


def host_of(answer: Looked | HeadwayError, host: Host = CT1, of: Looked = CT1_LOOKED) -> CardsHost:
    """Give what a host is to its cards after its node answered."""
    cards = with_node_log(host, of, {host.name: of, "pve1": answer}).cards
    assert cards is not None
    assert cards.host is not None
    return cards.host


def test_each_node_of_a_container_is_asked_once_and_no_other() -> None:
    """A VM has a kernel of its own; a node that was named is asked for all its facts already."""
    assert nodes([GPU1, CT1, VM1, CT2]) == (PVE1,)
    assert nodes([PVE1, CT1]) == ()


@pytest.mark.parametrize(
    "answer",
    [
        replace(LOOKED, kernel=KernelLog((XID,))),
        replace(LOOKED, cards=CardsSeen(host=CardsHost(xids=(XID,)))),
    ],
    ids=["asked for its log", "named itself"],
)
def test_the_node_s_xids_are_the_container_s(answer: Looked) -> None:
    """With whose log it is, whose boot the times count from; all else is the container's own."""
    seen = host_of(answer)
    assert seen == replace(UNSEEN, xids=(XID,), log="", log_of="pve1")
    told = CardsSeen(host=seen)
    assert ("xids", "1 since boot, in the log of pve1") in list(facts(told))
    assert "Xid 79, fallen off the bus: restart it" in next(attention(told))


def test_a_node_that_lost_part_of_its_log_says_so() -> None:
    """What is left of it is shown."""
    seen = host_of(replace(LOOKED, kernel=KernelLog((XID,), "the kernel's ring has wrapped")))
    assert (seen.xids, seen.log) == ((XID,), "pve1: the kernel's ring has wrapped")


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (
            UnreachableError("pve1: nobody listens there", hint="is sshd running?"),
            "pve1: nobody listens there; is sshd running?",
        ),
        (LOOKED, "pve1 shows no NVIDIA driver"),
    ],
)
def test_a_node_that_cannot_say_is_one_sentence(answer: Looked | HeadwayError, why: str) -> None:
    """No Xids are not "no Xid"."""
    seen = host_of(answer)
    assert (seen.xids, seen.log) == ((), f"not visible from here: {why}")


def test_who_sees_a_kernel_log_keeps_it() -> None:
    """A VM; a machine of its own; a container that was given the ring of records."""
    answer = replace(LOOKED, kernel=KernelLog((XID,)))
    assert host_of(answer, VM1) == UNSEEN
    assert host_of(answer, GPU1) == UNSEEN
    whole = replace(LOOKED, cards=CardsSeen(host=CardsHost(module="580.159.04")))
    assert host_of(answer, CT1, whole) == CardsHost(module="580.159.04")
    bare = with_node_log(CT1, LOOKED, {"ct1": LOOKED, "pve1": answer})
    assert bare == LOOKED


def test_the_node_is_asked_while_the_container_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command takes no longer for it; only hosts that were named are told of."""
    hosts = {"pve1": {}, "ct1": {"proxmox_host": "pve1", "proxmox_vmid": 129}}
    (tmp_path / "inventory").mkdir()
    (tmp_path / "inventory/hosts.yaml").write_text(yaml.safe_dump({"all": {"hosts": hosts}}))
    monkeypatch.chdir(tmp_path)
    answers = {True: replace(LOOKED, kernel=KernelLog((XID,))), False: CT1_LOOKED}
    said = {str(kernel): json.loads(dumps(answer)) for kernel, answer in answers.items()}
    pack = scripted(
        f"answer = json.loads({json.dumps(said)!r})[str(hear()['look']['kernel'])]\n"
        "say({'looked': answer}); say({'done': {'exit_code': 0}})"
    )
    installed(pack, tmp_path)
    both = threading.Barrier(2, timeout=10)

    def dial(_host: Host) -> LocalTransport:
        both.wait()
        return LocalTransport(tmp_path)

    with Desk(verb="facts", host=("ct1",), json=True) as desk:
        desk.reach = Reach(pack, dial)
        assert show(desk) == 0
    [row] = map(json.loads, capsys.readouterr().out.splitlines())
    assert row["host_facts"]["host"] == "ct1"
    assert row["host_facts"]["cards"]["host"]["log_of"] == "pve1"
