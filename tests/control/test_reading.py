import json
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from invoke.exceptions import Exit as InvokeExit

from headway.control import facts, past, reading, status
from headway.control.desk import Desk
from headway.control.ending import ended
from headway.control.errors import UnreachableError
from headway.control.inventory.model import Host
from headway.control.lint.finding import Finding
from headway.control.reaching.reach import Reach
from headway.control.reaching.transport import Transport
from headway.control.reading import lint_text
from headway.control.rolling.rollout import rollout
from headway.control.telling.history import past as past_rollouts
from headway.wire.phase import Exit
from tests.control.doubles import LocalTransport, installed, scripted

CANARY = "canary-7f3a-value"
HOSTS = """\
all:
  hosts:
    gpu1:
    gpu2:
  vars:
    roles:
      - role: service
        name: web
        program: /usr/bin/web
        env: {TOKEN: !secret {env: HEADWAY_CANARY}}
"""

LOOKS = """\
order = hear()
assert list(order) == ["look"], order
say({"looked": {"state": {}, "accepted": {"schema": 1, "id": "empty", "origin": "empty"},
     "facts": {"cpus": 2, "disk": {"free_bytes": 5}}}})
say({"done": {"exit_code": 0}})
"""

UNCHANGED = """\
order = hear()
release = order["rollout"]["release"]["id"]
rested = {"phase": "IDLE", "accepted": release, "verdict": "PASS", "exit_code": 0,
          "outcome": "unchanged", "sentence": "runs canary-7f3a-value as it should"}
event = {"seq": 1, "at_ms": 1790000000000, "transition": "", "body": {"rested": rested}}
say({"said": {"event": event}})
say({"done": {"exit_code": 0, "sentence": "runs canary-7f3a-value as it should"}})
"""


@pytest.fixture(autouse=True)
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in a fleet of two hosts, one secret among their variables."""
    monkeypatch.setenv("HEADWAY_CANARY", CANARY)
    monkeypatch.setenv("HEADWAY_HISTORY", str(tmp_path / "history.sqlite"))
    root = tmp_path / "fleet"
    (root / "inventory").mkdir(parents=True)
    (root / "inventory" / "hosts.yaml").write_text(HOSTS)
    monkeypatch.chdir(root)
    return root


def _desk(root: Path, script: str, *, json: bool = False, gone: str = "") -> Desk:
    """Make a desk whose hosts are doubles that follow a script; `gone` cannot be reached."""
    pack = scripted(script)

    def dial(host: Host) -> Transport:
        if host.name == gone:
            raise UnreachableError(f"{host.name}: nobody listens there", hint="is sshd running?")
        return LocalTransport(root / host.name)

    for name in ("gpu1", "gpu2"):
        installed(pack, root / name)
    desk = Desk(verb="test", json=json)
    desk.reach = Reach(pack, dial)
    return desk


def _leave(desk: Desk, verb: Callable[[Desk], Exit]) -> int:
    with pytest.raises(InvokeExit) as left:
        ended(desk, lambda: verb(desk))
    return left.value.code


def test_plan_ends_with_10_and_shows_no_secret(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Something to do is exit 10; a secret file is named and its content is not."""
    assert _leave(_desk(tmp_path, LOOKS), reading.plan) == Exit.CHANGES
    shown = capsys.readouterr().out
    assert "gpu1: empty -> " in shown
    assert "gpu2: empty -> " in shown
    assert CANARY not in shown


def test_a_host_that_gives_no_answer_does_not_hide_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The exit code is that of the missing host; the rest is planned all the same."""
    assert _leave(_desk(tmp_path, LOOKS, json=True, gone="gpu1"), reading.plan) == 5
    said = capsys.readouterr()
    rows = [json.loads(line)["host_plan"] for line in said.out.splitlines()]
    assert [row["host"] for row in rows] == ["gpu2"]
    assert said.err == "headway: gpu1: nobody listens there\n         is sshd running?\n"


def test_status_shows_hosts_that_cannot_be_reached_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A host that is gone is a row like any other, and the worst exit code."""
    assert _leave(_desk(tmp_path, LOOKS, gone="gpu2"), status.status) == 5
    rows = [line.split()[:2] for line in capsys.readouterr().out.splitlines()]
    assert rows == [["HOST", "STANDS"], ["gpu2", "unreachable"], ["gpu1", "bare"]]


SLOW = """\
import os, time
order = hear()
time.sleep(0 if os.getcwd().endswith("gpu1") else 60)
say({"looked": {"state": {}, "accepted": {"schema": 1, "id": "empty", "origin": "empty"}}})
say({"done": {"exit_code": 0}})
"""


def test_a_host_that_says_nothing_does_not_slow_status(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each row is there when its host answers; after the deadline the rest is unreachable."""
    began = time.monotonic()
    desk = _desk(tmp_path, SLOW, json=True)
    assert _leave(desk, lambda desk: status.status(desk, within_s=1)) == 5
    assert time.monotonic() - began < 10
    rows = [json.loads(line)["host_status"] for line in capsys.readouterr().out.splitlines()]
    assert [(row["host"], row["stands"], row["says"]) for row in rows] == [
        ("gpu1", "bare", ""),
        ("gpu2", "unreachable", "no answer within 1 s"),
    ]


def test_status_watched_looks_again_until_ctrl_c(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ctrl-C is how a watch ends: its exit code is that of the last look."""
    desk = _desk(tmp_path, LOOKS, gone="gpu2")
    threading.Timer(2.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    assert _leave(desk, lambda desk: status.status(desk, watch=True)) == 5
    assert capsys.readouterr().out.count("unreachable") == 1


def test_facts_are_a_line_each(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nested facts are named by their path."""
    assert _leave(_desk(tmp_path, LOOKS), facts.facts) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["gpu1", "disk.free_bytes", "5"] in rows
    assert ["gpu2", "cpus", "2"] in rows


def test_the_history_of_a_host_that_is_gone_is_not_said_to_be_empty(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No answer is no record: stdout stays empty, stderr says why."""
    desk = _desk(tmp_path, LOOKS, gone="gpu1")
    desk.patterns = ("gpu1",)
    assert _leave(desk, lambda desk: past.show(desk, 20)) == 5
    assert capsys.readouterr().out == ""


def test_a_rollout_reaches_every_sink_and_no_secret_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Events on stdout, the history on disk; what a host says by accident is blotted out."""
    desk = _desk(tmp_path, UNCHANGED, json=True)
    assert _leave(desk, lambda desk: rollout(desk.hosts, desk.options(), desk.tell)) == 0
    out = capsys.readouterr().out
    kinds = [next(iter(json.loads(line))) for line in out.splitlines()]
    assert (kinds[0], kinds[-1]) == ("began", "ended")
    (recorded,) = past_rollouts(tmp_path / "history.sqlite", 20)
    assert {(host.host, host.outcome) for host in recorded.hosts} == {
        ("gpu1", "unchanged"),
        ("gpu2", "unchanged"),
    }
    assert CANARY not in out
    assert CANARY.encode() not in (tmp_path / "history.sqlite").read_bytes()
    assert "runs *** as it should" in out


def test_what_was_asked_for_stands_on_stdout_and_the_story_on_stderr(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What a program reads and what a person reads never mix."""
    desk = _desk(tmp_path, UNCHANGED)
    assert _leave(desk, lambda desk: rollout(desk.hosts, desk.options(), desk.tell)) == 0
    said = capsys.readouterr()
    assert said.out == ""
    assert "exit code 0: 2 unchanged" in said.err


def test_lint_ends_with_2_where_something_would_break(
    fleet: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An error in the files is exit 2, with the line to jump to; nothing wrong says so."""
    assert _leave(Desk(verb="lint"), reading.lint) == 0
    assert capsys.readouterr().out == "nothing found\n"
    (fleet / "systemd").mkdir()
    unit = "[Service]\nExecStart=/usr/bin/x --url http://a/v1/v1/models\n"
    (fleet / "systemd" / "x.service").write_text(unit)
    assert _leave(Desk(verb="lint"), reading.lint) == 2
    assert capsys.readouterr().out.startswith("systemd/x.service:2: error: ")


def test_a_find_says_what_to_write_instead() -> None:
    """FILE:LINE first; a find about a whole file has no line."""
    found = (
        Finding("a.yaml", 3, "rule-a", "what happens", "what to write"),
        Finding("b.yaml", 0, "rule-b", "what else", "", "warning"),
    )
    assert lint_text(found).splitlines() == [
        "a.yaml:3: error: what happens  [rule-a]",
        "        what to write",
        "b.yaml: warning: what else  [rule-b]",
        "1 error, 1 warning",
    ]


def test_inventory_rows_are_a_host_each(capsys: pytest.CaptureFixture[str]) -> None:
    """--json is one line a host, secrets masked."""
    assert _leave(Desk(verb="inventory", json=True), reading.inventory) == 0
    out = capsys.readouterr().out
    names = [json.loads(line)["inventory_host"]["name"] for line in out.splitlines()]
    assert names == ["gpu1", "gpu2"]
    assert CANARY not in out
