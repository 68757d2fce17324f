"""Through the guest agent a question is asked and answered; what wants a stream is refused.

The node and its qm are doubles (proxmox.py); the answers' form is that of qemu-server's qm.pm.
"""

from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.control.errors import ConfigError, LostError, UnreachableError
from headway.control.inventory.model import Via
from headway.control.reaching import qm, qm_exec
from headway.control.reaching.pack import Pack
from headway.control.reaching.qm_exec import Ended, Running
from headway.control.reaching.reach import Reach
from headway.control.telling.story import Told
from headway.wire.gate import Criteria
from headway.wire.record import Orders
from headway.wire.release import EMPTY
from headway.wire.talk import Done, Evict, Follow, Look, Order, Request, Rollout
from tests.control.doubles import SCRIPTED_RUNNER, scripted
from tests.control.reaching.proxmox import Node, guest

DONE = (
    'sys.stdin.buffer.peek(1) and (hear(), say({"done": {"exit_code": 0, "sentence": "fine"}}))\n'
)
PACK = scripted(DONE)


def silent(_told: Told) -> None:
    """Tell nobody."""


def vm(tmp_path: Path) -> Node:
    """Make a node with a VM that runs and has an agent."""
    node = Node(tmp_path)
    node.guest(129, "qemu", conf="agent: 1\n")
    return node


def test_a_runner_is_brought_and_asked(tmp_path: Path) -> None:
    """Absent, delivery, order: a run each, the order's with nothing of the delivery in it."""
    node = vm(tmp_path)
    with Reach(PACK, lambda _host: node).open(guest("qm"), silent) as session:
        assert session.hello.runner == "double"
        assert list(session.order(Look())) == [Done(0, "fine")]
    bare, delivery, order = (stream.sent for stream in node.streams)
    assert bare == b""
    assert len(delivery) > len(PACK.data)
    assert (
        order
        == b'{"look":{"release":null,"units":[],"history":false,"facts":false,'
        + (order.partition(b'"facts":false,')[2])
    )
    assert node.calls() == [
        "--timeout 30 --synchronous 1",
        "--timeout 30 --synchronous 1 --pass-stdin 1",
        "--timeout 30 --synchronous 1 --pass-stdin 1",
    ]


WANTS = """
if sys.stdin.buffer.peek(1):
    hear()
    say({"wanting": {"satchel": "cards", "blob": {"sha256": "a", "size": 1}}})
    head = sys.stdin.buffer.readline()
    got = hear_bytes(json.loads(head)["bytes"]["size"]) if head else b""
    say({"done": {"exit_code": 0, "sentence": f"with {len(got)} bytes" if got else "without"}})
"""


def test_what_is_said_later_counts_as_if_it_had_been_said_at_once(tmp_path: Path) -> None:
    """A satchel is wanted: the answer given because nothing came is not the one that counts."""
    node = vm(tmp_path)
    pack = Pack({"__main__.py": (SCRIPTED_RUNNER + WANTS).encode(), "pynvml.py": b"x" * 9})
    with Reach(pack, lambda _host: node).open(guest("qm"), silent) as session:
        assert list(session.order(Look())) == [Done(0, f"with {len(pack.satchels['cards'])} bytes")]
    assert len(node.streams) == 4


def test_a_program_that_takes_longer_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It leaves with {"pid": N}: exec-status is asked until the program has ended."""
    monkeypatch.setattr(qm_exec, "_AGAIN_S", 0.05)
    node = vm(tmp_path)
    (tmp_path / "slow").touch()
    with Reach(PACK, lambda _host: node).open(guest("qm"), silent) as session:
        assert list(session.order(Look())) == [Done(0, "fine")]
    asked = [argv for argv in node.started if "exec-status" in argv]
    assert asked == [["qm", "guest", "exec-status", "129", "77"]] * 6


def test_an_answer_that_was_cut_is_no_answer(tmp_path: Path) -> None:
    """out-truncated: the rest of it is lost, and nobody may go by the beginning."""
    node = vm(tmp_path)
    (tmp_path / "cut").touch()
    with pytest.raises(LostError, match="ct1: the guest agent cut the answer short") as raised:
        Reach(PACK, lambda _host: node).open(guest("qm"), silent)
    assert "ssh" in raised.value.hint


def test_the_exit_code_is_the_program_s_and_not_qm_s(tmp_path: Path) -> None:
    """It exits 0 whatever came of it; a signal counts as shells count it."""
    for script, status in (("exit 9", 9), ("kill -9 $$", 137), ("true", 0)):
        run = Running(vm(tmp_path), "ct1", via(), ["/bin/sh", "-c", script], b"")
        assert ended(run) == Ended(b"", b"", status)


def test_a_runner_that_does_not_come_up_says_why(tmp_path: Path) -> None:
    """The inner exit code and the last line on its standard error, as over SSH."""
    node = Node(tmp_path, {"R=": "echo 'no shell today' >&2; exit 9; R="})
    node.guest(129, "qemu", conf="agent: 1\n")
    with pytest.raises(UnreachableError, match=r"exit 9\): no shell today"):
        Reach(PACK, lambda _host: node).open(guest("qm"), silent)


@pytest.mark.parametrize(
    ("conf", "up", "agent", "sentence"),
    [
        ("agent: 1\n", False, True, "VM 129 on pve1 is stopped"),
        ("", True, True, "VM 129 on pve1 has no guest agent configured"),
        ("agent: 1\n", True, False, "guest agent of VM 129 on pve1 does not answer: QEMU guest"),
        ("agent: 1\nlock: snapshot\n", False, True, r"stopped and locked \(snapshot\)"),
    ],
)
def test_a_vm_that_cannot_be_entered_is_one_sentence(
    tmp_path: Path, conf: str, sentence: str, *, up: bool, agent: bool
) -> None:
    """What is wrong comes from the node's facts, not from qm's own complaint."""
    node = Node(tmp_path)
    node.guest(129, "qemu", up=up, conf=conf)
    if not agent:
        (tmp_path / "no-agent").touch()
    with pytest.raises(UnreachableError, match=sentence) as raised:
        Reach(PACK, lambda _host: node).open(guest("qm"), silent)
    assert raised.value.hint


def test_over_a_mebibyte_is_refused_before_it_is_sent(tmp_path: Path) -> None:
    """It takes no more on standard input; what can carry it is named."""
    node = vm(tmp_path)
    stream = qm.Qm(node, "ct1", via()).converse(["cat"])
    stream.send(b"x" * qm_exec.INPUT_BYTES)
    with pytest.raises(UnreachableError, match="over 1 MiB") as raised:
        stream.send(b"x")
    assert "ssh" in raised.value.hint
    stream.close()


RELEASE = Rollout(EMPTY, Criteria("none", (), ""), Orders("op"))


@pytest.mark.parametrize(
    ("order", "refused"),
    [
        (Look(), False),
        (Evict(Orders("op")), False),
        (RELEASE, True),
        (Follow(), True),
        (Request("abort", "op"), True),
    ],
)
def test_what_wants_a_stream_is_refused(order: Order, *, refused: bool) -> None:
    """With the inventory's line, and the connection that can; only through qm."""
    qm.refuse(guest("pct"), order)
    if not refused:
        qm.refuse(guest("qm"), order)
        return
    with pytest.raises(
        ConfigError, match=r"^inventory/hosts.yaml:7: ct1: .*qm carries no"
    ) as raised:
        qm.refuse(guest("qm"), order)
    assert "ansible_connection: ssh" in raised.value.hint


@dataclass
class Answered:
    """A double of a run: a program that says lines and wants bytes between them."""

    steps: list[int]
    said: bytes

    def ended(self, timeout_s: float) -> Ended:
        """Run it: at the end of its input it says so, and leaves."""
        del timeout_s
        left, out = len(self.said), b""
        for n, wants in enumerate(self.steps):
            if wants > left:
                return Ended(out + b"nothing came\nleaving\n", b"", 3)
            left -= wants
            out += b"line %d\n" % n
        return Ended(out, b"", 0)

    def close(self) -> None:
        """Leave it."""


@given(st.lists(st.integers(0, 3), max_size=6))
def test_a_conversation_is_heard_as_over_a_stream(steps: list[int]) -> None:
    """Whatever is said when, no line comes twice, none is lost, and none of a run cut short."""
    stream = qm.Repeated(lambda said: Answered(steps, said), "vm1")
    heard = b""
    for n, wants in enumerate(steps):
        if wants:
            stream.send(b"x" * wants)
        while b"line %d\n" % n not in heard:
            heard += stream.receive(1).stdout
    while not (got := stream.receive(1)).ended:
        heard += got.stdout
    assert heard == b"".join(b"line %d\n" % n for n in range(len(steps)))
    assert got.status == 0


def test_a_program_that_answers_otherwise_the_second_time_is_not_believed() -> None:
    """Two conversations at once, or a guest that was changed meanwhile."""
    runs = iter([Ended(b"one\n", b"", 0), Ended(b"two\nthree\n", b"", 0)])

    class Run(Answered):
        def ended(self, timeout_s: float) -> Ended:
            del timeout_s
            return next(runs)

    stream = qm.Repeated(lambda said: Run([], said), "vm1")
    while not stream.receive(1).stdout:
        pass
    stream.send(b"x")
    with pytest.raises(LostError, match="vm1: it answered otherwise than a moment ago"):
        stream.receive(1)


@given(st.text())
def test_text_survives_a_byte_written_as_a_letter(text: str) -> None:
    """Proxmox decodes no UTF-8 in out-data; where somebody did, it is taken as it is."""
    assert qm_exec.raw(text.encode().decode("latin-1")) == text.encode()
    assert qm_exec.raw("caf\u00e9") == "caf\u00e9".encode()


def test_json_is_found_after_a_login_shell_s_words() -> None:
    """A banner with a brace in it is none."""
    printed = 'Welcome {user}\n{ not json\n{\n   "exited" : 1\n}\n'
    assert qm_exec.envelope(printed) == {"exited": 1}
    assert qm_exec.envelope("VM 129 not running\n") is None


def via() -> Via:
    """Give the way to the VM."""
    found = guest("qm").via
    assert found is not None
    return found


def ended(run: Running) -> Ended:
    """Wait for a run."""
    while (found := run.ended(5)) is None:
        pass
    return found
