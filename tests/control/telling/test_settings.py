"""headway.yaml: where the story goes, read before anything begins."""

import io
import json
from contextlib import ExitStack
from pathlib import Path

import pytest

from headway.control.errors import ConfigError
from headway.control.fleet import Fleet
from headway.control.telling import story
from headway.control.telling.ndjson import ndjson
from headway.control.telling.settings import KINDS, Slack, Webhook, outlets
from headway.control.telling.sinks import opened, together

NOTE = story.Note("gpu1", "hello")


def _fleet(folder: Path, text: str) -> Fleet:
    (folder / "headway.yaml").write_text(text)
    return Fleet(folder)


def test_every_kind_of_sink_is_read_and_secrets_are_known_from_then_on(tmp_path: Path) -> None:
    """The address of a chat is a secret like any other."""
    (tmp_path / "url").write_text("https://chat/canary-path\n")
    fleet = _fleet(
        tmp_path,
        "sinks:\n"
        "  - webhook: {url: 'http://ops/hook', secret: !secret {file: url}, tell: [ended]}\n"
        "  - slack: {url: !secret {file: url}}\n"
        "  - textfile: {path: h.prom}\n"
        "  - ndjson: {path: h.ndjson}\n",
    )
    web, chat, text, rows = outlets(fleet)
    assert isinstance(web.setting, Webhook)
    assert isinstance(chat.setting, Slack)
    assert (web.url, web.secret) == ("http://ops/hook", "https://chat/canary-path")
    assert (chat.url, chat.where) == ("https://chat/canary-path", "headway.yaml:3")
    assert (text.path, rows.path) == (tmp_path / "h.prom", tmp_path / "h.ndjson")
    assert fleet.secrets.redactor.text("to https://chat/canary-path") == "to ***"


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("fax: {}", "headway.yaml:2: sinks/0: unknown kind 'fax'"),
        ("webhook: {url: ftp://x}", "headway.yaml:2: wants an address with http"),
        ("webhook: {url: 7}", "headway.yaml:2: wants text, got 7"),
        (
            "webhook: {url: 'http://x', tell: [endd]}",
            "nothing is told as 'endd'; did you mean ended",
        ),
        ("slack: {url: !secret {env: HEADWAY_NOT_SET}}", "HEADWAY_NOT_SET"),
        ("textfile: {path: no/such/h.prom}", "no/such is no folder"),
    ],
)
def test_what_does_not_fit_is_an_error_at_its_line(entry: str, said: str, tmp_path: Path) -> None:
    """Exit 2 before any host is called: nobody finds out at night that no webhook went out."""
    with pytest.raises(ConfigError, match=said):
        outlets(_fleet(tmp_path, f"sinks:\n  - {entry}\n"))


@pytest.mark.parametrize("text", [None, "", "sinks: []\n"])
def test_no_file_and_an_empty_one_are_no_sinks(text: str | None, tmp_path: Path) -> None:
    """Nothing has to be there."""
    fleet = Fleet(tmp_path) if text is None else _fleet(tmp_path, text)
    assert outlets(fleet) == ()


def test_a_file_that_cannot_be_written_is_said_once_and_stops_nothing(tmp_path: Path) -> None:
    """The screen hears on; so does the other file."""
    (tmp_path / "a").mkdir()
    rows = "sinks:\n  - ndjson: {path: a/h.ndjson}\n  - ndjson: {path: good.ndjson}\n"
    fleet = _fleet(tmp_path, rows)
    warnings: list[str] = []
    screen = io.StringIO()
    with ExitStack() as stack:
        made = opened(outlets(fleet), stack, warnings.append)
        (tmp_path / "a").rmdir()
        tell = together((ndjson(screen), *made))
        tell(NOTE)
        tell(NOTE)
    [warning] = warnings
    assert warning.startswith("headway.yaml:2: not written any more: ")
    kept = (tmp_path / "good.ndjson").read_text().splitlines()
    assert [json.loads(row)["note"]["text"] for row in kept] == ["hello", "hello"]
    assert screen.getvalue().count("hello") == 2


def test_what_can_be_picked_is_all_that_is_told() -> None:
    """Pieces of the story, and what a host says."""
    assert {"began", "reported", "rested", "rung", "ended"} <= set(KINDS)
