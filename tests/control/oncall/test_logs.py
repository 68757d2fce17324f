"""`logs`: words that do not fit never reach a host, and what is missing is said."""

import pytest

from headway.control.desk import Desk
from headway.control.errors import UsageError
from headway.control.oncall.logs import head, line_text, logs
from headway.wire.talk import Logged, LogLine, Logs


@pytest.mark.parametrize(
    ("order", "said"),
    [
        (Logs(grep="("), r"--grep: '\(' is no regular expression"),
        (Logs(launch="last"), "--launch: 'last' is not current, previous or an InvocationID"),
        (Logs(launch="abc"), "--launch: 'abc' is not"),
    ],
)
def test_words_that_do_not_fit_are_refused_before_a_host_is_asked(order: Logs, said: str) -> None:
    """The sentence says which option, and what would fit."""
    with pytest.raises(UsageError, match=said):
        logs(Desk(verb="logs", host=("gpu1",)), order)


def test_the_head_says_whose_lines_these_are_and_what_is_missing() -> None:
    """Left out and lost are two different things."""
    line = LogLine(0, 6, True, "hello")
    told = [Logged("llama", "llama.service", "ab" * 16, (line,), 7, "its first entry is lost")]
    assert list(head("gpu1", Logs(grep="x"), told)) == [
        "gpu1  llama  current launch abababab of llama.service: 1 lines that match 'x'",
        "gpu1  7 older ones are left out: --last 8",
        "gpu1  not whole: its first entry is lost",
    ]


def test_grave_lines_and_those_of_systemd_are_marked() -> None:
    """A mark, and no colour: it is found with grep, too."""
    rows = [LogLine(0, 3, True, "bad"), LogLine(0, 6, False, "Started."), LogLine(0, 6, True, "ok")]
    assert [line_text(row).split(" ", 1)[1] for row in rows] == ["! bad", "- Started.", "  ok"]
