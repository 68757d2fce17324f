"""What Tab offers: verbs, options, and the names of this fleet."""

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from headway.control import completion
from headway.control.completion import OF_OPTION, OF_PLACE, SCRIPTS, candidates
from headway.control.words import HELP

ROOT = Path(__file__).parents[2]
VERBS = {
    "show": {"--host": True, "--json": False, "--release": True},
    "status": {"--host": True, "--within": True, "--json": False},
}
NAMES = {
    "hosts": ("gpu1", "gpu2", "engines"),
    "releases_or_hosts": ("gpu1", "3f9a12c04b7e"),
}


def _names(kind: str) -> Iterable[str]:
    return NAMES[kind]


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("invoke", ["show", "status"]),
        ("invoke st", ["status"]),
        ("invoke status ", ["--host", "--json", "--within"]),
        ("invoke status --h", ["--host"]),
        ("invoke status --host ", ["gpu1", "gpu2", "engines"]),
        ("headway status --host g", ["gpu1", "gpu2"]),
        ("invoke status --host=g", ["gpu1", "gpu2"]),
        ("invoke status --host gpu1,", ["gpu1,gpu1", "gpu1,gpu2", "gpu1,engines"]),
        ("invoke status --host 'engines:!g", ["engines:!gpu1", "engines:!gpu2"]),
        ("invoke status --host gpu1 --json --w", ["--within"]),
        ("invoke status --within ", []),
        ("invoke show ", ["gpu1", "3f9a12c04b7e"]),
        ("invoke show 3f", ["3f9a12c04b7e"]),
        ("invoke nothing x", []),
    ],
)
def test_the_end_of_a_line_is_completed(line: str, offered: list[str]) -> None:
    """Whatever may stand there, and nothing else."""
    assert candidates(line, VERBS, _names) == offered


def test_the_tables_name_real_options_verbs_and_kinds() -> None:
    """An option that is renamed must not lose its completion in silence."""
    options = {"--" + name.replace("_", "-") for name in HELP}
    assert set(OF_OPTION) <= options
    assert {*OF_OPTION.values(), *OF_PLACE.values()} == set(completion._KINDS)
    assert set(OF_PLACE) <= set(completion._options())


HOSTS = """\
all:
  children:
    engines:
      hosts: {gpu1: , gpu2: }
  vars:
    roles: [{role: service, name: web, program: /bin/x}]
"""


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    """A fleet of two hosts, in a folder."""
    (tmp_path / "inventory").mkdir()
    (tmp_path / "inventory/hosts.yaml").write_text(HOSTS)
    program = tmp_path / "bin/headway"
    program.parent.mkdir()
    code = "from headway.control.program import main; main()"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{code}" "$@"\n')
    program.chmod(0o755)
    return tmp_path


def _env(fleet: Path) -> dict[str, str]:
    path = f"{fleet / 'bin'}:{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "XDG_STATE_HOME": str(fleet)}


PRESS = """\
eval "$(headway completion --shell bash)"
COMP_LINE={line!r} COMP_POINT=${{#COMP_LINE}}
COMP_WORDS=({line}{blank}) COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))
_headway
echo "${{COMPREPLY[@]}}"
"""


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("headway status --host g", "gpu1 gpu2"),
        ("headway check --gate need", "needle"),
        ("headway status --host gpu1,g", "gpu1,gpu1 gpu1,gpu2"),
        ("headway restart --part ", "web"),
        ("headway histo", "history"),
    ],
)
def test_bash_completes_with_the_script(fleet: Path, line: str, offered: str) -> None:
    """The script is bash's own kind, and what it is given comes from the fleet's files."""
    blank = " ''" if line.endswith(" ") else ""
    pressed = PRESS.format(line=line, blank=blank)
    done = subprocess.run(
        ["bash", "-c", pressed],
        cwd=fleet,
        env=_env(fleet),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == offered.split(), done.stderr


def test_bash_cuts_words_at_colons_and_is_given_what_it_wants(fleet: Path) -> None:
    """`--host engines:!g` is three words to bash; the last one is completed, and no more."""
    pressed = PRESS.replace(
        "COMP_WORDS=({line}{blank})", "COMP_WORDS=(headway status --host a : g)"
    )
    done = subprocess.run(
        ["bash", "-c", pressed.format(line="headway status --host a:g")],
        cwd=fleet,
        env=_env(fleet),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["gpu1", "gpu2"]


def test_a_folder_without_a_fleet_has_no_names_and_no_complaint(tmp_path: Path) -> None:
    """Tab is pressed anywhere."""
    done = subprocess.run(
        [
            *(sys.executable, "-c", "from headway.control.program import main; main()"),
            *("completion", "--line", "headway status --host g"),
        ],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "", "")


def test_scripts_serve_headway_and_invoke() -> None:
    """One line in a shell's own file is all that is asked for."""
    for script in SCRIPTS.values():
        assert script.count("%s") == 1
        assert "_headway" in script
