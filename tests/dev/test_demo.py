"""The demo's fleet and its edits, as far as no host is needed: the lab test does the rest."""

from pathlib import Path

import pytest

from dev.demo import CUT, ENGINES, FLEET, STEPS, Step
from dev.terminal import Edit, Terminal
from headway.control.fleet import Fleet
from headway.control.inventory.inventory import load
from headway.control.lint import lint
from tests.lab.command import LabError


@pytest.fixture
def terminal(tmp_path: Path) -> Terminal:
    """Give a terminal that reaches no host."""
    (tmp_path / "ssh_config").touch()
    return Terminal(tmp_path, FLEET, tmp_path / "ssh_config")


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.title)
def test_lint_finds_the_cut_and_nothing_else(terminal: Terminal, step: Step) -> None:
    """Every edit fits the fleet, and only the step that says so has something to find."""
    difference = terminal.edit(step.edits)
    fleet = Fleet(terminal.fleet)
    found = lint(fleet, load(fleet).select(("all",)))
    assert [one.rule for one in found] == (["cut-by-comment"] if step is CUT else [])
    assert bool(difference) == bool(step.edits)


def test_an_edit_that_no_longer_fits_is_one_line(terminal: Terminal) -> None:
    """The fleet is also there to be read and changed: the demo must not go on with half an edit."""
    with pytest.raises(LabError, match=rf"{ENGINES}: 'gone' should stand there once"):
        terminal.edit([Edit(ENGINES, "gone", "here")])


def test_a_command_finds_this_headway_and_nobody_s_settings(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """HEADWAY_INVENTORY of whoever runs the demo would send it to their own fleet."""
    monkeypatch.setenv("HEADWAY_INVENTORY", "theirs")
    done = terminal.type("sh -c 'echo $HEADWAY_INVENTORY $HOME; exit 3'", quiet=True)
    assert (done.returncode, done.stdout) == (3, f"{terminal.fleet.parent}/home\n")
