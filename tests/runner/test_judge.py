"""A gate is asked until it answers, and its answer is weighed by what became of the launch."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, cast

import pytest

from headway.runner import judge
from headway.runner.clock import Clock
from headway.runner.machine import Machine
from headway.wire.event import Waiting
from headway.wire.gate import Answered, Gate, Judgement, Report, Subject, Wait
from headway.wire.loader import Json
from headway.wire.release import Part, SubjectSpec
from headway.wire.tools import Tools
from headway.wire.verdict import Fate, Verdict
from tests.runner.resources.scripted import machine_at

PASS, FAIL, INVALID = Verdict.PASS, Verdict.FAIL, Verdict.INVALID
PART = Part("web", "service", subject=SubjectSpec("web.service"))
UP = (
    "ActiveState=active\nSubState=running\nInvocationID={}\nMainPID=9\nNRestarts=0\n"
    "ControlGroup=/system.slice/web.service\nExecMainStartTimestampMonotonic=5\n"
)
DEAD = (
    "ActiveState=failed\nSubState=failed\nInvocationID=aa\nNRestarts=0\nResult=exit-code\n"
    "ExecMainCode=1\nExecMainStatus=3\n"
)


class Slow(Clock):
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.ms = 1000

    def boot_ms(self) -> int:
        """Read it."""
        return self.ms

    def sleep(self, seconds: float) -> None:
        """Move on at once."""
        self.ms += int(seconds * 1000)


@dataclass(frozen=True)
class Params:
    """What the check of these tests takes."""

    port: int = 1


@dataclass
class Bench:
    """One gate on one host: systemd's states one after the other, the check's answers likewise."""

    machine: Machine
    clock: Slow
    told: list[Waiting]

    def ask(
        self,
        answers: Callable[[], Answered],
        gate: Gate | None = None,
        stop: Callable[[], bool] = lambda: False,
        between: bool = False,
        **extras: Any,
    ) -> Report:
        """Judge the gate with a check that gives these answers."""

        def asked(_params: Params, _subject: Subject | None, _tools: Tools) -> Answered:
            return answers()

        check = cast("ModuleType", SimpleNamespace(Params=Params, judge=asked, **extras))
        return judge.judge_gate(
            gate or Gate("g", "k", "web", deadline_s=60),
            check,
            self.machine,
            PART,
            lambda body: self.told.append(cast("Waiting", body)),
            self.clock,
            between=between,
            should_stop=stop,
        )


@pytest.fixture
def bench(tmp_path: Path) -> Callable[..., Bench]:
    """Give a host whose unit goes through these states; the last one stays."""

    def make(*states: str) -> Bench:
        left = list(states or [UP.format("aa")])

        def show(_argv: object) -> tuple[int, str, str]:
            return 0, left.pop(0) if len(left) > 1 else left[0], ""

        machine, _ = machine_at(tmp_path, {"systemctl show": show})
        return Bench(machine, Slow(), [])

    return make


def row(*answers: Answered) -> Callable[[], Answered]:
    """Answer these one after the other; the last one stays."""
    left: Iterator[Answered] = iter(answers)
    last = answers[-1]
    return lambda: next(left, last)


def said(verdict: Verdict) -> Judgement:
    """Answer at once."""
    return Judgement(verdict, ("seen",))


@pytest.mark.parametrize("verdict", list(Verdict))
def test_an_answer_of_a_launch_that_goes_on_stands(
    bench: Callable[..., Bench], verdict: Verdict
) -> None:
    """The report carries the launch before and after."""
    report = bench().ask(lambda: said(verdict))

    assert (report.verdict, report.fate) == (verdict, Fate.SAME)
    assert report.before is not None
    assert report.before == report.after


def test_a_wait_is_asked_again_and_told(bench: Callable[..., Bench]) -> None:
    """The reason is told when it changes, and every 15 s while it does not."""
    host = bench()

    report = host.ask(row(Wait("loading"), *[Wait("warming up")] * 40, said(PASS)))

    assert report.verdict is PASS
    reasons = [body.reason for body in host.told]
    assert reasons[0] == "loading"
    assert reasons.count("warming up") == 3
    assert 30_000 < report.took_ms < 45_000


@pytest.mark.parametrize("then", [FAIL, INVALID])
def test_silence_becomes_what_the_check_said_of_it(
    bench: Callable[..., Bench], then: Verdict
) -> None:
    """An expired start deadline is a FAIL, a gate's own time that is over judges nothing."""
    report = bench().ask(lambda: Wait("nobody listens", then))

    assert report.verdict is then
    assert report.evidence == ("after 60 s: nobody listens",)
    assert report.took_ms == 60_000


def test_a_launch_that_dies_ends_the_wait_at_once(bench: Callable[..., Bench]) -> None:
    """Nobody waits half an hour for an engine that ended after a second."""
    host = bench(UP.format("aa"), UP.format("aa"), DEAD)

    report = host.ask(lambda: Wait("loading", FAIL))

    assert (report.verdict, report.fate) == (FAIL, Fate.DIED)
    assert report.evidence[0] == "DIED: exit code 3"
    assert report.took_ms < 1000


@pytest.mark.parametrize(
    ("after", "fate", "verdict"),
    [(DEAD, Fate.DIED, FAIL), (UP.format("bb"), Fate.REPLACED, INVALID)],
)
def test_a_pass_does_not_outlive_its_launch(
    bench: Callable[..., Bench], after: str, fate: Fate, verdict: Verdict
) -> None:
    """It answered well, then died or was swapped while it was being asked."""
    report = bench(UP.format("aa"), after).ask(lambda: said(PASS))

    assert (report.verdict, report.fate) == (verdict, fate)
    assert "seen" in report.evidence


def test_a_unit_that_is_not_up_is_not_asked(bench: Callable[..., Bench]) -> None:
    """Somebody else's answer must not be taken for it."""

    def never() -> Answered:
        raise AssertionError("it was asked")

    report = bench(DEAD).ask(never)

    assert (report.verdict, report.fate) == (FAIL, Fate.DIED)
    assert "web.service is not running" in report.evidence


def test_a_gate_asked_before_does_not_need_the_unit(bench: Callable[..., Bench]) -> None:
    """Before the stop, the old unit may be dead: that is why a new one is rolled out."""
    report = bench(DEAD).ask(lambda: said(PASS), WHEN="before")

    assert (report.verdict, report.fate) == (PASS, Fate.SAME)


def test_a_gate_asked_between_needs_the_unit_down(bench: Callable[..., Bench]) -> None:
    """Between stop and start nothing of the part runs; in a check, a dead unit is not asked of."""
    down = bench(DEAD).ask(lambda: said(PASS), WHEN="between", between=True)
    later = bench(DEAD).ask(lambda: said(PASS), WHEN="between")

    assert (down.verdict, down.fate) == (PASS, Fate.SAME)
    assert (later.verdict, later.fate) == (FAIL, Fate.DIED)


def test_a_fail_is_tried_again_as_often_as_the_gate_says(bench: Callable[..., Bench]) -> None:
    """The third try passes; with one retry less it would not have been made."""
    twice = Gate("g", "k", "web", deadline_s=60, retries=2)
    once = Gate("g", "k", "web", deadline_s=60, retries=1)

    assert bench().ask(row(said(FAIL), said(FAIL), said(PASS)), twice).verdict is PASS
    assert bench().ask(row(said(FAIL), said(FAIL), said(PASS)), once).verdict is FAIL


def test_nothing_judged_is_not_tried_again(bench: Callable[..., Bench]) -> None:
    """What INVALID leads to is the transition's to say."""
    gate = Gate("g", "k", "web", deadline_s=60, retries=2)

    assert bench().ask(row(said(INVALID), said(PASS)), gate).verdict is INVALID


def test_tries_end_with_the_deadline(bench: Callable[..., Bench]) -> None:
    """All tries share one deadline."""
    gate = Gate("g", "k", "web", deadline_s=5, retries=1000)

    report = bench().ask(lambda: said(FAIL), gate)

    assert report.verdict is FAIL
    assert report.took_ms <= 7000


def test_a_check_that_breaks_judged_nothing(bench: Callable[..., Bench]) -> None:
    """An operator's own check may have a fault: that is not the release's."""

    def broken() -> Answered:
        raise KeyError("choices")

    report = bench().ask(broken)

    assert report.verdict is INVALID
    assert "KeyError: 'choices'" in report.evidence[0]


def test_a_wrong_parameter_judged_nothing(bench: Callable[..., Bench]) -> None:
    """It is found before, at rendering; a record of another version may still hold one."""
    gate = Gate("g", "k", "web", deadline_s=60, params={"prot": 1})

    report = bench().ask(lambda: said(PASS), gate)

    assert report.verdict is INVALID
    assert report.evidence == ("g/prot: unknown key; there are port",)


def test_an_abort_ends_the_wait(bench: Callable[..., Bench]) -> None:
    """A person does not wait for a deadline."""
    report = bench().ask(lambda: Wait("loading", FAIL), stop=lambda: True)

    assert report.verdict is INVALID
    assert "called off" in report.evidence[0]


def test_systemd_that_does_not_answer_judged_nothing(bench: Callable[..., Bench]) -> None:
    """The host has a problem, not the release."""
    host = bench()
    host.machine.run.table["systemctl show"] = (1, "", "Failed to connect to bus")  # type: ignore[attr-defined] # Scripted

    report = host.ask(lambda: said(PASS))

    assert report.verdict is INVALID
    assert "Failed to connect to bus" in report.evidence[0]


@pytest.mark.parametrize(
    ("own", "kinds", "load_ms", "seconds"),
    [
        (7, 30, 90_000, 7),
        (0, 30, 90_000, 30),
        (0, 0, 90_000, 270),
        (0, 0, 900, 60),
        (0, 0, 0, 1800),
    ],
)
def test_a_deadline_is_the_gates_the_kinds_or_three_loads(
    own: int, kinds: int, load_ms: int, seconds: int
) -> None:
    """A start may take 3 times the last accepted load here, 30 minutes where none is known."""
    extras = {"DEADLINE_S": kinds} if kinds else {}
    check = cast("ModuleType", SimpleNamespace(**extras))

    assert judge.deadline_s_of(Gate("g", "k", "web", deadline_s=own), check, load_ms) == seconds


@pytest.mark.parametrize(
    ("own", "params", "seconds"), [(0, {"length_s": 40}, 45), (7, {"length_s": 40}, 7), (0, {}, 60)]
)
def test_a_deadline_follows_from_the_parameters(
    own: int, params: dict[str, Json], seconds: int
) -> None:
    """A check whose length is a parameter knows how long that takes; bad parameters take none."""

    @dataclass(frozen=True)
    class Params:
        length_s: int

    def deadline_s(params: Params) -> int:
        return params.length_s + 5

    check = cast("ModuleType", SimpleNamespace(Params=Params, deadline_s=deadline_s))

    assert judge.deadline_s_of(Gate("g", "k", "web", deadline_s=own, params=params), check, 0) == (
        seconds
    )


def test_a_check_is_loaded_by_its_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing one, and a file that is none, say so in a sentence."""
    package = tmp_path / "headway_checks"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "fine.py").write_text("class Params: pass\ndef judge(): pass\n")
    (package / "empty.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "headway_checks", raising=False)

    assert judge.load_check("fine").Params
    with pytest.raises(judge.CheckError, match="no Params"):
        judge.load_check("empty")
    with pytest.raises(judge.CheckError, match="'vibes' cannot be loaded"):
        judge.load_check("vibes")


def test_a_gate_that_is_called_off_hears_of_it_and_judges_nothing(
    bench: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its tools say that the launch is no subject any more, and give no more time."""
    warm = SimpleNamespace(
        Params=Params, judge=lambda *_: Judgement(INVALID, ("31 °C",)), DURING=True
    )
    monkeypatch.setattr(judge, "load_check", lambda _kind: warm)
    one = bench(UP.format("aa"))
    seen: list[object] = []

    def measured(_params: Params, _subject: Subject | None, tools: Tools) -> Answered:
        while tools.fate()[0] is Fate.SAME:
            pass
        seen.extend([*tools.fate(), tools.left_s()])
        return Judgement(PASS, ("92 tok/s",))

    check = cast("ModuleType", SimpleNamespace(Params=Params, judge=measured))
    gate, air = Gate("decode", "decode", "web", deadline_s=9), Gate("air", "thermal", "web")
    report = judge.judge_gate(
        gate, check, one.machine, PART, lambda _body: None, one.clock, beside=(air,)
    )
    assert seen == [Fate.TAKEN, "called off by gate air: 31 °C", 1]
    assert (report.verdict, report.fate) == (INVALID, Fate.SAME)
    assert report.evidence == ("called off by gate air: 31 °C", "92 tok/s")
