"""Baselines: pinned by a person from what passed, and what relative thresholds go by."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headway.control import pinning
from headway.control.baselines import Entry, MeasuredOn, Pinned, write
from headway.control.desk import Desk
from headway.control.errors import ConfigError, RefusedError
from headway.control.fleet import Fleet
from headway.control.inventory.inventory import load
from headway.control.rendering.render import render
from headway.control.telling import story
from headway.control.telling.history import path_of, recording
from headway.wire.event import Body, Event, Reported, Rested
from headway.wire.gate import Measurement, Report
from headway.wire.phase import Exit, Phase
from headway.wire.verdict import Fate, Verdict

HOSTS = """\
all:
  hosts: {gpu1: {class: h200x2}, gpu2: {}}
  vars:
    roles: [{role: service, name: web, program: /usr/bin/web}]
"""
PINNED = """\
h200x2/service:
  measured_on: {host: gpu1, release: abc, at: '2026-11-30T04:00:00Z', by: me}
  gates:
    in_place:
      took: {value: 7, unit: ms}
"""


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in a fleet of a host with a class and one without."""
    monkeypatch.setenv("HEADWAY_HISTORY", str(tmp_path / "history.sqlite"))
    (tmp_path / "inventory").mkdir()
    (tmp_path / "inventory/hosts.yaml").write_text(HOSTS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


Tell = Callable[..., None]


@pytest.fixture
def tell(fleet: Path) -> Tell:
    """Return `tell(value, verdict, findings)`: a check of gpu1 that is over."""
    count = iter(range(100))

    def check(value: int, verdict: Verdict = Verdict.PASS, findings: tuple[str, ...] = ()) -> None:
        name = f"r{next(count)}"
        measured = (Measurement("tokens_s", value, "milli-tokens/s", 5, 12),)
        report = Report(
            *("decode", "decode", "web", verdict, Fate.SAME, None, None, ()), measured, 1, findings
        )
        rested = Rested(Phase.IDLE, "3f9a12c04b7e", verdict, 0, "passed", "")
        with recording(path_of(Fleet(fleet)), pytest.fail) as sink:
            sink(story.Began(name, "check", ("gpu1",), "ops@desk", 1790000000000, {}))
            bodies: tuple[Body, ...] = (Reported(report), rested)
            for seq, body in enumerate(bodies, 1):
                sink(story.HostSaid("gpu1", Event(seq, 1790000000000, "", body)))
            sink(story.HostEnded("gpu1", 0, "passed", ""))

    return check


def desk(*hosts: str) -> Desk:
    """Make the workplace of `invoke baseline`."""
    return Desk(verb="baseline", host=hosts)


def test_what_passed_last_is_pinned_and_read_back(
    fleet: Path, tell: Tell, capsys: pytest.CaptureFixture[str]
) -> None:
    """The file says the number, and where it was measured; a second pin says what it was."""
    tell(90000)
    assert pinning.pin(desk("gpu1"), ()) is Exit.ACCEPTED
    tell(98765)
    assert pinning.pin(desk("gpu1"), ("decode",)) is Exit.ACCEPTED
    assert "decode  tokens_s: 98765 milli-tokens/s, was 90000" in capsys.readouterr().out

    assert pinning.show(desk()) is Exit.ACCEPTED
    shown = capsys.readouterr().out
    assert "h200x2/service  decode  tokens_s     98765 milli-tokens/s  5  12" in shown
    assert "gpu1 3f9a12c04b7e 2026-09-21T14:13:20Z" in shown
    assert Desk(verb="baseline", json=True).fleet.baselines.keys() == {"h200x2/service"}
    assert pinning.show(Desk(verb="baseline", json=True)) is Exit.ACCEPTED
    row = json.loads(capsys.readouterr().out)["baseline"]
    assert row["gates"]["decode"]["tokens_s"]["value"] == 98765
    assert (fleet / "baselines.yaml").read_text().startswith("# What relative thresholds go by.")


@given(words=st.lists(st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1)))
@example(["1234567890", "12", "0", "o'neill", "results/a/exact_match,strip", "#", "yes", "{"])
def test_any_name_is_read_back_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, words: list[str]
) -> None:
    """A release of digits alone is no number: one in 300 is."""
    word = next(iter(words), "gpu1")
    rows = {one: Pinned(7, one, 2, 1) for one in words}
    pinned = {f"h200/{word}": Entry(MeasuredOn(word, word, word, word), {word: rows})}
    folder = tmp_path_factory.mktemp("pinned")

    write(folder / "baselines.yaml", pinned)

    assert Fleet(folder).baselines == pinned


def test_a_gate_is_handed_the_baseline_of_its_class_and_role(fleet: Path) -> None:
    """Another class, or none, is not judged by it: proved on one class is not proved on another."""
    (fleet / "baselines.yaml").write_text(PINNED)
    found = Fleet(fleet)
    known, other = (render(found, host) for host in load(found).select(("all",)))
    (gate,) = (gate for gate in known.gates if gate.name == "in_place")
    assert gate.baseline is not None
    assert gate.baseline.of("took") == Measurement("took", 7, "ms")
    assert {gate.baseline for gate in other.gates} == {None}
    assert known.release.id == other.release.id


@pytest.mark.parametrize(
    ("verdict", "findings", "says"),
    [
        (Verdict.FAIL, (), "gate decode of web: FAIL"),
        (Verdict.PASS, ("marlin-fallback",), "web ran degraded: "),
    ],
)
def test_what_was_not_at_its_best_is_never_pinned(
    fleet: Path, tell: Tell, verdict: Verdict, findings: tuple[str, ...], says: str
) -> None:
    """Worse must not become normal; the file stays as it was."""
    tell(98765, verdict, findings)
    with pytest.raises(RefusedError, match=says):
        pinning.pin(desk("gpu1"), ())
    assert not (fleet / "baselines.yaml").exists()


@pytest.mark.parametrize(
    ("host", "gates", "says"),
    [
        ("gpu1", ("needle",), "gpu1: check r0 measured nothing of that"),
        ("gpu2", (), "gpu2: nothing was measured and passed yet"),
    ],
)
@pytest.mark.usefixtures("fleet")
def test_nothing_measured_is_nothing_to_pin(
    tell: Tell, host: str, gates: tuple[str, ...], says: str
) -> None:
    """It is one line, and what to do."""
    tell(98765)
    with pytest.raises(RefusedError, match=says):
        pinning.pin(desk(host), gates)


def test_a_misfit_is_an_error_at_its_line(fleet: Path) -> None:
    """As in every file of the fleet."""
    (fleet / "baselines.yaml").write_text(PINNED.replace("value: 7", "value: fast"))
    with pytest.raises(ConfigError, match=r"baselines\.yaml:5: .*wants a whole number"):
        _ = Fleet(fleet).baselines


def test_a_class_is_a_word(fleet: Path) -> None:
    """A slash would make it another role's."""
    (fleet / "inventory/hosts.yaml").write_text(HOSTS.replace("h200x2", "a/b"))
    found = Fleet(fleet)
    with pytest.raises(ConfigError, match="class wants a word"):
        render(found, load(found).select(("gpu1",))[0])
