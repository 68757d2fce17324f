from pathlib import Path

import pytest
import yaml

from headway.control.errors import HeadwayError, UnreachableError
from headway.control.past import entries, fleet_text, host_text
from headway.control.status import ORDER, statuses, text
from headway.control.telling.history import PastHost, PastRollout
from headway.control.telling.table import table
from headway.wire.event import Event, Moved, Rested
from headway.wire.loader import load
from headway.wire.phase import Phase
from headway.wire.talk import Looked
from headway.wire.verdict import Verdict

CASES = sorted((Path(__file__).parents[1] / "cases" / "status").glob("*.yaml"))


def _answer(raw: object) -> Looked | HeadwayError:
    return UnreachableError(raw) if isinstance(raw, str) else load(Looked, raw)


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_status_reads_as_its_case_says(path: Path) -> None:
    """Every host has a line, those that need a person first: tests/cases/status/NAME.yaml."""
    case = yaml.safe_load(path.read_text())
    answers = {host: _answer(raw) for host, raw in case["answers"].items()}
    shown = tuple(statuses(answers))
    assert text(shown, case["now_ms"]) + "\n" == case["reads"]
    assert {host.host for host in shown} == set(answers)


def test_the_case_shows_every_way_a_host_can_stand() -> None:
    """The order is whole: each word of it stands in a case."""
    cases = [yaml.safe_load(path.read_text()) for path in CASES]
    answers = {host: _answer(raw) for case in cases for host, raw in case["answers"].items()}
    assert {host.stands for host in statuses(answers)} == set(ORDER)


def test_the_exit_code_is_of_the_host_that_is_worst_off() -> None:
    """A script learns from status what a person would see first."""
    case = yaml.safe_load(CASES[0].read_text())
    answers = {host: _answer(raw) for host, raw in case["answers"].items()}
    codes = {host.stands: host.exit_code for host in statuses(answers)}
    assert (codes["stuck"], codes["held"], codes["unreachable"], codes["drift"]) == (7, 3, 5, 0)


def test_past_rollouts_tell_hosts_that_were_never_reached_from_those_never_heard_of() -> None:
    """A controller that was killed knows nothing of its last host: the host does."""
    past = (
        PastRollout(
            "r2",
            "rollout",
            "ops@desk",
            1_000,
            1,
            65_300,
            (
                PastHost("gpu1", "3f9a12c04b7e", "went back", 1, "llama failed gate marker"),
                PastHost("gpu2", "", "", None, ""),
            ),
        ),
        PastRollout(
            "r1", "rollout", "eve@desk", 500, None, None, (PastHost("gpu1", "a", "", None, ""),)
        ),
    )
    rows = fleet_text(past, 61_000).splitlines()
    assert rows[0].split() == ["AGO", "ID", "VERB", "HOST", "ENDED", "RELEASE", "BY", "SAYS"]
    assert "went back" in rows[1]
    assert "not touched" in rows[2]
    assert "not heard" in rows[3]


def test_a_hosts_own_record_shows_the_last_words_only() -> None:
    """Moves and reports are on the host; its history is how each transition came to rest."""
    rested = Rested(Phase.IDLE, "3f9a12c04b7e", Verdict.PASS, 0, "accepted", "llama is proved")
    events = (
        Event(9, 60_000, "t2", rested),
        Event(3, 50_000, "t2", Moved(Phase.OPEN, Phase.TRYING)),
    )
    found = tuple(entries("gpu1", events))
    assert [one.transition for one in found] == ["t2"]
    assert host_text(found, 61_000).splitlines()[1].split() == [
        *("gpu1", "1", "s", "t2", "accepted", "3f9a12c04b7e", "llama", "is", "proved")
    ]


def test_an_empty_history_says_so() -> None:
    """No rows is an answer in words, not a lone header."""
    assert fleet_text((), 0) == host_text((), 0) == "nothing is recorded yet"


def test_a_table_leaves_out_what_nobody_has() -> None:
    """A column that is empty everywhere takes no room."""
    assert table(("A", "B", "C"), [("x", "", "long"), ("yy", "", "z")]) == "A   C\nx   long\nyy  z"


def test_on_a_terminal_a_long_last_column_goes_on_below_itself() -> None:
    """A row that the terminal would wrap anywhere is wrapped where the eye expects it."""
    rows = [("gpu1", "one two three four five six seven")]
    assert table(("HOST", "SAYS"), rows, 30).splitlines() == [
        "HOST  SAYS",
        "gpu1  one two three four five",
        "      six seven",
    ]
