"""A report: the same records, the same bytes; no secret in it; what was taken out is said."""

from dataclasses import replace
from pathlib import Path

import pytest

from headway.control.inventory.model import Host, Value
from headway.control.oncall.cleaning import BY_PATTERN, BY_VALUE, NAMES, Cleaner, learned
from headway.control.oncall.report import Records, made_of, write
from headway.control.secret_sources import Sources
from headway.control.secrets import Redactor
from headway.control.telling.history import PastGate, PastHost, PastMove, PastRollout
from headway.wire.event import Event, Moved, Reported
from headway.wire.gate import Report
from headway.wire.phase import Phase
from headway.wire.record import Acceptance, Orders, State, Transition
from headway.wire.talk import Remembered
from headway.wire.verdict import Fate, Verdict

KNOWN = "canary-known-41"
TOKEN = "hf_" + "Q" * 30
BY = "anna@desk7"
LOG = f"Nov 30 07:27:00.123456 engine-box vllm[4]: key {KNOWN}, from 10.0.0.11 and 10.0.0.99"

FAILED = Report(
    *("needle", "needle", "llama", Verdict.FAIL, Fate.SAME, None, None),
    evidence=(f"curl -H 'Authorization: Bearer {TOKEN}' http://10.0.0.11:8000/", f"got {KNOWN}"),
)
REMEMBERED = Remembered(
    Transition(1, "t7", "rollout", "aaa", "bbb", "c1", Orders(BY, "try"), "r", "b", 1_000),
    (
        Event(1, 2_000, "t7", Moved(Phase.OPEN, Phase.TRYING)),
        Event(2, 3_000, "t7", Reported(FAILED)),
    ),
    {"llama.service.journal": LOG},
)
FOUND = Records(
    "host gpu1",
    State(accepted=(Acceptance("aaa", "c1", 1_000, BY, "x"),), why=f"gate of {KNOWN}"),
    transitions=(REMEMBERED,),
    rollouts=(
        PastRollout(
            "r1", "rollout", BY, 5_000, 1, 9, (PastHost("gpu1", "bbb", "went back", 1, "x"),)
        ),
    ),
    gates=(
        PastGate("gpu1", "t7", "r1", 6_000, "llama", "needle", "FAIL", 5, (f"got {KNOWN}",), ()),
    ),
    moves=(PastMove("gpu1", "t7", "r1", 6_000, "TRYING", ""),),
)


def _cleaner(*, hide: bool = False) -> Cleaner:
    return Cleaner(Redactor([KNOWN]), ("gpu1", "10.0.0.11", "engine-box", "desk7"), hide=hide)


def _all(found: Records, *, hide: bool = False) -> str:
    made = made_of(found, _cleaner(hide=hide))
    return "\n".join((made.name, made.text, *made.rows.values()))


def test_the_same_records_give_the_same_bytes() -> None:
    """Two people who make one have the same file; nothing says when it was made."""
    assert _all(FOUND) == _all(FOUND)


def test_secrets_are_taken_out_by_value_and_by_pattern_and_counted() -> None:
    """In texts and rows alike; who reads it knows that something was there."""
    text = _all(FOUND)
    assert KNOWN not in text
    assert TOKEN not in text
    made = made_of(FOUND, _cleaner())
    taken = dict(made.taken)
    assert taken[BY_VALUE] >= 4
    assert taken[BY_PATTERN] >= 1
    assert f"- {taken[BY_VALUE]} {BY_VALUE}" in made.text
    assert NAMES not in taken
    assert all(word in text for word in ("gpu1", BY, "10.0.0.99"))


def test_names_and_addresses_are_hidden_on_request() -> None:
    """The same name is the same stand-in all through, so that it can still be followed."""
    text = _all(FOUND, hide=True)
    for name in ("gpu1", "engine-box", "anna", "desk7", "10.0.0.11", "10.0.0.99"):
        assert name not in text
    assert "headway report: host host-1" in text
    assert "person-1" in text
    assert "address-1" in text


def test_a_report_is_below_200_kb_and_says_what_it_left_out(tmp_path: Path) -> None:
    """It goes into an issue: the newest comes first, the rest is counted."""
    event = Event(1, 1, "t7", Reported(replace(FAILED, evidence=("x" * 2_000,) * 8)))
    many = replace(REMEMBERED, events=(event,) * 500)
    made = made_of(replace(FOUND, transitions=(many,) * 10), _cleaner())
    written = write(made, tmp_path)
    assert written.size < 200_000
    sizes = sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file())
    assert sizes == written.size
    assert '"left_out"' in made.rows["events.ndjson"]
    assert "... cut: the folder beside this file has more" in made.text


def test_every_fence_of_a_log_is_closed() -> None:
    """A log line with a fence of its own must not end the block it stands in."""
    left = {"a.journal": "``` and\n```\nmore"}
    made = made_of(replace(FOUND, transitions=(replace(REMEMBERED, left=left),)), _cleaner())
    assert made.text.count("\n```\n") % 2 == 0
    assert "''' and" in made.text


def test_secrets_of_the_inventory_are_learnt_wherever_they_stand(tmp_path: Path) -> None:
    """A report is made without rendering: nobody has revealed them yet."""
    sources = Sources(tmp_path)
    (tmp_path / "key").write_text("canary-in-a-file\n")
    good = sources.secret({"file": "key"}, "hosts.yaml:3")
    gone = sources.secret({"env": "HEADWAY_NOT_SET"}, "hosts.yaml:4")
    vars_ = {"env": Value({"A": [good], "B": gone}, "hosts.yaml:3")}
    host = Host("gpu1", "10.0.0.11", (), vars_)
    [problem] = learned([host])
    assert "HEADWAY_NOT_SET" in problem
    assert sources.redactor.text("it is canary-in-a-file") == "it is ***"


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----", "abc"),
        ("postgres://user:hunter2@db/x", "hunter2"),
        ("cloned with ghp_0123456789abcdefghij", "0123456789abcdefghij"),
        ("OPENAI_API_KEY=sk-12", "sk-12"),
    ],
)
def test_what_looks_like_a_secret_is_known_by_its_shape(text: str, clean: str) -> None:
    """Nobody told headway of these."""
    cleaner = _cleaner()
    assert clean not in cleaner.text(text)
    assert cleaner.counted[BY_PATTERN] == 1
