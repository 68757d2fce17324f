"""What is asked of systemd, and what its answers mean."""

import pytest

from headway.runner import systemd
from tests.runner.resources.scripted import Scripted

UP = "ActiveState=active\nLoadState=loaded\n"
DOWN = "ActiveState=inactive\nLoadState=loaded\nResult=success\n"


def test_properties_are_read_by_name() -> None:
    """A value may hold =, a name may come twice (Listen=), and an absent one is empty."""
    run = Scripted({"systemctl show": (0, "Listen=a\nEnvironment=A=1 B=2\nListen=b\n", "")})

    seen = systemd.show(run, "web.socket", ["Listen", "Environment", "Result"])

    assert seen == {"Listen": "a\nb", "Environment": "A=1 B=2", "Result": ""}
    assert run.calls == [
        "systemctl show web.socket --no-pager --property=Listen,Environment,Result"
    ]


def test_a_failed_start_says_what_systemd_says() -> None:
    """The first line is the reason; the rest points to journalctl."""
    said = "Job for web.service failed because the control process exited.\nSee systemctl status"
    run = Scripted({"systemctl start": (1, "", said)})

    with pytest.raises(systemd.SystemdError, match=r"^web\.service did not start: Job for web"):
        systemd.start(run, "web.service", 5)


def test_a_skipped_start_is_no_start() -> None:
    """A unit whose condition is not met stays down, and systemctl ends with 0."""
    run = Scripted({"systemctl show": (0, "ConditionResult=no\n", "")})

    with pytest.raises(systemd.SystemdError, match="Condition"):
        systemd.start(run, "web.service", 5)


@pytest.mark.parametrize(
    ("before", "after", "how"),
    [
        (DOWN, DOWN, "was down"),
        ("ActiveState=failed\nLoadState=loaded\n", DOWN, "was down"),
        ("ActiveState=inactive\nLoadState=not-found\n", DOWN, "was down"),
        (UP, DOWN, "stopped"),
        (UP, "ActiveState=failed\nResult=timeout\n", "killed"),
        (UP, "ActiveState=failed\nResult=exit-code\n", "stopped"),
    ],
)
def test_a_stop_says_how_it_went(before: str, after: str, how: str) -> None:
    """Down is down, whatever it ended with; systemd's own stop timeout is a kill."""
    states = iter([before, after])
    run = Scripted({"systemctl show": lambda _argv: (0, next(states), "")})

    assert systemd.stop(run, "web.service", 5) == how


def test_a_unit_that_survives_sigkill_is_an_error() -> None:
    """A process in D state keeps its card: nothing may start over it."""
    run = Scripted({"systemctl show": (0, "ActiveState=deactivating\nResult=timeout\n", "")})

    with pytest.raises(systemd.SystemdError, match="still deactivating after SIGKILL"):
        systemd.stop(run, "web.service", 5)


def test_verify_goes_by_what_is_said_of_the_files() -> None:
    """systemd-analyze ends with 0 on a line it ignores, and complains of other units, too."""
    said = (
        "/x/web.service:8: Missing '=', ignoring line.\n"
        "/lib/systemd/system/other.service:3: Unknown key name 'Foo'\n"
    )
    run = Scripted({"systemd-analyze verify": (0, "", said)})

    found = systemd.verify(run, ["/x/web.service"])

    assert found == ["/x/web.service:8: Missing '=', ignoring line."]


def test_verify_that_fails_without_a_word_is_no_consent() -> None:
    """No complaint and an exit code is a complaint."""
    run = Scripted({"systemd-analyze verify": (1, "", "")})

    assert systemd.verify(run, ["/x/web.service"]) == ["systemd-analyze ended with code 1"]


def test_a_transient_unit_gets_its_words_as_they_are() -> None:
    """A $NAME in a command line would be replaced by systemd's own environment."""
    words = systemd.transient("x", ["sh", "-c", "echo $HOME"], {"Type": "notify"})

    assert words[-3:] == ["sh", "-c", "echo $$HOME"]
    assert "--property=Type=notify" in words


@pytest.mark.parametrize(
    ("said", "number"),
    [("systemd 247 (247.3-7+deb11u7)\n+PAM", 247), ("systemd 257 (257.9-1~deb13u1)", 257)],
)
def test_the_version_is_a_number(said: str, number: int) -> None:
    """Distributions add their own after it."""
    assert systemd.version(Scripted({"systemctl --version": (0, said, "")})) == number


def test_no_systemd_is_said_so() -> None:
    """A container without systemd cannot be a host."""
    run = Scripted({"systemctl --version": (127, "", "systemctl: No such file or directory")})

    with pytest.raises(systemd.SystemdError, match="no systemd"):
        systemd.version(run)


@pytest.mark.parametrize(
    ("said", "enabled"),
    [("enabled\n", True), ("enabled-runtime\n", False), ("static\n", False), ("masked\n", False)],
)
def test_enabled_means_at_every_boot(said: str, *, enabled: bool) -> None:
    """What is enabled until the next boot is not."""
    run = Scripted({"systemctl is-enabled": (0, said, "")})

    assert systemd.is_enabled(run, "web.service") is enabled
