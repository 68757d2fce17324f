import sqlite3
import threading
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from headway.control.fleet import Fleet
from headway.control.telling import history, story
from headway.control.telling.history import MIGRATIONS, PastHost, past, path_of, recording
from tests.control import tell


def _record(path: Path, name: str) -> list[str]:
    warnings: list[str] = []
    with recording(path, warnings.append) as sink:
        for piece in tell.case(name).told:
            sink(piece)
    return warnings


def _ask(path: Path, statement: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as database:
        return database.execute(statement).fetchall()


def test_a_rollout_is_read_back_as_it_ended(tmp_path: Path) -> None:
    """What history shows is what was told: the verb, each host's end, those never touched."""
    path = tmp_path / "deep" / "history.sqlite"
    assert _record(path, "went_back") == []
    (rollout,) = past(path, 20)
    sentence = "llama failed gate marker; 77c0d1e2f3a4 runs again and is healthy"
    assert (rollout.verb, rollout.by, rollout.exit_code, rollout.took_ms) == (
        "rollout",
        "ops@desk",
        1,
        65300,
    )
    assert rollout.hosts == (
        PastHost("gpu1", "3f9a12c04b7e", "went back", 1, sentence),
        PastHost("gpu2", "", "", None, ""),
    )


def test_phases_reports_and_evidence_are_kept(tmp_path: Path) -> None:
    """The road a host took and what each gate saw can be asked for later."""
    path = tmp_path / "history.sqlite"
    _record(path, "went_back")
    assert _ask(path, "SELECT phase FROM moves ORDER BY seq") == [
        ("OPEN",),
        ("TRYING",),
        ("RETURNING",),
        ("IDLE",),
    ]
    assert _ask(path, "SELECT gate, verdict FROM reports ORDER BY seq") == [
        ("health", "PASS"),
        ("marker", "FAIL"),
    ]
    assert _ask(path, "SELECT name, value, unit FROM measurements") == [("load", 15890, "ms")]


def test_events_told_twice_are_kept_once(tmp_path: Path) -> None:
    """`invoke resume` tells a transition from its start: nothing is counted twice."""
    path = tmp_path / "history.sqlite"
    _record(path, "went_back")
    _record(path, "went_back")
    assert _ask(path, "SELECT count(*) FROM reports") == [(2,)]
    assert len(past(path, 20)) == 1


def test_the_newest_come_first_and_only_so_many(tmp_path: Path) -> None:
    """`--last 2` is the last two."""
    path = tmp_path / "history.sqlite"
    with recording(path, pytest.fail) as sink:
        for n in range(3):
            sink(story.Began(f"r{n}", "rollout", ("gpu1",), "ops@desk", n))
    assert [rollout.id for rollout in past(path, 2)] == ["r2", "r1"]


def test_no_file_is_no_history(tmp_path: Path) -> None:
    """Asking for history makes no file."""
    assert past(tmp_path / "none.sqlite", 20) == ()
    assert list(tmp_path.iterdir()) == []


def _damaged(path: Path) -> None:
    path.write_bytes(b"this is no database, " * 100)


def _newer(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA user_version = 999")


def _folder(path: Path) -> None:
    path.mkdir()


@pytest.mark.parametrize("break_it", [_damaged, _newer, _folder])
def test_a_broken_history_is_one_warning_and_stops_nothing(
    tmp_path: Path, break_it: object
) -> None:
    """The database is never truth: a rollout goes on without it."""
    path = tmp_path / "history.sqlite"
    assert callable(break_it)
    break_it(path)
    warnings = _record(path, "went_back")
    assert len(warnings) == 1
    assert str(path) in warnings[0]
    with pytest.raises(OSError, match=r"history\.sqlite"):
        past(path, 20)


def test_a_folder_that_cannot_be_made_is_one_warning(tmp_path: Path) -> None:
    """A home that is read-only or a file in the way costs a note."""
    (tmp_path / "in-the-way").write_text("")
    warnings = _record(tmp_path / "in-the-way" / "history.sqlite", "stuck")
    assert len(warnings) == 1


def test_a_database_that_breaks_while_writing_warns_once(tmp_path: Path) -> None:
    """After the first fault nothing is written and nothing is said again."""
    path = tmp_path / "history.sqlite"
    warnings: list[str] = []
    told = tell.case("went_back").told
    with recording(path, warnings.append) as sink:
        sink(told[0])
        with closing(sqlite3.connect(path)) as other:
            other.execute("DROP TABLE reports")
        for piece in told[1:]:
            sink(piece)
    assert len(warnings) == 1
    assert "reports" in warnings[0]


def test_controllers_that_write_at_once_lose_nothing(tmp_path: Path) -> None:
    """Two operators on one machine: WAL and a timeout let both write, the first start included."""
    path = tmp_path / "history.sqlite"
    warnings: list[str] = []

    def write(operator: int) -> None:
        with recording(path, warnings.append) as sink:
            for n in range(20):
                sink(story.Began(f"r{operator}-{n}", "rollout", ("gpu1",), "ops@desk", n))

    threads = [threading.Thread(target=write, args=(operator,)) for operator in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert warnings == []
    assert len(past(path, 1000)) == 80


def test_an_older_history_is_brought_up_to_date(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each schema version has its step to the next; what was written before stays."""
    path = tmp_path / "history.sqlite"
    _record(path, "went_back")
    added = "CREATE TABLE another (id TEXT PRIMARY KEY)"
    monkeypatch.setattr(history, "MIGRATIONS", (*MIGRATIONS, added))
    assert _record(path, "stuck") == []
    assert _ask(path, "PRAGMA user_version") == [(len(MIGRATIONS) + 1,)]
    assert _ask(path, "SELECT count(*) FROM another") == [(0,)]
    assert len(past(path, 20)) == 2


def test_a_history_of_the_first_schema_is_read_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the first version wrote has no class, subject or findings; it is still all there."""
    path = tmp_path / "history.sqlite"
    monkeypatch.setattr(history, "MIGRATIONS", MIGRATIONS[:1])
    with closing(history._opened(path)) as database, database:
        database.execute("INSERT INTO rollouts VALUES ('r1', 'rollout', 'me', 1, 0, 5)")
        database.execute("INSERT INTO hosts VALUES ('r1', 'gpu1', 1, 'abc', 'accepted', 0, '')")
        database.execute(
            "INSERT INTO reports VALUES"
            " ('gpu1', 't1', 1, 'r1', 1, 'llama', 'decode', 'decode', 'PASS', 'SAME', 5, '[]')"
        )
        database.execute("INSERT INTO measurements VALUES ('gpu1', 't1', 1, 'load', 9, 'ms', 1, 0)")
    monkeypatch.undo()
    found = history.measured(path, "gpu1")
    assert found is not None
    assert (found.release, found.machine) == ("abc", "")
    (seen,) = found.reports
    assert (seen.gate, seen.subject, seen.findings) == ("decode", "", ())
    assert [one.value for one in seen.measurements] == [9]


def test_what_a_sweep_measured_is_no_run_to_pin(tmp_path: Path) -> None:
    """Its last launch was left again; it had pinned the slowest draft depth as normal once."""
    path = tmp_path / "history.sqlite"
    with closing(history._opened(path)) as database, database:
        for at_ms, verb in ((1, "check"), (2, "sweep")):
            for statement, row in (
                ("INSERT INTO rollouts VALUES (?, ?, 'me', ?, 0, 5)", (verb, verb, at_ms)),
                (
                    "INSERT INTO hosts (rollout, host, n, exit_code) VALUES (?, 'gpu1', 1, 0)",
                    (verb,),
                ),
                (
                    (
                        "INSERT INTO reports (host, transition_id, seq, rollout, at_ms, part, gate,"
                        " kind, verdict, fate, took_ms, evidence) VALUES"
                        " ('gpu1', 't1', ?, ?, 1, 'llama', 'decode', 'decode',"
                        " 'PASS', 'SAME', 5, '')"
                    ),
                    (at_ms, verb),
                ),
                ("INSERT INTO measurements VALUES ('gpu1', 't1', ?, 'n', 9, 'ms', 1, 0)", (at_ms,)),
            ):
                database.execute(statement, row)
    found = history.measured(path, "gpu1")
    assert found is not None
    assert found.verb == "check"


def test_where_the_history_of_a_fleet_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One file a fleet below XDG_STATE_HOME; HEADWAY_HISTORY names another one."""
    (tmp_path / "inventory" / "lab").mkdir(parents=True)
    (tmp_path / "inventory" / "lab" / "hosts.yaml").write_text("all: {}\n")
    (tmp_path / "inventory" / "prod").mkdir()
    (tmp_path / "inventory" / "prod" / "hosts.yaml").write_text("all: {}\n")
    monkeypatch.delenv("HEADWAY_HISTORY", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    lab, prod = (path_of(Fleet(tmp_path, name)) for name in ("lab", "prod"))
    assert lab != prod
    assert lab.is_relative_to(tmp_path / "state" / "headway")
    monkeypatch.setenv("HEADWAY_HISTORY", str(tmp_path / "elsewhere.sqlite"))
    assert path_of(Fleet(tmp_path, "lab")) == tmp_path / "elsewhere.sqlite"


def test_a_host_that_needed_nothing_is_recorded_with_what_it_runs(tmp_path: Path) -> None:
    """An unchanged host had no turn: its own last word names the release."""
    path = tmp_path / "history.sqlite"
    _record(path, "unchanged")
    ((host, *_),) = (rollout.hosts for rollout in past(path, 20))
    assert (host.release, host.outcome) == ("3f9a12c04b7e", "unchanged")
    assert _ask(path, "SELECT count(*) FROM moves") == [(0,)]


def test_two_checks_of_a_host_are_both_kept(tmp_path: Path) -> None:
    """A check has no transition; once the reports of a second one were dropped as told twice."""
    path = tmp_path / "history.sqlite"
    said = [piece for piece in tell.case("went_back").told if isinstance(piece, story.HostSaid)]
    with recording(path, pytest.fail) as sink:
        for n in range(2):
            sink(story.Began(f"r{n}", "check", ("gpu1",), "ops@desk", n))
            for piece in said:
                sink(replace(piece, event=replace(piece.event, transition="")))
    assert _ask(path, "SELECT count(*) FROM reports") == [(4,)]


def test_measurements_gates_and_phases_are_read_for_trends_and_the_page(tmp_path: Path) -> None:
    """What was measured comes with the release and the outcome of its host."""
    path = tmp_path / "history.sqlite"
    _record(path, "went_back")
    [sample] = history.samples(path)
    assert (sample.host, sample.measurement.name, sample.outcome) == ("gpu1", "load", "went back")
    assert [one.verdict for one in history.gates(path)] == ["PASS", "FAIL"]
    assert [one.phase for one in history.moves(path)] == ["OPEN", "TRYING", "RETURNING", "IDLE"]
    assert history.hosts_of(path, "3f9a") == ("gpu1",)
    assert history.hosts_of(path, "%") == ("gpu1", "gpu2")
