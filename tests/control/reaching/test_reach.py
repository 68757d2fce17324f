"""A host is reached by the way its inventory says, and may be called before it is needed."""

import time
from pathlib import Path

import pytest

from headway.control.errors import UnreachableError
from headway.control.inventory.model import Host, How, Value
from headway.control.reaching.reach import Reach
from headway.control.telling.story import Connecting, Told
from tests.control.doubles import LocalTransport, installed, scripted
from tests.control.reaching.proxmox import Node, guest

PACK = scripted("")
GPU1 = Host("gpu1", "10.0.0.1", (), {})


def silent(_told: Told) -> None:
    """Tell nobody."""


def test_a_call_ahead_connects_at_once_and_is_used_once(tmp_path: Path) -> None:
    """The runner says hello while nobody waits for it, once; a second opening calls anew."""
    installed(PACK, tmp_path)
    dialled: list[LocalTransport] = []

    def dial(_host: Host) -> LocalTransport:
        dialled.append(LocalTransport(tmp_path))
        return dialled[-1]

    reach = Reach(PACK, dial)
    reach.call_ahead([GPU1])
    until = time.monotonic() + 5
    while not (dialled and dialled[0].started) and time.monotonic() < until:
        time.sleep(0.01)
    for used in (1, 2):
        reach.open(GPU1, silent).close()
        assert [transport.closed for transport in dialled] == [True] * used
        assert [len(transport.started) for transport in dialled] == [1] * used


def test_what_kept_a_call_ahead_from_connecting_is_said_when_it_is_needed() -> None:
    """Nobody hears of it before, and the next try dials anew."""
    tries: list[str] = []

    def dial(host: Host) -> LocalTransport:
        tries.append(host.name)
        raise UnreachableError("gpu1: nobody listens there")

    reach = Reach(PACK, dial)
    reach.call_ahead([GPU1])
    for times in (1, 2):
        with pytest.raises(UnreachableError, match="nobody listens"):
            reach.open(GPU1, silent)
        assert len(tries) == times


def test_the_story_tells_of_connecting(tmp_path: Path) -> None:
    """Name and address, and that it is not the first time."""
    installed(PACK, tmp_path)
    told: list[Told] = []
    Reach(PACK, lambda _host: LocalTransport(tmp_path)).open(GPU1, told.append, again=True).close()
    assert told == [Connecting("gpu1", "10.0.0.1", again=True)]


@pytest.mark.parametrize(
    ("value", "python"), [("/opt/bin/python3.12", "/opt/bin/python3.12"), ("auto", "python3")]
)
def test_the_interpreter_of_the_inventory_runs_the_runner(
    tmp_path: Path, value: str, python: str
) -> None:
    """ansible_python_interpreter names it; `auto` is Ansible's word for its own search."""
    transport = LocalTransport(tmp_path, {"$(id -u)": "1000"})
    host = Host("gpu1", "a", (), {"ansible_python_interpreter": Value(value, "hosts.yaml:2")})
    with pytest.raises(UnreachableError, match="uid 1000"):
        Reach(PACK, lambda _host: transport).open(host, silent)
    assert f"exec {python} -I -S" in transport.started[0][2]
    assert transport.closed


def test_become_wraps_it_in_sudo(tmp_path: Path) -> None:
    """Only where the inventory says so, and only to root."""
    transport = LocalTransport(tmp_path, {"sudo": "/nonexistent/sudo"})
    with pytest.raises((UnreachableError, FileNotFoundError)):
        Reach(PACK, lambda _host: transport).open(Host("g", "a", (), {}, become=True), silent)
    assert transport.started[0][:2] == ["sudo", "-S"]
    other = Host("g", "a", (), {}, become=True, become_user="www")
    with pytest.raises(UnreachableError, match="headway needs root"):
        Reach(PACK, lambda _host: transport).open(other, silent)


def test_a_guest_that_does_not_answer_ssh_may_be_stopped(tmp_path: Path) -> None:
    """Its node is asked before it is called unreachable; a node that cannot say changes nothing."""
    node, dialled = Node(tmp_path), list[str]()

    def dial(host: Host) -> LocalTransport:
        dialled.append(host.name)
        if host.name == "ct1":
            raise UnreachableError("ct1: 10.0.0.29 port 22: no answer within 10 s")
        return node

    reach = Reach(PACK, dial)
    node.guest(129, up=False)
    with pytest.raises(UnreachableError, match=r"^ct1: container 129 on pve1 is stopped"):
        reach.open(guest("ssh"), silent)
    assert node.closed
    node.guest(129)
    with pytest.raises(UnreachableError, match="no answer within 10 s"):
        reach.open(guest("ssh"), silent)
    assert dialled == ["ct1", "pve1"] * 2


@pytest.mark.parametrize("how", ["ssh", "pct", "qm"])
def test_a_node_that_cannot_be_reached_is_named(how: How) -> None:
    """As a jump host is; a guest with SSH of its own keeps its own sentence."""

    def dial(host: Host) -> LocalTransport:
        raise UnreachableError(f"{host.name}: nobody listens there", hint="is it up?")

    said = "^ct1: nobody listens" if how == "ssh" else "^ct1: by way of pve1: nobody listens there"
    with pytest.raises(UnreachableError, match=said) as raised:
        Reach(PACK, dial).open(guest(how), silent)
    assert raised.value.hint == "is it up?"


def test_a_node_s_login_that_is_not_root_uses_sudo_there(tmp_path: Path) -> None:
    """The guest's own user counts for nothing: pct and qm begin as the node's root."""
    pve1 = Host("pve1", "10.0.0.9", (), {}, user="ops", become=True)
    for how in ("pct", "qm"):
        node = Node(tmp_path, {"sudo": "/nonexistent/sudo"})
        with pytest.raises((UnreachableError, FileNotFoundError)):
            Reach(PACK, lambda _host, to=node: to).open(guest(how, node=pve1), silent)  # type: ignore[misc]
        assert node.started[0][:2] == ["sudo", "-S"]
        assert node.started[0][4:6] == ["--", how]
