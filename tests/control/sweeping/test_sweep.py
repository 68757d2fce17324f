"""`sweep` renders each value, gives the host one order, and prints what was measured."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from headway.control.desk import Desk
from headway.control.errors import UsageError
from headway.control.reaching.reach import Reach
from headway.control.reaching.transport import Transport
from headway.control.sweeping.setting import setting
from headway.control.sweeping.sweep import sweep
from headway.wire.phase import Exit
from tests.control.doubles import LocalTransport, scripted

HOSTS = """\
all:
  hosts: {gpu1: {}, gpu2: {}}
  vars:
    roles:
      - {role: service, name: web, program: /usr/bin/web, options: {depth: 0}}
"""

SWEEPS = """\
order = hear()["sweep"]
say({"missing": {"blobs": [], "changed": [order["part"]], "running": "abc"}})
assert hear() == {"go": {}}
seq = 0
def told(kind, **body):
    global seq
    seq += 1
    event = {"seq": seq, "at_ms": 1790000000000, "transition": "t1", "body": {kind: body}}
    say({"said": {"event": event}})
for n, rung in enumerate(order["rungs"][:2]):
    told("step_began", part="web", step="rung", detail=rung["id"])
    for gate in order["criteria"]["gates"]:
        told("reported", report={"gate": gate["name"], "kind": gate["kind"], "part": "web",
             "verdict": "PASS", "fate": "SAME", "before": None, "after": None, "evidence": [],
             "measurements": [
                 {"name": "tokens_s", "value": 1000 * (n + 1), "unit": "milli-tokens/s"}]})
    told("step_done", part="web", step="rung", took_ms=5, detail="")
told("rested", phase="IDLE", accepted="abc", verdict=None, exit_code=0, outcome="swept",
     sentence="back on abc: called off")
say({"done": {"exit_code": 0, "sentence": "back on abc: called off"}})
"""


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Desk]:
    """Return `desk("gpu1")`: a workplace whose hosts sweep as scripted."""
    monkeypatch.setenv("HEADWAY_HISTORY", str(tmp_path / "history.sqlite"))
    (tmp_path / "fleet/inventory").mkdir(parents=True)
    (tmp_path / "fleet/inventory/hosts.yaml").write_text(HOSTS)
    monkeypatch.chdir(tmp_path / "fleet")

    def dial(_host: object) -> Transport:
        return LocalTransport(tmp_path)

    def made(*hosts: str, in_json: bool = False) -> Desk:
        desk = Desk(verb="sweep", named=True, host=hosts, json=in_json)
        desk.__dict__["reach"] = Reach(scripted(SWEEPS), dial)
        return desk

    return made


def test_one_order_a_table_and_a_plot(
    desk: Callable[..., Desk], capsys: pytest.CaptureFixture[str]
) -> None:
    """A value whose turn never came says so; the host's last word is the exit code."""
    with desk("gpu1") as work:
        code = sweep(work, setting("options.depth=1,2,3"), (), ("in_place",), "")
    assert code is Exit.ACCEPTED
    said = capsys.readouterr().out
    assert "OPTIONS.DEPTH  VERDICT    TOKENS_S   SAYS" in said
    assert "2              PASS       2.0 tok/s" in said
    assert "3              no launch             its turn never came" in said
    assert "fastest: options.depth=2 with 2.0 tok/s" in said


def test_the_same_for_a_program(
    desk: Callable[..., Desk], capsys: pytest.CaptureFixture[str]
) -> None:
    """A row a value, with its reports."""
    with desk("gpu1", in_json=True) as work:
        sweep(work, setting("options.depth=1,2"), ("web",), (), "")
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    swept = [row["launched"] for row in rows if "launched" in row]
    assert [(row["value"], row["verdict"]) for row in swept] == [(1, "PASS"), (2, "PASS")]
    assert swept[0]["reports"][0]["kind"] == "in_place"


@pytest.mark.parametrize(
    ("hosts", "parts", "gates", "says"),
    [
        (("all",), (), (), "one host at a time, and these are 2: gpu1, gpu2"),
        (("gpu1",), ("nobody",), (), "gpu1 has no instance 'nobody'"),
        (("gpu1",), (), ("decode",), "web has no gate 'decode'"),
    ],
)
def test_words_that_do_not_fit_touch_no_host(
    desk: Callable[..., Desk],
    hosts: tuple[str, ...],
    parts: tuple[str, ...],
    gates: tuple[str, ...],
    says: str,
) -> None:
    """Each is one line."""
    with pytest.raises(UsageError, match=says), desk(*hosts) as work:
        sweep(work, setting("options.depth=1,2"), parts, gates, "")
