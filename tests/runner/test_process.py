"""Commands end when they should, whole, and say what they said."""

import time
from pathlib import Path

import pytest

from headway.runner.process import OUTPUT_LIMIT, Companion, ProcessError, Processes, lines

run = Processes()


def gone(marker: Path) -> bool:
    """Tell whether the process whose number the marker holds ends within a second."""
    stat = Path(f"/proc/{marker.read_text().strip()}/stat")
    until = time.monotonic() + 1
    while time.monotonic() < until:
        if not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z":
            return True
        time.sleep(0.01)
    return False


def test_a_command_is_fed_and_heard() -> None:
    """More than a pipe holds goes in and comes out, and the code is its own."""
    ran = run(["sh", "-c", "cat; echo no >&2; exit 3"], stdin=b"x" * 300_000)

    assert (ran.code, len(ran.stdout), ran.stderr) == (3, 300_000, b"no\n")


def test_a_command_that_does_not_listen_is_no_error() -> None:
    """A broken pipe is the command's choice."""
    assert run(["true"], stdin=b"x" * 300_000).code == 0


@pytest.mark.parametrize(("program", "code"), [("no-such-program", 127), ("/etc/passwd", 126)])
def test_what_cannot_be_started_answers_as_from_a_shell(program: str, code: int) -> None:
    """One thing to judge: the code."""
    ran = run([program])

    assert ran.code == code
    assert ran.stderr.startswith(program.encode())


def test_the_environment_is_added_to() -> None:
    """PATH stays, and the language is the one that parsers know."""
    ran = run(["sh", "-c", "echo $A $LC_ALL ${PATH:+path}"], env={"A": "1"})

    assert ran.stdout == b"1 C.UTF-8 path\n"


def test_a_late_command_is_killed_with_its_children(tmp_path: Path) -> None:
    """Its group goes at the deadline; code None says so, and what it said so far is kept."""
    marker = tmp_path / "child"

    ran = run(["sh", "-c", f"sleep 30 & echo $! > {marker}; echo so far; wait"], deadline_s=1)

    assert (ran.code, ran.stdout) == (None, b"so far\n")
    assert gone(marker)


def test_children_left_behind_do_not_outlive_their_command(tmp_path: Path) -> None:
    """A child that holds the pipe does not hold us, and the command's own code counts."""
    marker = tmp_path / "child"

    ran = run(["sh", "-c", f"sleep 30 & echo $! > {marker}; exit 4"], deadline_s=1)

    assert ran.code == 4
    assert gone(marker)


def test_a_command_that_closes_its_output_is_still_waited_for() -> None:
    """The end of its output is not its end."""
    began = time.monotonic()

    ran = run(["sh", "-c", "exec >&- 2>&-; sleep 0.3; exit 5"])

    assert ran.code == 5
    assert time.monotonic() - began > 0.25


def test_a_flood_is_read_and_dropped_past_the_limit() -> None:
    """A command must not fill the runner's memory: the runner is what the OOM killer spares."""
    ran = run(["head", "-c", str(OUTPUT_LIMIT + 5_000_000), "/dev/zero"])

    assert (ran.code, len(ran.stdout)) == (0, OUTPUT_LIMIT)


def test_lines_come_one_by_one() -> None:
    """Nothing waits for the end: the first line of an endless output is there."""
    endless = lines(["yes"])

    assert next(endless) == b"y\n"
    endless.close()  # type: ignore[attr-defined] # a generator


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["sh", "-c", "echo x; echo why >&2; exit 2"], "ended with code 2: why"),
        (["no-such-program"], "No such file"),
        (["sh", "-c", "echo x; sleep 30"], "not done after 1 s"),
    ],
)
def test_lines_of_a_command_that_fails_end_with_an_error(argv: list[str], said: str) -> None:
    """A short output must not pass for a whole one."""
    with pytest.raises(ProcessError, match=said):
        list(lines(argv, 1))


def echo() -> Companion:
    """Return a command that repeats each line and ends at `bye`, with a word on stderr."""
    script = 'while read a; do [ "$a" = bye ] && { echo over >&2; exit 3; }; echo "$a"; done'
    return Companion(["sh", "-c", script])


def test_a_companion_answers_line_by_line() -> None:
    """Two lines that come as one read are still two answers."""
    companion = echo()
    companion.say(b"one\ntwo\n")
    until = time.monotonic() + 5
    assert (companion.hear(until), companion.hear(until)) == (b"one", b"two")
    assert companion.hear(time.monotonic() + 0.05) is None
    assert companion.end()
    assert companion.gone()


def test_a_companion_that_ends_says_why() -> None:
    """Its last words on stderr are all we have."""
    companion = echo()
    companion.say(b"bye\n")
    with pytest.raises(ProcessError, match="sh ended: over"):
        companion.hear(time.monotonic() + 5)
    until = time.monotonic() + 5
    while not companion.gone():
        assert time.monotonic() < until
    with pytest.raises(ProcessError, match="sh ended: over"):
        companion.say(b"again\n")
    companion.end()


def test_a_companion_that_cannot_be_started_is_an_error_at_once() -> None:
    """Nothing is left open."""
    with pytest.raises(ProcessError, match="no-such-program: No such file or directory"):
        Companion(["no-such-program"])
