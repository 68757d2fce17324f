"""What goes wrong names the next command: whoever reads it was asleep a minute ago."""

from collections.abc import Callable
from pathlib import Path

import pytest

from headway.control.desk import Desk
from headway.control.errors import HeadwayError
from headway.control.oncall import finding, logs, report, trend
from headway.wire.talk import Logs

HOSTS = "all: {hosts: {gpu1: , gpu2: }}\n"


@pytest.fixture(autouse=True)
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand in a fleet of two hosts that was never rolled out to."""
    (tmp_path / "inventory").mkdir()
    (tmp_path / "inventory/hosts.yaml").write_text(HOSTS)
    monkeypatch.setenv("HEADWAY_HISTORY", str(tmp_path / "history.sqlite"))
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: logs.logs(Desk(verb="logs", host=("all",)), Logs()),
        lambda: logs.logs(Desk(verb="logs", host=("gpu1",)), Logs(grep="(")),
        lambda: logs.logs(Desk(verb="logs", host=("gpu1",)), Logs(launch="last")),
        lambda: trend.trend(Desk(verb="trend"), "decode", 0),
        lambda: report.report(Desk(verb="report"), "", "", hide_names=False),
        lambda: report.report(Desk(verb="report", host=("all",)), "", "", hide_names=False),
        lambda: report.report(Desk(verb="report"), "2026", "", hide_names=False),
        lambda: finding.find(Desk(verb="show"), "gpu9"),
    ],
)
def test_an_error_says_what_to_type_next(wrong: Callable[[], object]) -> None:
    """The hint stands on a line of its own, and there is a command in it."""
    with pytest.raises(HeadwayError) as raised:
        wrong()
    assert "invoke " in raised.value.hint
