"""Through pct exec everything works: words and streams arrive as they are, the node's secrets not.

The node, its pct and its qm are doubles (proxmox.py).
"""

import os
from pathlib import Path

import pytest

from headway.control.errors import UnreachableError
from headway.control.reaching import pct
from headway.control.reaching.reach import Reach
from headway.control.telling.story import Connecting, Told
from headway.wire.talk import Done, Follow
from tests.control.doubles import scripted
from tests.control.reaching.proxmox import Node, guest

ECHOES = """
import os, sys
order = hear()
with open(os.getcwd() + "/env", "w") as file: json.dump(dict(os.environ), file)
say({"done": {"exit_code": 0, "sentence": "fine"}})
"""
PACK = scripted(ECHOES)


def silent(_told: Told) -> None:
    """Tell nobody."""


def test_a_whole_conversation_goes_through_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The runner is brought and hears its order; nothing of the node's environment gets in."""
    monkeypatch.setenv("LC_NODE_SECRET", "canary-of-the-node")
    node = Node(tmp_path)
    node.guest(129)
    told: list[Told] = []
    for _ in range(2):
        with Reach(PACK, lambda _host: node).open(guest("pct"), told.append) as session:
            assert list(session.order(Follow())) == [Done(0, "fine")]
    assert node.calls() == ["--keep-env 0", "--keep-env 0"]
    assert "canary" not in (tmp_path / "env").read_text()
    assert os.environ["LC_NODE_SECRET"]
    assert Connecting("ct1", "container 129 on pve1") in told


def test_words_pass_no_shell_of_the_node() -> None:
    """What looks like an option, a quote or a variable is the guest's to read."""
    words = ["/bin/sh", "-c", "echo $HOME 'a b'", "--keep-env"]
    assert pct.exec_argv(129, words) == ["pct", "exec", "129", "--keep-env", "0", "--", *words]


def test_a_stopped_container_is_one_sentence_and_asked_about_only_then(tmp_path: Path) -> None:
    """The node is asked after the exec failed: two programs, where a healthy one costs one."""
    node = Node(tmp_path)
    node.guest(129, up=False)
    with pytest.raises(
        UnreachableError, match=r"^ct1: container 129 on pve1 is stopped$"
    ) as raised:
        Reach(PACK, lambda _host: node).open(guest("pct"), silent)
    assert "pct start 129" in raised.value.hint
    assert len(node.started) == 2
    assert node.closed


def test_a_frozen_container_is_asked_about_after_some_silence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A backup in suspend mode freezes it: pct exec hangs, and the lock says why."""
    monkeypatch.setattr(pct, "SILENT_S", 0.3)
    node = Node(tmp_path, {"R=": "sleep 30; R="})
    node.guest(129, conf="lock: backup\n")
    with pytest.raises(UnreachableError, match=r"ct1: container 129 on pve1 is locked \(backup\)"):
        Reach(PACK, lambda _host: node).open(guest("pct"), silent)


def test_a_fault_within_a_running_container_keeps_its_own_sentence(tmp_path: Path) -> None:
    """The node finds nothing wrong: what the guest itself said counts."""
    node = Node(tmp_path, {"R=": "echo 'no shell today' >&2; exit 9; R="})
    node.guest(129)
    with pytest.raises(UnreachableError, match=r"exit 9\): no shell today") as raised:
        Reach(PACK, lambda _host: node).open(guest("pct"), silent)
    assert "try on pve1: pct exec 129 -- /bin/sh -c id" in raised.value.hint


def test_a_call_ahead_goes_through_the_node_as_well(tmp_path: Path) -> None:
    """The hello is asked for while nobody waits, on one exec."""
    node = Node(tmp_path)
    node.guest(129)
    reach = Reach(PACK, lambda _host: node)
    reach.call_ahead([guest("pct")])
    with reach.open(guest("pct"), silent) as session:
        assert list(session.order(Follow())) == [Done(0, "fine")]
    assert len(node.started) == 1
