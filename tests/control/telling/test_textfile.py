"""The file for Prometheus: whole at every moment, right about every host."""

from pathlib import Path

import pytest

from headway.control.telling import story, textfile
from tests.control import tell


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines()


def _told(path: Path, *pieces: story.Told) -> list[str]:
    sink = textfile.Textfile(path, lambda: 1_790_000_000.5)
    for piece in pieces:
        sink(piece)
    return _lines(path)


def test_how_hosts_gates_and_verbs_ended_is_in_it(tmp_path: Path) -> None:
    """Every series has its HELP and TYPE, once and before it."""
    lines = _told(tmp_path / "h.prom", *tell.case("went_back").told)
    assert 'headway_host_exit_code{host="gpu1"} 1' in lines
    assert 'headway_host_outcome{host="gpu1",outcome="went back"} 1' in lines
    assert 'headway_gate_verdict{host="gpu1",part="llama",gate="marker"} 0' in lines
    assert 'headway_verb_exit_code{verb="rollout"} 1' in lines
    assert 'headway_verb_running{verb="rollout"} 0' in lines
    assert any(
        line.startswith("headway_measurement{") and line.endswith(" 15890") for line in lines
    )
    for name in {line.partition("{")[0] for line in lines if not line.startswith("#")}:
        assert lines.count(f"# TYPE {name} gauge") == 1


def test_a_host_that_is_not_touched_keeps_its_series_and_one_that_is_has_one_outcome(
    tmp_path: Path,
) -> None:
    """Another controller wrote it yesterday."""
    path = tmp_path / "h.prom"
    _told(path, story.HostEnded("gpu1", 1, "went back", ""), story.HostEnded("gpu2", 0, "ok", ""))
    lines = _told(path, story.HostEnded("gpu1", 0, "accepted", ""))
    outcomes = [line for line in lines if line.startswith("headway_host_outcome")]
    assert outcomes == [
        'headway_host_outcome{host="gpu1",outcome="accepted"} 1',
        'headway_host_outcome{host="gpu2",outcome="ok"} 1',
    ]


def test_it_is_replaced_whole_and_readable_for_the_exporter(tmp_path: Path) -> None:
    """Half a file would be an alarm; a leftover beside it would be read as another one."""
    path = tmp_path / "h.prom"
    _told(path, story.HostEnded('a"b\\c', 0, "ok", ""))
    assert 'headway_host_exit_code{host="a\\"b\\\\c"} 0' in _lines(path)
    assert [one.name for one in tmp_path.iterdir()] == ["h.prom"]
    assert path.stat().st_mode & 0o777 == 0o644


def test_a_folder_that_went_is_an_error_of_the_system(tmp_path: Path) -> None:
    """Whoever holds the sinks lets it go, and says so."""
    sink = textfile.Textfile(tmp_path / "gone" / "h.prom")
    with pytest.raises(OSError, match="gone"):
        sink(story.HostEnded("gpu1", 0, "ok", ""))
