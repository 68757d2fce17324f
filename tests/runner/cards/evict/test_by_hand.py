"""How an eviction by hand ends: free, with strangers to be named, or for a reboot."""

import pytest

from headway.runner.cards.evict.by_hand import ending
from headway.runner.cards.evict.claim import Claim
from headway.runner.cards.evict.process import Process
from headway.wire.phase import Exit
from tests.runner.cards.evict.table import GIB, Table

OURS = Claim(("/system.slice/engine.service",), units=("engine.service",))
IDLE = {"GPU-0": 0, "GPU-1": 0}


@pytest.fixture
def table() -> Table:
    """Return a machine whose card 1 is held by nobody that is to be seen."""
    made = Table()
    made.add(Process(11, 110, "gone", "/system.slice/engine.service"), card1=9 * GIB)
    made.leaks = {11}
    made.end(11)
    return made


def test_what_nobody_in_a_guest_holds_is_another_guest_s(table: Table) -> None:
    """A neighbour began to use a card that was idle when the release was accepted.

    It once said "needs a reboot", with exit 7, for another container's engine.
    """
    code, sentence = ending(table.sight(OURS), OURS, "83.0 GiB back", IDLE, guest=True)
    assert code is Exit.ACCEPTED
    assert sentence == (
        "nothing of ours is left; 83.0 GiB back; card 1: 9.0 GiB are used, and no process is to be"
        " seen in this guest: not ours, says its node"
    )


def test_what_nobody_on_a_machine_holds_needs_a_reboot(table: Table) -> None:
    """There is no node to ask: no process explains it, so none can be ended for it."""
    code, sentence = ending(table.sight(OURS), OURS, "", IDLE, guest=False)
    assert code is Exit.STUCK
    assert sentence.startswith("needs a reboot: card 1: 9.0 GiB are used")


def test_nothing_is_said_where_nothing_was_recorded(table: Table) -> None:
    """Without the idle bytes of an acceptance nobody knows what is too much."""
    assert ending(table.sight(OURS), OURS, "", {}, guest=False) == (
        Exit.ACCEPTED,
        "nothing of ours is left",
    )


def test_a_stranger_is_left_with_what_to_type(table: Table) -> None:
    """Refused: it is not ours to end."""
    stray = "/user.slice/user-0.slice/session-3.scope"
    table.add(Process(21, 210, "notebook", stray), card0=4 * GIB)
    code, sentence = ending(table.sight(OURS), OURS, "", IDLE, guest=True)
    assert code is Exit.REFUSED
    assert sentence.endswith("to end them: --kill 21:210")
