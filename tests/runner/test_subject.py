"""Who is judged, and what became of a launch."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from headway.runner import subject
from headway.wire.gate import Subject
from headway.wire.verdict import Fate
from tests.runner.resources.scripted import Scripted

FATES: list[dict[str, Any]] = yaml.safe_load(
    (Path(__file__).parents[1] / "cases/runner/fates.yaml").read_text()
)


def host(case: dict[str, Any], **changes: str) -> Scripted:
    """Answer as systemd and the journal did when the case was recorded."""
    rows = [line for line in case["show"] if line.partition("=")[0] not in changes]
    show = "\n".join([*rows, *(f"{name}={value}" for name, value in changes.items())])
    entries = "\n".join(json.dumps(entry) for entry in case["journal"])
    return Scripted({"systemctl show": (0, show, ""), "journalctl --quiet": (0, entries, "")})


def launch(case: dict[str, Any]) -> Subject:
    """Make the launch that the case is about."""
    return Subject(case["unit"], case["before"], 1, subject.boot_id(), 9, "/x", 0)


@pytest.mark.parametrize("case", FATES, ids=lambda case: case["says"])
def test_the_end_of_a_launch_is_told_from_a_stop(case: dict[str, Any]) -> None:
    """Twelve ways to end on a real systemd; results and exit codes alone would mislead."""
    fate, after, how = subject.fate(launch(case), host(case))

    assert (fate.value, how) == (case["fate"], case["how"])
    assert (after is None) == (fate is not Fate.REPLACED)


RUNNING = {
    "show": [
        "ActiveState=active",
        "SubState=running",
        "InvocationID=aa",
        "MainPID=12",
        "NRestarts=0",
        "ControlGroup=/system.slice/web.service",
        "ExecMainStartTimestampMonotonic=77",
    ],
    "journal": [],
    "unit": "web.service",
    "before": "aa",
}


def test_a_launch_that_goes_on_is_the_same() -> None:
    """The journal is not even asked."""
    run = host(RUNNING)

    fate, after, _ = subject.fate(launch(RUNNING), run)

    assert fate is Fate.SAME
    assert after == Subject(
        "web.service", "aa", 77, subject.boot_id(), 12, "/system.slice/web.service", 0
    )
    assert len(run.calls) == 1


@pytest.mark.parametrize(
    ("changes", "fate"),
    [
        ({"NRestarts": "1"}, Fate.DIED),
        ({"InvocationID": "bb"}, Fate.REPLACED),
        ({"InvocationID": "bb", "NRestarts": "1"}, Fate.DIED),
    ],
)
def test_a_restart_is_no_sameness(changes: dict[str, str], fate: Fate) -> None:
    """Its own restart by systemd says that it died; another launch, that it was swapped."""
    assert subject.fate(launch(RUNNING), host(RUNNING, **changes))[0] is fate


@pytest.mark.parametrize("state", ["auto-restart", "auto-restart-queued"])
def test_waiting_for_a_restart_is_not_being_up(state: str) -> None:
    """A crash loop is `activating` most of the time."""
    run = host(RUNNING, ActiveState="activating", SubState=state)

    assert subject.current(run, "web.service") is None
    assert subject.fate(launch(RUNNING), run)[0] is Fate.DIED


def test_nothing_survives_a_boot() -> None:
    """A launch of another boot was taken away by the reboot."""
    before = replace(launch(RUNNING), boot_id="another")

    assert subject.fate(before, host(RUNNING))[0] is Fate.TAKEN


def test_no_trace_is_no_proof_of_death() -> None:
    """Unloaded and no journal: nothing was judged."""
    gone = {**FATES[0], "journal": []}

    assert subject.fate(launch(gone), host(gone))[0] is Fate.TAKEN


@pytest.mark.parametrize(
    ("changes", "how"),
    [
        ({"Result": "oom-kill"}, "OOM kill"),
        ({"Result": "exit-code", "ExecMainCode": "1", "ExecMainStatus": "1"}, "exit code 1"),
        ({"Result": "exit-code", "ExecMainCode": "1", "ExecMainStatus": "203"}, "203 (EXEC)"),
        ({"Result": "signal", "ExecMainCode": "2", "ExecMainStatus": "9"}, "signal SIGKILL"),
        (
            {"Result": "core-dump", "ExecMainCode": "3", "ExecMainStatus": "4"},
            "SIGILL, core dumped",
        ),
        (
            {"Result": "success", "ExecMainCode": "1", "ExecMainStatus": "0"},
            "exit code 0, by itself",
        ),
    ],
)
def test_how_it_ended_is_worded(changes: dict[str, str], how: str) -> None:
    """People read the end of a launch before anything else."""
    run = host(RUNNING, ActiveState="failed", SubState="failed", **changes)

    fate, _, said = subject.fate(launch(RUNNING), run)

    assert fate is Fate.DIED
    assert how in said


def test_an_absent_launch_is_found_in_the_journal() -> None:
    """A unit that ended cleanly is unloaded: only the journal knows its last launch."""
    fate, dead, how = subject.absent("a.service", host(FATES[0]))

    assert fate is Fate.DIED
    assert dead is not None
    assert dead.id == FATES[0]["before"]
    assert "by itself" in how


def test_a_unit_that_never_ran_was_not_judged() -> None:
    """No launch, no verdict."""
    never = {**FATES[0], "journal": []}

    assert subject.absent("a.service", host(never))[:2] == (Fate.TAKEN, None)
