import inspect
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from invoke.exceptions import Exit as InvokeExit

from headway.control import verbs, words
from headway.control.desk import Desk
from headway.control.ending import ended
from headway.control.errors import ConfigError, HeadwayError, RefusedError
from headway.control.words import HELP
from headway.wire.phase import Exit

ROOT = Path(__file__).parents[2]
HEADWAY = [sys.executable, "-c", "from headway.control.program import main; main()"]
HEAVY = ("paramiko", "fabric", "rich", "jinja2", "sqlite3", "headway.control.yaml_nodes")
NAMES = (
    *("rollout", "rollback", "plan", "status", "history", "adopt", "check", "facts", "restart"),
    *("hold", "park", "unpark", "resume", "accept", "abort", "lint", "inventory", "evict"),
    *("baseline", "sweep", "pin", "prune", "diagnose"),
    *("show", "diff", "logs", "trend"),
    *("report", "page", "completion"),
)
ACTING = (
    *("rollout", "rollback", "restart", "sweep", "evict", "adopt", "park", "unpark"),
    *("hold", "resume", "accept", "abort", "check", "pin", "prune", "logs"),
)


def _headway(*argv: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [*HEADWAY, *argv], cwd=cwd, env=env, capture_output=True, text=True, check=False, timeout=30
    )


def test_these_are_the_verbs() -> None:
    """The namespace holds what docs/verbs.md lists, and nothing else."""
    assert set(verbs.namespace.task_names) == set(NAMES)
    text = (ROOT / "docs" / "verbs.md").read_text()
    assert [name for name in NAMES if f"`{name}`" not in text] == []


def test_the_list_of_verbs_is_quick() -> None:
    """`invoke --list` is asked for by completion at every tab: 0.3 s of one core, whole process."""
    took = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        listed = _headway("--list")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        took.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        assert listed.returncode == 0
        assert "rollout" in listed.stdout
    assert min(took) < 0.3


def test_importing_the_verbs_loads_nothing_heavy() -> None:
    """What a verb does not need, it does not wait for (yaml comes with Invoke itself)."""
    code = f"import sys, headway.control.verbs; print([n for n in {HEAVY!r} if n in sys.modules])"
    loaded = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert loaded.stdout.strip() == "[]"


@pytest.mark.parametrize("name", NAMES)
def test_every_verb_has_a_promise_and_an_example(name: str) -> None:
    """`invoke VERB --help` says in a line what it does, and shows one to copy."""
    doc = inspect.getdoc(verbs.namespace[name]) or ""
    first, *rest = doc.splitlines()
    assert first.endswith(".")
    assert len(first) <= 66
    assert f"invoke {name}" in "\n".join(rest)


def test_every_option_is_explained_once_and_none_too_many() -> None:
    """Help texts stand in one table; an option without one cannot be declared."""
    used = {
        argument.attr_name or argument.name
        for name in NAMES
        for argument in verbs.namespace[name].get_arguments()
    }
    assert used == set(HELP)


@pytest.mark.parametrize("name", ACTING)
def test_a_verb_that_acts_on_hosts_refuses_to_guess_which(name: str, tmp_path: Path) -> None:
    """No --host is exit 2 with what to type; nothing was started anywhere."""
    done = _headway(name, cwd=tmp_path)
    assert done.returncode == Exit.USAGE
    assert done.stderr.splitlines() == [
        f"headway: {name}: no host is named",
        f"         say which: invoke {name} --host NAME, a group, or all",
    ]
    assert done.stdout == ""


@pytest.mark.parametrize("name", NAMES)
def test_help_is_given_on_every_verb(name: str) -> None:
    """`VERB --help` shows the promise, the example and each option, words by place included."""
    done = _headway(name, "--help")
    assert done.returncode == 0, done.stderr
    assert f"invoke {name}" in done.stdout
    arguments = verbs.namespace[name].get_arguments()
    assert [one for one in arguments if one.names[0] not in done.stdout] == []


@pytest.mark.parametrize(
    "argv", [("rollout", "--nope"), ("rolout",), ("--nope",), ("rollout", "--host")]
)
def test_words_that_do_not_fit_are_exit_2(argv: tuple[str, ...], tmp_path: Path) -> None:
    """Invoke's own code for them is 1, which is ours for a host that went back."""
    done = _headway(*argv, cwd=tmp_path)
    assert done.returncode == Exit.USAGE
    assert done.stderr.startswith("headway: ")


@pytest.mark.parametrize("value", ["-1", "half", "1.5", "٣", " "])
def test_a_number_that_does_not_fit_names_its_option(value: str) -> None:
    """Invoke would end in a traceback; we say which option and what was given."""
    with pytest.raises(HeadwayError, match=f"--wait: '{value}' is not a whole number"):
        words.whole("wait", value)


def test_a_word_that_does_not_fit_names_the_choices() -> None:
    """A mistyped policy must not fall back to a default in silence."""
    with pytest.raises(HeadwayError, match="--on-invalid: 'hodl' is not one of hold, return"):
        words.one_of("on_invalid", "hodl", ("hold", "return"))


def _leave(verb: object) -> Desk:
    desk = Desk(verb="rollout")
    assert callable(verb)
    ended(desk, verb)
    return desk


def _raising(error: BaseException) -> object:
    def verb() -> Exit:
        raise error

    return verb


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (ConfigError("a.yaml:3", "no such role", hint="write one"), 2, "a.yaml:3: no such role"),
        (RefusedError("gpu1: locked out", hint="write one"), 8, "gpu1: locked out"),
    ],
)
def test_an_error_is_one_line_a_hint_and_its_own_exit_code(
    error: HeadwayError, code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The message says where and what; the hint stands on a line of its own."""
    with pytest.raises(InvokeExit) as left:
        _leave(_raising(error))
    assert left.value.code == code
    assert capsys.readouterr().err == f"headway: {said}\n         write one\n"


def test_a_fault_of_ours_keeps_its_traceback_in_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nobody is shown a traceback at night; it lies where the line says, for the owner only."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(InvokeExit) as left:
        _leave(_raising(ZeroDivisionError("by zero\nand more")))
    said = capsys.readouterr().err.splitlines()
    (kept,) = (tmp_path / "headway").iterdir()
    assert left.value.code == Exit.USAGE
    assert said[0] == "headway: rollout: a fault in headway itself: ZeroDivisionError: by zero"
    assert said[1] == f"         the traceback is in {kept}"
    assert "ZeroDivisionError" in kept.read_text()
    assert kept.stat().st_mode & 0o777 == 0o600


def test_a_fault_after_a_host_had_begun_is_an_unknown_outcome(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The host goes on by itself: that is 6, and the line says how to look."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    desk = Desk(verb="rollout")
    desk.began = True
    verb = _raising(ZeroDivisionError("by zero"))
    assert callable(verb)
    with pytest.raises(InvokeExit) as left:
        ended(desk, verb)
    assert left.value.code == Exit.UNKNOWN
    assert "invoke status" in capsys.readouterr().err


def test_ctrl_c_while_nothing_is_in_hand_is_not_went_back(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Invoke's own code for an interrupt is 1, which is ours for a host that went back."""
    with pytest.raises(InvokeExit) as left:
        _leave(_raising(KeyboardInterrupt()))
    assert left.value.code == Exit.USAGE
    assert capsys.readouterr().err == "headway: rollout: interrupted\n"


@pytest.mark.parametrize("named", ["4242", "4242:", ":7", "vllm", "4242:7:1", "٤:٤"])
def test_a_process_to_be_ended_is_named_by_pid_and_start_time(named: str) -> None:
    """Nothing shorter reaches a host."""
    with pytest.raises(HeadwayError, match="PID:STARTTIME"):
        words.processes(Desk(verb="evict"), (named,))
