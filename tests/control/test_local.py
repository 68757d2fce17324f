"""A command on the operator's machine ends, one way or another, and says how."""

import os
from pathlib import Path

import pytest

from headway.control.errors import LostError, UnreachableError
from headway.control.local import NOT_FOUND, NOT_RUNNABLE, Here, run
from headway.control.reaching.command import ran


def test_a_command_is_words_in_a_folder_with_input(tmp_path: Path) -> None:
    """No shell reads them."""
    done = run(
        ["sh", "-c", "pwd; cat; echo $V >&2; exit 3"],
        cwd=tmp_path,
        stdin=b"in\n",
        env={
            "V": "$HOME",
            "PATH": os.environ["PATH"],
        },
    )

    assert (done.code, done.stdout, done.stderr) == (3, f"{tmp_path}\nin\n".encode(), b"$HOME\n")


def test_a_command_that_does_not_end_is_ended() -> None:
    """With what it had said until then."""
    done = run(["sh", "-c", "echo half; exec sleep 60"], deadline_s=1)

    assert (done.code, done.stdout) == (None, b"half\n")
    assert 900 < done.took_ms < 20_000


def test_a_program_that_is_not_there_is_told_from_one_that_may_not_run(tmp_path: Path) -> None:
    """As a shell tells them apart."""
    (tmp_path / "data").write_text("no program")

    assert run(["hw-absent"]).code == NOT_FOUND
    assert run([str(tmp_path / "data")]).code == NOT_RUNNABLE


def test_this_machine_is_a_transport_as_a_host_is() -> None:
    """Programs run here, bytes and exit codes as they are; one that is not there is one line."""
    words = "import sys; sys.stdout.buffer.write(sys.stdin.buffer.read()); sys.exit(3)"
    stream = Here().converse(["python3", "-c", words])
    stream.send(b"x" * 300_000)
    stream.finish()
    heard, got = b"", stream.receive(5)
    while not got.ended:
        heard += got.stdout
        got = stream.receive(5)
    stream.close()
    assert (heard, got.status) == (b"x" * 300_000, 3)
    with pytest.raises(UnreachableError, match="gone-for-good on this machine: no such file"):
        Here().converse(["gone-for-good"])
    assert ran(Here(), ["sleep", "10"], 0.2).code is None


def test_a_program_that_reads_no_more_is_a_lost_stream() -> None:
    """As at the other end of a connection that is gone."""
    stream = Here().converse(["true"])
    while not stream.receive(5).ended:
        pass
    with pytest.raises(LostError, match="reads no more"):
        stream.send(b"x" * 100_000)
    stream.close()
