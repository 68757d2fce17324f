"""The journal of one launch, and whether it is whole."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from headway.runner import process
from headway.runner.tools import journal as journals
from headway.runner.tools.journal import RealJournals, decoded, journal_argv
from headway.runner.tools.rate_limit import Burst, RateLimit, limit_in
from headway.wire.gate import Subject
from headway.wire.tools import Journal
from tests.runner.resources.scripted import Scripted

LAUNCH = Subject("web.service", "new", 1, "b", 9, "/system.slice/web.service", 0)
STARTED = {
    "MESSAGE": "Started web.",
    "MESSAGE_ID": "39f53479d3a045ac8e11786248231fbf",
    "_PID": "1",
    "INVOCATION_ID": "new",
}


def entry(n: int, **fields: Any) -> bytes:
    """Make one line of journalctl's output; by default the service's own."""
    own = {} if "_PID" in fields else {"_SYSTEMD_INVOCATION_ID": "new"}
    place = {"__CURSOR": f"c{n}", "__MONOTONIC_TIMESTAMP": str(n * 1000), "PRIORITY": "6"}
    return json.dumps({**place, **own, **fields}).encode() + b"\n"


class Journalctl:
    """Gives its entries after the cursor it is asked for; remembers how it was asked."""

    def __init__(self, *entries: bytes) -> None:
        self.entries = list(entries)
        self.asked: list[list[str]] = []

    def __call__(self, argv: Sequence[str], deadline_s: int) -> Iterator[bytes]:
        """Read on."""
        assert deadline_s > 0
        self.asked.append(list(argv))
        after = [word.partition("=")[2] for word in argv if word.startswith("--after-cursor=")]
        cursors = [json.loads(line)["__CURSOR"] for line in self.entries]
        yield from self.entries[cursors.index(after[0]) + 1 if after else 0 :]


def read(*entries: bytes, show: str = "StandardOutput=journal\n") -> Journal:
    """Read these entries as a launch's journal."""
    run = Scripted({"systemctl show": (0, show, "")})
    return RealJournals(run, Journalctl(*entries)).of(LAUNCH)


def test_only_this_launch_is_asked_for() -> None:
    """No unit name, no time: an earlier launch has both in common with this one."""
    words = journal_argv("new")

    assert {"_SYSTEMD_INVOCATION_ID=new", "INVOCATION_ID=new", "--all"} <= set(words)
    assert not any(word.startswith(("-u", "--unit", "--since", "_SYSTEMD_UNIT")) for word in words)


def test_a_record_from_its_start_is_whole() -> None:
    """Own lines are told from systemd's words about the unit."""
    found = read(entry(0, **STARTED), entry(1, MESSAGE="ready"))

    assert (found.complete, found.why) == (True, "")
    assert [(line.text, line.own) for line in found.lines] == [
        ("Started web.", False),
        ("ready", True),
    ]


def test_it_is_read_on_from_the_last_cursor() -> None:
    """A gate that asks every second does not read a long log every second."""
    source = Journalctl(entry(0, **STARTED), entry(1, MESSAGE="loading"))
    reader = RealJournals(Scripted(), source)

    first = reader.of(LAUNCH)
    source.entries.append(entry(2, MESSAGE="ready"))
    second = reader.of(LAUNCH)

    assert "--after-cursor=c1" in source.asked[1]
    assert [line.text for line in second.lines] == [*(line.text for line in first.lines), "ready"]


@pytest.mark.parametrize(
    ("entries", "why"),
    [
        ([entry(1, MESSAGE="ready")], "first entry is lost"),
        ([], "first entry is lost"),
        ([entry(0, **{**STARTED, "_PID": "77"})], "first entry is lost"),
        (
            [
                entry(0, **STARTED),
                entry(
                    1,
                    MESSAGE="Suppressed 9 messages from web.service",
                    MESSAGE_ID="a596d6fe7bfa4994828e72309e95d61e",
                    _PID="44",
                ),
            ],
            "Suppressed 9 messages",
        ),
    ],
    ids=["rotated", "empty", "a forged start", "rate limited"],
)
def test_a_hole_makes_it_incomplete(entries: list[bytes], why: str) -> None:
    """Nothing may be concluded from it, and the reason is said."""
    found = read(*entries)

    assert not found.complete
    assert why in found.why


@pytest.mark.parametrize(
    "show",
    [
        "StandardOutput=append\nStandardError=inherit\n",
        "StandardOutput=journal\nStandardError=null\n",
        "StandardOutput=journal\nLogNamespace=engines\n",
    ],
)
def test_a_log_that_goes_elsewhere_is_not_read_here(show: str) -> None:
    """An empty record of a unit that logs to a file would satisfy every `forbid`."""
    found = read(entry(0, **STARTED), show=show)

    assert not found.complete
    assert "web.service" in found.why


def test_a_journalctl_that_fails_is_no_record() -> None:
    """Half an output must not pass for a whole one."""

    def broken(_argv: Sequence[str], _deadline_s: int) -> Iterator[bytes]:
        yield entry(0, **STARTED)
        raise process.ProcessError("journalctl was not done after 120 s")

    found = RealJournals(Scripted(), broken).of(LAUNCH)

    assert (found.complete, found.lines) == (False, ())


def test_a_record_too_long_to_hold_is_incomplete(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory is bounded: what is not kept is not judged."""
    monkeypatch.setattr(journals, "LINES_LIMIT", 3)
    found = read(entry(0, **STARTED), *(entry(n, MESSAGE="x") for n in range(1, 9)))

    assert len(found.lines) == 3
    assert "too long" in found.why


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ("plain", "plain"),
        (None, ""),
        ([104, 105, 255], "hi�"),
        ([27, 91, 51, 49, 109, 114, 27, 91, 48, 109], "r"),
        (["one", [116, 119, 111]], "one\ntwo"),
        ("\x1b[1;31mred\x1b[0m", "red"),
    ],
)
def test_a_message_is_text_whatever_journalctl_made_of_it(message: Any, text: str) -> None:
    """Colours turn a line into an array of bytes, a long one into null without --all."""
    assert decoded(message) == text


def test_a_burst_as_long_as_the_limit_may_have_been_cut() -> None:
    """Journald says what it dropped only with the next line, and there may be none."""
    limit = RateLimit(interval_us=1_000_000, burst=5)
    slow, fast = Burst(limit), Burst(limit)

    for n in range(10):
        slow.take(n * 300_000)
        fast.take(n * 100_000)

    assert (slow.cut, fast.cut) == (False, True)


@pytest.mark.parametrize(
    ("config", "limit"),
    [
        ("#RateLimitIntervalSec=30s\n", RateLimit(30_000_000, 10_000)),
        ("RateLimitIntervalSec=2min\nRateLimitBurst=500\n", RateLimit(120_000_000, 500)),
        ("RateLimitBurst=500\nRateLimitBurst=0\n", None),
        ("RateLimitIntervalSec=0\n", None),
    ],
)
def test_journalds_own_limit_is_read(config: str, limit: RateLimit | None) -> None:
    """The last line counts; 0 turns it off here, though not in a unit."""
    assert limit_in(config) == limit
