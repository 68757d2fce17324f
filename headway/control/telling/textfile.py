"""A file for Prometheus' node exporter (its textfile collector), replaced whole at each change.

Series of hosts that a verb does not touch stay as an earlier verb left them.
"""

import os
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from headway.control.telling import story
from headway.wire.event import Reported
from headway.wire.verdict import Verdict

METRICS = {
    "headway_host_exit_code": "exit code with which a host's part in its last verb ended",
    "headway_host_ended_seconds": "when a host's part in its last verb ended, Unix time",
    "headway_host_outcome": "how a host's part in its last verb ended, as a label; always 1",
    "headway_gate_verdict": "what a gate said last: 1 PASS, 0 FAIL, -1 INVALID",
    "headway_measurement": "what a gate measured last, in whole units",
    "headway_verb_exit_code": "exit code of the last call of a verb",
    "headway_verb_ended_seconds": "when the last call of a verb ended, Unix time",
    "headway_verb_running": "1 while a verb is under way",
}
_SERIES = re.compile(r"^(headway_\w+)(\{[^\n]*\}) (-?\d+)$", re.MULTILINE)
_NUMBERS = {Verdict.PASS: 1, Verdict.FAIL: 0, Verdict.INVALID: -1}

Series = dict[tuple[str, str], int]


class Textfile:
    """A sink of the story; every piece that changes a series writes the file."""

    def __init__(self, path: Path, now: Callable[[], float] = time.time) -> None:
        """Go on with what lies there."""
        self._path = path
        self._now = now
        self._verb = ""
        self._series: Series | None = None

    def __call__(self, told: story.Told) -> None:
        """Take a piece in; OSError where the file cannot be written."""
        if isinstance(told, story.Began):
            self._verb = told.verb
        changed = dict(self._changes(told))
        if not changed:
            return
        if self._series is None:
            self._series = read(self._path)
        if isinstance(told, story.HostEnded):
            mine = f'host="{_label(told.host)}"'
            outcome = "headway_host_outcome"
            for key in [key for key in self._series if key[0] == outcome and mine in key[1]]:
                del self._series[key]
        self._series.update(changed)
        write(self._path, self._series)

    def _changes(self, told: story.Told) -> Iterator[tuple[tuple[str, str], int]]:
        at = int(self._now())
        match told:
            case story.Began():
                yield _key("verb_running", verb=told.verb), 1
            case story.HostEnded():
                yield _key("host_exit_code", host=told.host), told.exit_code
                yield _key("host_ended_seconds", host=told.host), at
                yield _key("host_outcome", host=told.host, outcome=told.outcome), 1
            case story.HostSaid(event=event) if isinstance(event.body, Reported):
                report = event.body.report
                where = {"host": told.host, "part": report.part, "gate": report.gate}
                yield _key("gate_verdict", **where), _NUMBERS[report.verdict]
                for one in report.measurements:
                    yield _key("measurement", **where, name=one.name, unit=one.unit), one.value
            case story.Ended():
                yield _key("verb_running", verb=self._verb), 0
                yield _key("verb_exit_code", verb=self._verb), told.exit_code
                yield _key("verb_ended_seconds", verb=self._verb), at


def read(path: Path) -> Series:
    """Read the series of a file; none where there is no file."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    return {(name, labels): int(value) for name, labels, value in _SERIES.findall(text)}


def write(path: Path, series: Series) -> None:
    """Replace the file in one rename: the exporter never reads half of it."""
    lines: list[str] = []
    for name, says in METRICS.items():
        mine = sorted((labels, value) for (of, labels), value in series.items() if of == name)
        if mine:
            lines += [f"# HELP {name} {says}", f"# TYPE {name} gauge"]
            lines += [f"{name}{labels} {value}" for labels, value in mine]
    new = path.with_name(f".{path.name}.{os.getpid()}")  # the collector reads *.prom alone
    new.write_text("\n".join(lines) + "\n", encoding="utf-8")
    new.chmod(0o644)
    new.replace(path)


def _key(metric: str, /, **labels: str) -> tuple[str, str]:
    inside = ",".join(f'{label}="{_label(value)}"' for label, value in labels.items())
    return f"headway_{metric}", "{" + inside + "}"


def _label(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
