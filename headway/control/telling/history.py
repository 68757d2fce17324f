"""The fleet's history: every rollout, host, report and measurement, in one SQLite file.

It is written from the story and never read to decide anything: the host's own record is the
truth. A file that is locked, damaged or not writable costs a note, never a rollout. This is the
only module with SQL.
"""

import json
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

from headway.control.fleet import Fleet
from headway.control.telling import story
from headway.wire.event import Moved, Reported, Rested
from headway.wire.gate import Measurement

VARIABLE = "HEADWAY_HISTORY"
BUSY_S = 5  # for another controller that writes

MIGRATIONS = (
    """
    CREATE TABLE rollouts (
        id TEXT PRIMARY KEY, verb TEXT NOT NULL, by TEXT NOT NULL, at_ms INTEGER NOT NULL,
        exit_code INTEGER, took_ms INTEGER
    );
    CREATE INDEX rollouts_at ON rollouts (at_ms);
    CREATE TABLE hosts (
        rollout TEXT NOT NULL REFERENCES rollouts, host TEXT NOT NULL, n INTEGER NOT NULL,
        release TEXT NOT NULL DEFAULT '', outcome TEXT NOT NULL DEFAULT '', exit_code INTEGER,
        sentence TEXT NOT NULL DEFAULT '',
        PRIMARY KEY (rollout, host)
    );
    CREATE TABLE moves (
        host TEXT NOT NULL, transition_id TEXT NOT NULL, seq INTEGER NOT NULL,
        rollout TEXT NOT NULL, at_ms INTEGER NOT NULL, phase TEXT NOT NULL, why TEXT NOT NULL,
        PRIMARY KEY (host, transition_id, seq)
    );
    CREATE TABLE reports (
        host TEXT NOT NULL, transition_id TEXT NOT NULL, seq INTEGER NOT NULL,
        rollout TEXT NOT NULL, at_ms INTEGER NOT NULL, part TEXT NOT NULL, gate TEXT NOT NULL,
        kind TEXT NOT NULL, verdict TEXT NOT NULL, fate TEXT NOT NULL, took_ms INTEGER NOT NULL,
        evidence TEXT NOT NULL,
        PRIMARY KEY (host, transition_id, seq)
    );
    CREATE TABLE measurements (
        host TEXT NOT NULL, transition_id TEXT NOT NULL, seq INTEGER NOT NULL, name TEXT NOT NULL,
        value INTEGER NOT NULL, unit TEXT NOT NULL, n INTEGER NOT NULL, spread INTEGER NOT NULL,
        PRIMARY KEY (host, transition_id, seq, name)
    );
    """,
    """
    ALTER TABLE hosts ADD COLUMN class TEXT NOT NULL DEFAULT '';
    ALTER TABLE reports ADD COLUMN subject TEXT NOT NULL DEFAULT '';
    ALTER TABLE reports ADD COLUMN findings TEXT NOT NULL DEFAULT '[]';
    """,
)
"""How to come from schema version N (PRAGMA user_version) to N + 1; never edited, only added to."""


@dataclass(frozen=True)
class PastHost:
    """How a host ended in a past rollout; `exit_code` None: we never heard how."""

    host: str
    release: str
    outcome: str
    exit_code: int | None
    sentence: str


@dataclass(frozen=True)
class PastRollout:
    """A past rollout or other verb; `exit_code` None: its controller was gone before its end."""

    id: str
    verb: str
    by: str
    at_ms: int
    exit_code: int | None
    took_ms: int | None
    hosts: tuple[PastHost, ...]


def path_of(fleet: Fleet) -> Path:
    """Say where a fleet's history lies: HEADWAY_HISTORY, else below XDG_STATE_HOME."""
    chosen = os.environ.get(VARIABLE)
    if chosen:
        return Path(chosen).expanduser()
    state = Path(os.environ.get("XDG_STATE_HOME") or "~/.local/state").expanduser()
    mark = sha256(str(fleet.hosts_file()).encode()).hexdigest()[:8]
    return state / "headway" / f"{fleet.root.name}-{mark}" / "history.sqlite"


@dataclass(frozen=True)
class PastReport:
    """What a gate saw of one launch (`subject` is its InvocationID), with its measurements."""

    part: str
    gate: str
    kind: str
    verdict: str
    subject: str
    findings: tuple[str, ...]
    measurements: tuple[Measurement, ...]


@dataclass(frozen=True)
class Measured:
    """The gates of one rollout or check of a host that ended well, on the release it stands on."""

    rollout: str
    verb: str
    by: str
    at_ms: int
    host: str
    release: str
    machine: str
    reports: tuple[PastReport, ...]


@dataclass(frozen=True)
class Sample:
    """One measurement of one launch: where, by which gate, of which release, with what outcome."""

    measurement: Measurement
    at_ms: int
    rollout: str
    verb: str
    host: str
    machine: str
    release: str
    outcome: str
    part: str
    gate: str
    kind: str


@dataclass(frozen=True)
class PastGate:
    """What a gate said in a past transition or check."""

    host: str
    transition: str
    rollout: str
    at_ms: int
    part: str
    gate: str
    verdict: str
    took_ms: int
    evidence: tuple[str, ...]
    findings: tuple[str, ...]


@dataclass(frozen=True)
class PastMove:
    """A phase that a host entered in a past transition."""

    host: str
    transition: str
    rollout: str
    at_ms: int
    phase: str
    why: str


@contextmanager
def recording(path: Path, warn: Callable[[str], None]) -> Iterator[story.Sink]:
    """Give a sink that writes the story down; the first fault warns and ends the writing."""
    try:
        database = _opened(path)
    except (sqlite3.Error, OSError) as error:
        warn(_broken(path, error))
        yield lambda _told: None
        return
    with closing(database):
        yield _Recorder(database, path, warn).tell


def past(path: Path, last: int) -> tuple[PastRollout, ...]:
    """Read the newest rollouts, newest first; no file is no rollout.

    Raises OSError with a sentence when the file cannot be read.
    """
    return _read(path, lambda database: _past(database, last))


def measured(path: Path, host: str) -> Measured | None:
    """Find the newest rollout or check of a host that ended well and measured anything.

    A sweep measures launches that were left again: what it saw is no baseline of what runs.

    Raises OSError with a sentence when the file cannot be read.
    """
    if not path.exists():
        return None
    try:
        with closing(_opened(path)) as database:
            return _measured(database, host)
    except sqlite3.Error as error:
        raise OSError(_broken(path, error)) from None


def samples(path: Path) -> tuple[Sample, ...]:
    """Read every measurement, oldest first; those of a sweep were of launches that were left.

    Raises OSError with a sentence when the file cannot be read.
    """

    def read(database: sqlite3.Connection) -> Iterator[Sample]:
        for row in database.execute(_SAMPLES):
            yield Sample(Measurement(*row[-5:]), *row[:-5])

    return _read(path, read)


def gates(path: Path) -> tuple[PastGate, ...]:
    """Read what gates said, oldest first; OSError with a sentence when it cannot be read."""

    def read(database: sqlite3.Connection) -> Iterator[PastGate]:
        for row in database.execute(_GATES):
            yield PastGate(*row[:-2], *(tuple(json.loads(cell)) for cell in row[-2:]))

    return _read(path, read)


def moves(path: Path) -> tuple[PastMove, ...]:
    """Read the phases hosts entered, oldest first; OSError when it cannot be read."""
    return _read(path, lambda database: (PastMove(*row) for row in database.execute(_MOVES)))


def hosts_of(path: Path, release: str) -> tuple[str, ...]:
    """Name the hosts that were brought to a release, by the beginning of its id, newest first."""

    def read(database: sqlite3.Connection) -> Iterator[str]:
        for (host,) in database.execute(_HOSTS_OF, (release.replace("%", "") + "%",)):
            yield host

    return _read(path, read)


T = TypeVar("T")


def _read(path: Path, read: Callable[[sqlite3.Connection], Iterator[T]]) -> tuple[T, ...]:
    if not path.exists():
        return ()
    try:
        with closing(_opened(path)) as database:
            return tuple(read(database))
    except sqlite3.Error as error:
        raise OSError(_broken(path, error)) from None


class _Recorder:
    """Writes one verb's story; each piece is one short transaction, so that writers share."""

    def __init__(
        self, database: sqlite3.Connection, path: Path, warn: Callable[[str], None]
    ) -> None:
        self._database = database
        self._path = path
        self._warn = warn
        self._rollout = ""
        self._works = True

    def tell(self, told: story.Told) -> None:
        if isinstance(told, story.Began):
            self._rollout = told.rollout
        rows = tuple(_rows(told, self._rollout))
        if not self._works or not rows:
            return
        try:
            with self._database:
                for statement, row in rows:
                    self._database.execute(statement, row)
        except sqlite3.Error as error:
            self._works = False
            self._warn(_broken(self._path, error))


_BEGAN = "INSERT OR REPLACE INTO rollouts (id, verb, by, at_ms) VALUES (?, ?, ?, ?)"
_HOST = "INSERT OR REPLACE INTO hosts (rollout, host, n, class) VALUES (?, ?, ?, ?)"
_TURN = "UPDATE hosts SET release = ? WHERE rollout = ? AND host = ?"
_RESTED = "UPDATE hosts SET release = ? WHERE rollout = ? AND host = ? AND release = ''"
_HOST_ENDED = """
    UPDATE hosts SET outcome = ?, exit_code = ?, sentence = ? WHERE rollout = ? AND host = ?
"""
_ENDED = "UPDATE rollouts SET exit_code = ?, took_ms = ? WHERE id = ?"
_MOVE = "INSERT OR IGNORE INTO moves VALUES (?, ?, ?, ?, ?, ?, ?)"
_REPORT = "INSERT OR IGNORE INTO reports VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_MEASURED = "INSERT OR IGNORE INTO measurements VALUES (?, ?, ?, ?, ?, ?, ?, ?)"

_Row = tuple[str, tuple[object, ...]]


def _rows(told: story.Told, rollout: str) -> Iterator[_Row]:
    """Say what a piece of the story adds: statements and their values.

    An event that is told twice (a second `resume`) is written once: host, transition and sequence
    number name it.
    """
    match told:
        case story.Began():
            yield _BEGAN, (told.rollout, told.verb, told.by, told.at_ms)
            for n, host in enumerate(told.hosts, 1):
                yield _HOST, (told.rollout, host, n, told.classes.get(host, ""))
        case story.Turn():
            yield _TURN, (told.release, rollout, told.host)
        case story.HostEnded():
            row = (told.outcome, told.exit_code, told.sentence, rollout, told.host)
            yield _HOST_ENDED, row
        case story.Ended():
            yield _ENDED, (told.exit_code, told.took_ms, told.rollout)
        case story.HostSaid():
            yield from _event_rows(told, rollout)


def _event_rows(told: story.HostSaid, rollout: str) -> Iterator[_Row]:
    said = told.event
    # What `check` reports belongs to no transition: it is named by the verb.
    key = (told.host, said.transition or rollout, said.seq)
    match said.body:
        case Moved(to=to, why=why):
            yield _MOVE, (*key, rollout, said.at_ms, to.value, why)
        case Rested(phase=phase, accepted=accepted, sentence=sentence):
            yield _RESTED, (accepted, rollout, told.host)
            if said.transition:
                yield _MOVE, (*key, rollout, said.at_ms, phase.value, sentence)
        case Reported(report=report):
            judged = (report.verdict.value, report.fate.value, report.took_ms)
            evidence = json.dumps(report.evidence, ensure_ascii=False)
            gate = (report.part, report.gate, report.kind)
            who = report.before.id if report.before else ""
            more = (evidence, who, json.dumps(report.findings))
            yield _REPORT, (*key, rollout, said.at_ms, *gate, *judged, *more)
            for seen in report.measurements:
                yield _MEASURED, (*key, seen.name, seen.value, seen.unit, seen.n, seen.spread)


_ROLLOUTS = """
    SELECT id, verb, by, at_ms, exit_code, took_ms FROM rollouts
    ORDER BY at_ms DESC, id DESC LIMIT ?
"""
_HOSTS = """
    SELECT host, release, outcome, exit_code, sentence FROM hosts WHERE rollout = ? ORDER BY n
"""


def _past(database: sqlite3.Connection, last: int) -> Iterator[PastRollout]:
    for key, verb, by, at_ms, exit_code, took_ms in database.execute(_ROLLOUTS, (last,)).fetchall():
        hosts = tuple(PastHost(*host) for host in database.execute(_HOSTS, (key,)))
        yield PastRollout(key, verb, by, at_ms, exit_code, took_ms, hosts)


_NEWEST = """
    SELECT r.id, r.verb, r.by, r.at_ms, h.host, h.release, h.class
    FROM rollouts r JOIN hosts h ON h.rollout = r.id
    WHERE h.host = ? AND h.exit_code = 0 AND r.verb <> 'sweep' AND EXISTS (
        SELECT 1 FROM reports p JOIN measurements m USING (host, transition_id, seq)
        WHERE p.rollout = r.id AND p.host = h.host
    )
    ORDER BY r.at_ms DESC, r.id DESC LIMIT 1
"""
_REPORTS = """
    SELECT transition_id, seq, part, gate, kind, verdict, subject, findings FROM reports
    WHERE rollout = ? AND host = ? ORDER BY at_ms, seq
"""
_MEASUREMENTS = """
    SELECT name, value, unit, n, spread FROM measurements
    WHERE host = ? AND transition_id = ? AND seq = ? ORDER BY name
"""


_SAMPLES = """
    SELECT p.at_ms, p.rollout, r.verb, p.host, h.class, h.release, h.outcome, p.part, p.gate,
        p.kind, m.name, m.value, m.unit, m.n, m.spread
    FROM reports p
    JOIN measurements m USING (host, transition_id, seq)
    JOIN rollouts r ON r.id = p.rollout
    JOIN hosts h ON h.rollout = p.rollout AND h.host = p.host
    WHERE r.verb <> 'sweep'
    ORDER BY p.at_ms, p.host, p.seq, m.name
"""
_GATES = """
    SELECT host, transition_id, rollout, at_ms, part, gate, verdict, took_ms, evidence, findings
    FROM reports ORDER BY at_ms, host, seq
"""
_MOVES = """
    SELECT host, transition_id, rollout, at_ms, phase, why FROM moves ORDER BY at_ms, host, seq
"""
_HOSTS_OF = """
    SELECT h.host FROM hosts h JOIN rollouts r ON r.id = h.rollout WHERE h.release LIKE ?
    GROUP BY h.host ORDER BY max(r.at_ms) DESC, h.host
"""


def _measured(database: sqlite3.Connection, host: str) -> Measured | None:
    run = database.execute(_NEWEST, (host,)).fetchone()
    if run is None:
        return None
    rollout, verb, by, at_ms, _, release, machine = run
    reports = []
    for row in database.execute(_REPORTS, (rollout, host)).fetchall():
        transition, seq, part, gate, kind, verdict, subject, findings = row
        numbers = database.execute(_MEASUREMENTS, (host, transition, seq))
        measurements = tuple(Measurement(*number) for number in numbers)
        found = tuple(json.loads(findings))
        reports.append(PastReport(part, gate, kind, verdict, subject, found, measurements))
    return Measured(rollout, verb, by, at_ms, host, release, machine, tuple(reports))


def _opened(path: Path) -> sqlite3.Connection:
    """Open the file, make it when it is not there, and bring it to the newest schema."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Hosts tell their story from threads of their own; the sinks take turns.
    database = sqlite3.connect(path, timeout=BUSY_S, check_same_thread=False)
    try:
        _keep_wal(database)
        database.execute("PRAGMA synchronous = NORMAL")
        _migrated(database)
    except BaseException:
        database.close()
        raise
    return database


def _keep_wal(database: sqlite3.Connection) -> None:
    """Keep a write-ahead log; SQLite's own timeout does not wait for this change of mode."""
    until = time.monotonic() + BUSY_S
    while True:
        try:
            database.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(0.02)
        else:
            return


def _migrated(database: sqlite3.Connection) -> None:
    if _version(database) == len(MIGRATIONS):
        return
    with database:
        database.execute("BEGIN IMMEDIATE")
        # Asked again under the lock: another controller may have been first.
        version = _version(database)
        if version > len(MIGRATIONS):
            raise sqlite3.DatabaseError(f"schema {version} is of a newer headway")
        for steps in MIGRATIONS[version:]:
            for statement in filter(str.strip, steps.split(";")):
                database.execute(statement)
        database.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")


def _version(database: sqlite3.Connection) -> int:
    version: int = database.execute("PRAGMA user_version").fetchone()[0]
    return version


def _broken(path: Path, error: Exception) -> str:
    return f"history {path} is not written: {error}"
