"""The log of one launch of a container, through Docker, whichever readable driver keeps it.

A container that is started again keeps its id and its log: only lines since its StartedAt are this
launch's. Both are Docker's own times.
"""

import os
from dataclasses import dataclass, field
from typing import Dict, List

from headway.runner.containers import docker
from headway.runner.containers.docker import DockerError
from headway.runner.containers.launches import container_id
from headway.runner.docker_log import messages
from headway.runner.machine import Machine
from headway.runner.tools.journal import LINES_LIMIT, TEXT_LIMIT, decoded
from headway.wire.gate import Subject
from headway.wire.tools import Journal, JournalLine

READABLE = ("json-file", "local", "journald")
"""The drivers whose lines Docker gives back; the daemon's dual logging covers the others badly."""
_SUPPRESSED = "a596d6fe7bfa4994828e72309e95d61e"
_WARNING, _INFO = 4, 6


class ContainerLogs:
    """Reads through Docker's socket; what was read of a launch is kept."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._read: Dict[str, _Reading] = {}

    def of(self, subject: Subject) -> Journal:
        """Read every line of this launch and say whether the record is whole."""
        container, started_at = container_id(subject), subject.id.partition("@")[2]
        reading = self._read.setdefault(subject.id, _Reading(since=started_at))
        try:
            seen = docker.container(self._machine.disk, container)
            if seen is None:
                return _unreadable(f"container {container[:12]} was removed, its log with it")
            if seen.log_driver not in READABLE:
                return _unreadable(f"log driver {seen.log_driver} cannot be read back")
            body = docker.logs(self._machine.disk, container, reading.since, TEXT_LIMIT)
            for text, is_error in messages(body):
                reading.take(text, is_error=is_error)
        except DockerError as error:
            return _unreadable(str(error))
        why = reading.too_long() or self._cut(seen.log_driver, container, started_at)
        return Journal(complete=not why, why=why, lines=tuple(reading.kept))

    def _cut(self, driver: str, container: str, started_at: str) -> str:
        """Say why lines may be lost: dropped by journald, or rotated away."""
        if driver == "journald":
            return self._suppressed(started_at)
        settings = docker.log_settings(self._machine.disk, container)
        most = int(settings.get("max-file", "1" if driver == "json-file" else "5") or 1)
        if driver == "json-file" and "max-size" not in settings:
            return ""
        rotated = _rotated(docker.log_path(self._machine.disk, container))
        if rotated >= most - 1 and (rotated or most == 1):
            return f"its log is kept in {most} files and may have been rotated away (max-size)"
        return ""

    def _suppressed(self, started_at: str) -> str:
        since = docker.seconds(started_at).partition(".")[0]
        argv = ["journalctl", "--quiet", "--no-pager", "--output=cat", f"--since=@{since}"]
        match = [f"MESSAGE_ID={_SUPPRESSED}", "OBJECT_SYSTEMD_UNIT=docker.service"]
        said = self._machine.run([*argv, *match], deadline_s=20).stdout.decode(errors="replace")
        rows = said.strip().splitlines()
        return f"journald dropped lines: {rows[-1]}" if rows else ""


@dataclass
class _Reading:
    """What was read of one launch so far; `since` is the time of its last line."""

    since: str
    kept: List[JournalLine] = field(default_factory=list)
    _size: int = 0

    def take(self, text: str, *, is_error: bool) -> None:
        """Keep one line behind its time; one that was read already is left out."""
        at, _, said = text.partition(" ")
        if self.kept and at <= self.kept[-1].cursor:
            return
        self._size += len(said)
        if not self.too_long():
            priority = _WARNING if is_error else _INFO
            self.kept.append(JournalLine(at, decoded(said), priority, own=True))
            self.since = at

    def too_long(self) -> str:
        """Say that there is more than can be judged; "" when there is not."""
        if len(self.kept) < LINES_LIMIT and self._size <= TEXT_LIMIT:
            return ""
        return f"more than {LINES_LIMIT} lines or {TEXT_LIMIT} characters: too long to judge"


def _rotated(path: str) -> int:
    folder, name = os.path.split(path)
    try:
        return sum(1 for each in os.listdir(folder) if each.startswith(name + "."))
    except OSError:
        return 0


def _unreadable(why: str) -> Journal:
    return Journal(complete=False, why=why, lines=())
