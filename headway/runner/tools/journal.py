"""The journal of one launch: every line of it, no line of another, and whether the record is whole.

Read from the start once and from the last cursor afterwards, so that a gate may ask every second.
"""

import json
import re
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple

from headway.runner import process, systemd
from headway.runner.tools.rate_limit import Burst, rate_limit_of
from headway.wire.gate import Subject
from headway.wire.tools import Journal, JournalLine, Run

LINES_LIMIT = 200_000
TEXT_LIMIT = 32 * 1024 * 1024  # characters of all lines together
READ_S = 120

_STARTING, _STARTED = "7d4958e842da4a758f6c1cdc7b36dcc5", "39f53479d3a045ac8e11786248231fbf"
_SUPPRESSED = "a596d6fe7bfa4994828e72309e95d61e"
_TO_JOURNAL = ("journal", "inherit", "syslog", "kmsg")
_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")

Lines = Callable[[Sequence[str], int], Iterator[bytes]]


def journal_argv(invocation: str, after: str = "") -> List[str]:
    """Read this launch's lines only: an older launch must not answer for it.

    Its own lines, systemd's about it, and journald's notice that some of its own were dropped.
    """
    return [
        "journalctl",
        "--all",
        f"_SYSTEMD_INVOCATION_ID={invocation}",
        "+",
        f"INVOCATION_ID={invocation}",
        "+",
        f"OBJECT_SYSTEMD_INVOCATION_ID={invocation}",
        "--output=json",
        "--no-pager",
        "--quiet",
        *([f"--after-cursor={after}"] if after else []),
    ]


class RealJournals:
    """Reads with journalctl, line by line; what was read of a launch is kept."""

    def __init__(self, run: Run, lines: Lines = process.lines) -> None:
        self.run = run
        self._lines = lines
        self._read: Dict[str, _Reading] = {}

    def of(self, subject: Subject) -> Journal:
        """Read every line of this launch and say whether the record is whole."""
        elsewhere = _elsewhere(self.run, subject.unit)
        if elsewhere:
            return Journal(complete=False, why=elsewhere, lines=())
        reading = self._reading(subject)
        try:
            for line in self._lines(journal_argv(subject.id, reading.cursor), READ_S):
                reading.take(json.loads(line))
        except (process.ProcessError, ValueError) as error:
            return Journal(complete=False, why=f"not readable: {error}", lines=())
        why = reading.why_incomplete()
        return Journal(complete=not why, why=why, lines=tuple(reading.kept))

    def _reading(self, subject: Subject) -> "_Reading":
        if subject.id not in self._read:
            burst = Burst(rate_limit_of(self.run, subject.unit))
            self._read[subject.id] = _Reading(subject.id, burst)
        return self._read[subject.id]


class _Reading:
    """What was read of one launch so far, and what that says about its wholeness."""

    def __init__(self, invocation: str, burst: Burst) -> None:
        self.invocation = invocation
        self.burst = burst
        self.cursor = ""
        self.kept: List[JournalLine] = []
        self._size = 0
        self._began = False
        self._suppressed = ""

    def take(self, entry: Dict[str, Any]) -> None:
        """Keep one entry as a line."""
        self.cursor = entry["__CURSOR"]
        text = decoded(entry.get("MESSAGE"))
        kind = entry.get("MESSAGE_ID")
        by_systemd = entry.get("_PID") == "1"
        self._began |= by_systemd and kind in (_STARTING, _STARTED)
        if kind == _SUPPRESSED:
            self._suppressed = text
        self._size += len(text)
        own = entry.get("_SYSTEMD_INVOCATION_ID") == self.invocation
        if own:
            self.burst.take(int(entry["__MONOTONIC_TIMESTAMP"]))
        if not self._too_long():
            priority = str(entry.get("PRIORITY", "6"))
            number = int(priority) if priority.isdigit() else 6
            self.kept.append(JournalLine(self.cursor, text, number, own))

    def why_incomplete(self) -> str:
        """Say why nothing may be concluded from these lines; "" when they are whole."""
        if self._suppressed:
            return f"journald dropped lines: {self._suppressed}"
        if self.burst.cut and self.burst.limit:
            return (
                f"{self.burst.limit.burst} lines in one burst: journald's rate limit may have cut "
                "it; LogRateLimitIntervalSec=1s and LogRateLimitBurst=1000000 keep a unit whole"
            )
        if self._too_long():
            return f"more than {LINES_LIMIT} lines or {TEXT_LIMIT} characters: too long to judge"
        if not self._began:
            return "its first entry is lost: rotated away, or never written"
        return ""

    def _too_long(self) -> bool:
        return len(self.kept) >= LINES_LIMIT or self._size > TEXT_LIMIT


def decoded(message: Any) -> str:  # noqa: ANN401 # JSON: text, null, bytes as numbers, or several of them
    """Read a MESSAGE field as text, whatever journalctl made of it, without colours."""
    if message is None:
        return ""
    if isinstance(message, str):
        return _COLOUR.sub("", message)
    if all(isinstance(item, int) for item in message):
        return _COLOUR.sub("", bytes(message).decode(errors="replace"))
    return "\n".join(decoded(item) for item in message)


def _elsewhere(run: Run, unit: str) -> Optional[str]:
    """Say where a unit's lines go when that is not the journal that is read here."""
    names: Tuple[str, ...] = ("StandardOutput", "StandardError", "LogNamespace")
    seen = systemd.show(run, unit, names)
    for name in names[:2]:
        if seen[name] and not seen[name].startswith(_TO_JOURNAL):
            return f"{unit} does not log to the journal: {name}={seen[name]}"
    if seen["LogNamespace"]:
        return f"{unit} logs to another journal: LogNamespace={seen['LogNamespace']}"
    return None
