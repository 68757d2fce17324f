"""A command on the operator's machine ends, one way or another, and says how."""

import os
from pathlib import Path

from headway.control.local import NOT_FOUND, NOT_RUNNABLE, run


def test_a_command_is_words_in_a_folder_with_input(tmp_path: Path) -> None:
    """No shell reads them."""
    ran = run(
        ["sh", "-c", "pwd; cat; echo $V >&2; exit 3"],
        cwd=tmp_path,
        stdin=b"in\n",
        env={
            "V": "$HOME",
            "PATH": os.environ["PATH"],
        },
    )

    assert (ran.code, ran.stdout, ran.stderr) == (3, f"{tmp_path}\nin\n".encode(), b"$HOME\n")


def test_a_command_that_does_not_end_is_ended() -> None:
    """With what it had said until then."""
    ran = run(["sh", "-c", "echo half; exec sleep 60"], deadline_s=1)

    assert (ran.code, ran.stdout) == (None, b"half\n")
    assert 900 < ran.took_ms < 20_000


def test_a_program_that_is_not_there_is_told_from_one_that_may_not_run(tmp_path: Path) -> None:
    """As a shell tells them apart."""
    (tmp_path / "data").write_text("no program")

    assert run(["hw-absent"]).code == NOT_FOUND
    assert run([str(tmp_path / "data")]).code == NOT_RUNNABLE
