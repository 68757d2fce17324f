"""A virtual environment somebody else made: checked by fingerprint, and not restorable."""

from typing import Optional

from headway.runner.machine import Machine
from headway.runner.resources import venv
from headway.runner.resources.error import ResourceError
from headway.wire.resources import FoundVenv


def diff(found: FoundVenv, machine: Machine) -> Optional[str]:
    """Say that it is missing or holds other packages than the release was made for."""
    lines = venv.listed(machine, found.path)
    if not lines:
        return f"{found.path} is missing or lists no packages"
    now = venv.fingerprint(lines)
    if now == found.fingerprint[: venv.SHORT]:
        return None
    return (
        f"{found.path} lists {len(lines)} packages with fingerprint {now}, "
        f"not {found.fingerprint[: venv.SHORT]}"
    )


def text_now(found: FoundVenv, machine: Machine) -> Optional[str]:
    """List what is installed, a line a package; None where there is none."""
    lines = venv.listed(machine, found.path)
    return "\n".join(lines) + "\n" if lines else None


def refusal(found: FoundVenv, machine: Machine) -> Optional[str]:
    """Say that headway cannot bring it about; None when it is as wanted."""
    wrong = diff(found, machine)
    return f"{wrong}: headway did not make it and cannot; put it right by hand" if wrong else None


def apply(found: FoundVenv, machine: Machine) -> None:
    """Raise ResourceError: nothing here knows how this environment was made."""
    raise ResourceError(refusal(found, machine) or f"{found.path} changed while it was looked at")
