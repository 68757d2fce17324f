"""The one command that starts a runner is read alike by every login shell."""

import bz2
import hashlib
import io
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from headway.control.reaching.bootstrap import Bare, bare, delivery, serve_argv, unfit
from headway.control.reaching.ssh import quoted

COMMAND = " ".join(quoted(word) for word in serve_argv("0" * 64))
SHELLS = ("sh", "bash", "dash", "zsh", "ksh", "csh", "tcsh", "fish")


@pytest.mark.parametrize("shell", [shell for shell in SHELLS if shutil.which(shell)])
def test_a_host_without_the_runner_says_what_it_has(shell: str) -> None:
    """Whatever the login shell is, the first line names uid, systemd and Python."""
    ran = subprocess.run([shell, "-c", COMMAND], input=b"", capture_output=True, check=False)
    words = ran.stdout.decode().removeprefix("headway-runner-absent ")
    assert re.fullmatch(r"uid=\d+ systemd=(yes|no) python=3\.\d+\n", words)
    assert bare(words).python.startswith("3.")


def test_it_fits_the_narrowest_shell() -> None:
    """What csh and fish treat differently between single quotes does not occur; 1024 is a word."""
    assert len(COMMAND) < 1000
    assert len(" ".join(serve_argv("0" * 64, cards=True, spare=True))) < 1000
    inner = COMMAND.split("'")
    assert len(inner) == 3
    assert not set(inner[1]) & set("'\\!\n")


@pytest.mark.parametrize(("cards", "words"), [(False, "serve;"), (True, "serve cards;")])
def test_a_runner_that_is_there_hears_whether_cards_will_be_asked_for(
    cards: bool, words: str
) -> None:
    """The word was made and left out of the command once: facts took a third longer for it."""
    [script] = serve_argv("0" * 64, cards=cards)[2:]
    start, _, _ = script.partition("echo ")
    assert start.endswith(f"exec python3 -I -S $P/__main__.py {words} done; ")


def test_the_receiver_is_small() -> None:
    """What a host must take on trust before it can check a hash is under 1.5 kB."""
    assert len(delivery(b"")) < 1500


def test_where_the_disk_takes_no_runner_the_second_place_does(tmp_path: Path) -> None:
    """For what only looks: the first place refuses, and why is not told; one place alone tells."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as made:
        made.writestr("__main__.py", "import sys; print(sys.argv)")
    (tmp_path / "full").touch()
    full, memory = tmp_path / "full/runner/x", tmp_path / "memory/runner/x"
    receiver = delivery(bz2.compress(archive.getvalue()))
    length = str(len(delivery(b"")) - len(f"0 {hashlib.sha256(b'').hexdigest()}\n"))
    take = "import sys;exec(sys.stdin.buffer.read(int(sys.argv[1])))"

    def put(*places: Path) -> subprocess.CompletedProcess[bytes]:
        argv = [sys.executable, "-I", "-S", "-c", take, length, *map(str, places)]
        return subprocess.run(argv, input=receiver, capture_output=True, check=False)

    assert b"'serve'" in put(full, memory).stdout
    assert (memory / "__main__.py").exists()
    assert b"the runner cannot be put to" in put(full).stderr


def test_a_word_no_shell_reads_alike_is_refused() -> None:
    """A quote, a backslash, an exclamation mark or a newline is never sent."""
    for word in ("it's", "a\\b", "wow!", "two\nlines"):
        with pytest.raises(ValueError, match="cannot be quoted"):
            quoted(word)
    assert quoted("") == "''"
    assert quoted("a b $HOME") == "'a b $HOME'"


@pytest.mark.parametrize(
    ("host", "sentence"),
    [
        (Bare(0, systemd=True, python="3.9"), None),
        (Bare(0, systemd=True, python="3.13"), None),
        (Bare(0, systemd=True, python="3.8"), "is Python 3.8"),
        (Bare(0, systemd=True, python="2.7"), "is Python 2.7"),
        (Bare(1000, systemd=True, python="3.11"), "uid 1000"),
        (Bare(0, systemd=False, python="3.11"), "systemd is not running"),
        (Bare(0, systemd=True, python="sh: 1: python3: not found"), "does not run"),
        (Bare(0, systemd=True, python="ModuleNotFoundError: No module named 'json'"), "incomplete"),
    ],
)
def test_what_keeps_a_runner_from_living_there(host: Bare, sentence: str | None) -> None:
    """Root, systemd and a whole Python of 3.9 or newer; everything else is one sentence."""
    problem = unfit(host)
    assert (problem is None) is (sentence is None)
    if problem is not None and sentence is not None:
        assert sentence in problem[0]
        assert problem[1]


def test_words_that_are_something_else_are_not_read() -> None:
    """A shell that prints the mark by itself has not answered."""
    with pytest.raises(ValueError, match="hello"):
        bare("hello")
