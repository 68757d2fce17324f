"""What lint found: where, what happens because of it, and what to write instead."""

from collections.abc import Iterator
from dataclasses import dataclass

from headway.wire.findings import known


@dataclass(frozen=True)
class Hit:
    """A rule's find within a text: `key` is the setting it is about, "" for a place in the text."""

    line: int
    rule: str
    detail: str = ""
    key: str = ""


Hits = Iterator[Hit]


@dataclass(frozen=True, order=True)
class Finding:
    """A find in the fleet. An error would break or blind a service; a warning is worth a look."""

    file: str
    line: int
    rule: str
    what: str
    instead: str
    severity: str = "error"

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place}: {self.what}; {self.instead}" if self.instead else f"{place}: {self.what}"


WARNINGS = frozenset(
    {
        "cards-all",
        "check-path-root",
        "image-default",
        "no-stop-grace",
        "secret-in-inspect",
        "start-period-short",
        "variable-unset",
        "base-url-without-version",
        "exec-variable-split",
        "no-stop-timeout",
        "journal-rate-limited",
        "nccl-level-overruled",
        "nccl-through-network",
        "secret-in-plain-text",
    }
)


def finding(file: str, line: int, rule: str, detail: str = "") -> Finding:
    """Make a finding with the sentence and the help that findings.json has for its rule."""
    about = known(rule)
    what = f"{detail}: {about.sentence}" if detail else about.sentence
    severity = "warning" if rule in WARNINGS else "error"
    return Finding(file, line, rule, what, about.help, severity)


def placed(where: str, rule: str, detail: str = "") -> Finding:
    """Make a finding at FILE:LINE."""
    return finding(*place(where), rule, detail)


def place(where: str) -> tuple[str, int]:
    """Take FILE:LINE apart; a place without a line has line 0."""
    file, colon, line = where.rpartition(":")
    return (file, int(line)) if colon and line.isdecimal() else (where, 0)
