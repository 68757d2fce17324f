import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from headway.runner.cards.asker import Asker
from headway.runner.cards.words import Begun
from headway.runner.process import Companion, ProcessError
from headway.wire.cards import Card, CardsSeen
from headway.wire.loader import line

BEGUN, CARD = line(Begun("card 0")), line(Card(0, uuid="GPU-0"))
REST = line(CardsSeen(driver="580.159.04", took_ms=3))
Child = Callable[..., Callable[[], Companion]]


@pytest.fixture
def child(tmp_path: Path) -> Child:
    """Return `child(body)`: what starts a child that says it is there for each question."""

    def made(body: str) -> Callable[[], Companion]:
        script = tmp_path / "child.py"
        head = f"import os, sys, time\nBEGUN, CARD, REST = {BEGUN!r}, {CARD!r}, {REST!r}\n"
        loop = "".join(f"    {row}\n" for row in body.splitlines())
        script.write_text(f"{head}while os.read(0, 64):\n{loop}")
        return lambda: Companion([sys.executable, "-I", "-S", str(script)])

    return made


def test_one_child_answers_several_looks(child: Child) -> None:
    """Python's start is paid for once."""
    started: list[int] = []
    start = child("os.write(1, BEGUN + CARD + REST)")

    def counting() -> Companion:
        started.append(1)
        return start()

    asker = Asker(counting)
    looks = [asker.look(pairs=pairs, deadline_s=5) for pairs in (True, False, False)]
    assert looks == [CardsSeen("580.159.04", cards=(Card(0, uuid="GPU-0"),), took_ms=3)] * 3
    assert len(started) == 1
    assert asker.close()


def test_a_hang_is_the_finding_and_the_caller_goes_on(child: Child) -> None:
    """A wedged card lets no call return: what was read before it is kept, and it is named."""
    asker = Asker(child("os.write(1, BEGUN + CARD + BEGUN.replace(b'0', b'1'))\ntime.sleep(60)"))
    began = time.monotonic()
    seen = asker.look(pairs=False, deadline_s=1)
    assert time.monotonic() - began < 5
    assert seen.trouble == ("NVML did not answer within 1 s: it hangs at card 1",)
    assert [card.uuid for card in seen.cards] == ["GPU-0"]


def test_after_a_hang_that_could_be_ended_the_next_look_asks_again(child: Child) -> None:
    """The card may answer by then."""
    asker = Asker(child("time.sleep(60)"))
    assert "did not answer" in asker.look(pairs=False, deadline_s=1).trouble[0]
    asker._start = child("os.write(1, REST)")
    assert asker.look(pairs=False, deadline_s=5).trouble == ()
    asker.close()


class Undying(Companion):
    """A double of a child in D state: SIGKILL does nothing until the driver lets go."""

    let_go = False

    def end(self) -> bool:
        """It does not."""
        return False

    def gone(self) -> bool:
        """Not before the driver lets go."""
        return self.let_go and super().end()


def test_a_child_that_does_not_die_is_said_again_and_not_joined_by_more(child: Child) -> None:
    """A process in D state is for a reboot; each further one would hang beside it."""
    children: list[Undying] = []
    script = child("time.sleep(60)")()
    argv = list(script._argv)
    script.end()

    def undying() -> Companion:
        children.append(Undying(argv))
        return children[-1]

    asker = Asker(undying)
    first = asker.look(pairs=False, deadline_s=1)
    began = time.monotonic()
    assert asker.look(pairs=True, deadline_s=60) == first
    assert time.monotonic() - began < 1
    assert len(children) == 1
    assert f"process {children[0].pid} does not die" in first.trouble[0]
    assert first.trouble[0].endswith("the machine needs a reboot")
    children[0].let_go = True
    asker._start = child("os.write(1, REST)")
    assert asker.look(pairs=False, deadline_s=5).trouble == ()
    asker.close()


def test_a_child_that_ended_meanwhile_is_started_again(child: Child) -> None:
    """It ends when nobody asked for a while, and when the driver could not be opened."""
    asker = Asker(child("os.write(1, REST)\nbreak"))
    for _ in range(3):
        assert asker.look(pairs=False, deadline_s=5).driver == "580.159.04"
        time.sleep(0.05)
    asker.close()


def test_a_child_that_fails_says_its_last_words(child: Child) -> None:
    """Its traceback's last line is what we know."""
    seen = Asker(child("raise SystemExit('no pynvml here')")).look(pairs=False, deadline_s=5)
    [sentence] = seen.trouble
    assert sentence.startswith("what asks NVML ended: ")
    assert sentence.endswith("ended: no pynvml here")


def test_a_child_that_cannot_be_started_is_trouble() -> None:
    """The runner goes on without facts."""

    def nothing() -> Companion:
        raise ProcessError("python3: No such file or directory")

    seen = Asker(nothing).look(pairs=False, deadline_s=5)
    assert seen.trouble == ("what asks NVML ended: python3: No such file or directory",)
