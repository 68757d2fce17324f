"""The password goes to sudo's own question, once, and to nobody else."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.control.errors import UnreachableError
from headway.control.reaching.sudo import Sudo
from headway.control.reaching.transport import Received, Stream
from headway.control.secrets import Secret

PASSWORD = Secret.of("hunter2", "test")


@dataclass
class Fake:
    """A double of a stream and of its transport: gives what it was given, keeps what it is sent."""

    pieces: list[Received] = field(default_factory=list)
    argv: list[str] = field(default_factory=list)
    sent: bytes = b""
    closed: int = 0

    def converse(self, argv: Sequence[str]) -> "Fake":
        """Keep the words."""
        self.argv = list(argv)
        return self

    def receive(self, timeout_s: float) -> Received:
        """Give the next piece."""
        del timeout_s
        return self.pieces.pop(0) if self.pieces else Received(ended=True, status=1)

    def send(self, data: bytes) -> None:
        """Keep it."""
        self.sent += data

    def finish(self) -> None:
        """Nothing follows."""

    def close(self) -> None:
        """Count it."""
        self.closed += 1


def started(password: Secret | None = PASSWORD) -> tuple[Fake, Stream, bytes]:
    """Start a program under sudo; the mark is in its words."""
    fake = Fake()
    stream = Sudo(fake, "ops@gpu1", password).converse(["id"])
    assert fake.argv[:3] == ["sudo", "-S", "-p"]
    assert fake.argv[4:] == ["--", "id"]
    return fake, stream, fake.argv[3].encode()


def read(fake: Fake, stream: Stream, pieces: list[bytes]) -> bytes:
    """Let these pieces come on standard error and return what is passed on of them."""
    fake.pieces = [Received(stderr=piece) for piece in pieces] + [Received(ended=True, status=0)]
    passed = b""
    while True:
        got = stream.receive(1.0)
        passed += got.stderr
        if got.ended:
            return passed


@given(st.data())
def test_the_question_is_found_however_it_is_cut(data: st.DataObject) -> None:
    """A prompt that arrives in pieces, after a lecture, is answered once and taken out."""
    fake, stream, mark = started()
    text = b"We trust you have received the usual lecture.\n" + mark + b"warning: late\n"
    cuts = sorted(data.draw(st.sets(st.integers(1, len(text) - 1), max_size=6)))
    pieces = [text[i:j] for i, j in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    passed = read(fake, stream, pieces)
    assert fake.sent == b"hunter2\n"
    assert passed == text.replace(mark, b"")


def test_nothing_is_sent_where_sudo_does_not_ask() -> None:
    """NOPASSWD, or a login that prints another prompt: the password stays here."""
    fake, stream, _ = started()
    assert read(fake, stream, [b"Password: ", b"[sudo] password for ops: "])
    assert fake.sent == b""


def test_a_second_question_means_a_wrong_password() -> None:
    """It is sent once; asked again, user and host are named."""
    fake, stream, mark = started()
    with pytest.raises(UnreachableError, match="ops@gpu1: sudo refused the password"):
        read(fake, stream, [mark, b"Sorry, try again.\n" + mark])
    assert fake.sent == b"hunter2\n"


def test_a_question_without_a_password_says_where_to_put_one() -> None:
    """The line names the variable and the option."""
    fake, stream, mark = started(None)
    with pytest.raises(UnreachableError, match="none is given") as raised:
        read(fake, stream, [mark])
    assert "ansible_become_password" in raised.value.hint
    assert fake.sent == b""


def test_the_mark_is_another_one_each_time() -> None:
    """Nobody can learn it from an earlier conversation."""
    assert started()[2] != started()[2]
