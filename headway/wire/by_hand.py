"""The commands that ask about one launch again: systemd's of a unit, Docker's of a container."""

from typing import List

from headway.wire.gate import Subject
from headway.wire.resources import is_container


def container_of(subject: Subject) -> str:
    """Give the full id of the container that a launch is of."""
    return subject.id.partition("@")[0]


def supervisor_of(subject: Subject) -> str:
    """Name who starts it."""
    return "Docker" if is_container(subject.unit) else "systemd"


def restarts_of(subject: Subject) -> str:
    """Name the count of its restarts, as its supervisor does."""
    return "RestartCount" if is_container(subject.unit) else "NRestarts"


def status_argv(subject: Subject) -> List[str]:
    """Ask how it stands: state, restarts and which launch it is."""
    if is_container(subject.unit):
        asked = "{{json .State}} {{.RestartCount}}"
        return ["docker", "container", "inspect", "--format", asked, container_of(subject)[:12]]
    return ["systemctl", "show", "-p", "ActiveState,NRestarts,InvocationID", subject.unit]


def log_argv(subject: Subject) -> List[str]:
    """Read the lines of this launch alone, systemd's about it among them."""
    if is_container(subject.unit):
        since = subject.id.partition("@")[2]
        return ["docker", "logs", "--since", since, container_of(subject)[:12]]
    own, about = f"_SYSTEMD_INVOCATION_ID={subject.id}", f"INVOCATION_ID={subject.id}"
    return ["journalctl", "--all", own, "+", about]
