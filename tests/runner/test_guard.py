"""The guard: put on units that exist and that do not yet, taken off without a trace."""

from pathlib import Path

from headway.runner import guard
from tests.runner.resources.scripted import machine_at, tree

UNITS = "etc/systemd/system"


def test_a_guard_holds_a_unit_to_the_token(tmp_path: Path) -> None:
    """Restart=no makes DIED visible; the condition keeps it down after a boot."""
    machine, run = machine_at(tmp_path)
    guard.token_on(machine, "t1")
    guard.put(machine, "t1", ["x.service", "x.timer"])
    path = tmp_path / UNITS / "x.service.d/zz-headway-guard.conf"
    assert path.read_text().splitlines()[-4:] == [
        "[Unit]",
        "ConditionPathExists=/run/headway/t1",
        "[Service]",
        "Restart=no",
    ]
    assert "Restart" not in (tmp_path / UNITS / "x.timer.d/zz-headway-guard.conf").read_text()
    assert (tmp_path / "run/headway/t1").exists()
    assert guard.guarded(machine) == ["x.service", "x.timer"]
    assert run.calls == []


def test_on_and_off_leave_no_trace(tmp_path: Path) -> None:
    """A folder made for the guard goes, one with something in it stays."""
    machine, _ = machine_at(tmp_path)
    (tmp_path / UNITS / "full.service.d").mkdir()
    (tmp_path / UNITS / "full.service.d/a.conf").write_text("[Unit]\n")
    before = tree(tmp_path)
    units = ["full.service", "new.service"]

    guard.put(machine, "t1", units)
    guard.put(machine, "t1", units)
    guard.put(machine, "t2", units)
    guard.off(machine, units)
    guard.off(machine, units)

    assert tree(tmp_path) == before
    assert guard.guarded(machine) == []


def test_a_guard_of_another_transition_is_replaced(tmp_path: Path) -> None:
    """One that was left behind would wait for a token that never comes."""
    machine, _ = machine_at(tmp_path)
    guard.put(machine, "t-left", ["x.service"])
    guard.put(machine, "t-now", ["x.service"])
    text = (tmp_path / UNITS / "x.service.d/zz-headway-guard.conf").read_text()
    assert "/run/headway/t-now" in text
    assert "t-left" not in text


def test_a_folder_whose_guard_was_never_written_goes(tmp_path: Path) -> None:
    """A power cut fell between the two."""
    machine, _ = machine_at(tmp_path)
    (tmp_path / UNITS / "x.service.d").mkdir()
    guard.off(machine, ["x.service"])
    assert list((tmp_path / UNITS).iterdir()) == []


def test_a_folder_that_got_dropins_meanwhile_stays(tmp_path: Path) -> None:
    """The release's own drop-ins came to lie beside the guard."""
    machine, _ = machine_at(tmp_path)
    guard.put(machine, "t1", ["x.service"])
    (tmp_path / UNITS / "x.service.d/a.conf").write_text("[Unit]\n")
    guard.off(machine, ["x.service"])
    assert [path.name for path in (tmp_path / UNITS / "x.service.d").iterdir()] == ["a.conf"]


def test_the_token_goes(tmp_path: Path) -> None:
    """That it is gone already is fine: a boot takes it, too."""
    machine, _ = machine_at(tmp_path)
    guard.token_on(machine, "t1")
    guard.token_off(machine, "t1")
    guard.token_off(machine, "t1")
    assert list((tmp_path / "run/headway").iterdir()) == []
