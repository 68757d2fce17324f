"""What headway asks of systemd, versions 247 to 257: argv built here, run through `run`.

`systemctl start` is waited for: with --no-block a failed start would look like a good one.
"""

import os
from typing import Dict, List, Mapping, Sequence, Tuple

from headway.runner.supervisor_error import SupervisorError
from headway.wire.tools import Ran, Run

KILLED = "killed"
_KILLED_S = 15  # for a unit to be gone once all of its cgroup got SIGKILL
DOWN = ("inactive", "failed")


class SystemdError(SupervisorError):
    """systemd did not do what it was asked: one sentence that names the unit and the reason."""


def show(run: Run, unit: str, names: Sequence[str]) -> Dict[str, str]:
    """Read properties of a unit; every name asked for has a value, "" where systemd has none."""
    ran = run(["systemctl", "show", unit, "--no-pager", "--property=" + ",".join(names)])
    _check(ran, f"{unit} cannot be looked at")
    return _properties(ran.stdout, names)


def daemon_reload(run: Run) -> None:
    """Make systemd read its unit files again."""
    _check(run(["systemctl", "daemon-reload"], deadline_s=120), "daemon-reload failed")


def start(run: Run, unit: str, deadline_s: int) -> None:
    """Start a unit and wait until systemd calls it started; a skipped start is an error too."""
    ran = run(["systemctl", "start", unit], deadline_s=deadline_s)
    if ran.code is None:
        raise SystemdError(f"{unit} was not started within {deadline_s} s")
    _check(ran, f"{unit} did not start")
    if show(run, unit, ["ConditionResult"])["ConditionResult"] == "no":
        raise SystemdError(f"{unit} was not started: a Condition...= of it is not met")


def stop(run: Run, unit: str, deadline_s: int) -> str:
    """Stop a unit, by SIGKILL to all of its cgroup after the deadline, and see that it is down.

    Says how it ended: "stopped", "killed" (systemd's own stop timeout counts) or "was down".
    """
    before = show(run, unit, ["ActiveState", "LoadState"])
    if before["LoadState"] == "not-found" or before["ActiveState"] in DOWN:
        return "was down"
    ran = run(["systemctl", "stop", unit], deadline_s=deadline_s)
    late = ran.code is None
    if late:
        kill(run, unit)
        ran = run(["systemctl", "stop", unit], deadline_s=_KILLED_S)
    after = show(run, unit, ["ActiveState", "Result"])
    if after["ActiveState"] not in DOWN:
        raise SystemdError(f"{unit} is still {after['ActiveState']} after SIGKILL")
    return KILLED if late or after["Result"] == "timeout" else "stopped"


def kill(run: Run, unit: str) -> None:
    """Send SIGKILL to the whole cgroup of a unit, up or down; that nobody is there is fine."""
    run(["systemctl", "kill", "--signal=SIGKILL", unit])


def reset_failed(run: Run, unit: str) -> None:
    """Forget failures and the start limit's count; that the unit is not loaded is fine."""
    run(["systemctl", "reset-failed", unit])


def enable(run: Run, names: Sequence[str]) -> None:
    """Start these units at boot."""
    _check(run(["systemctl", "enable", *names]), "cannot enable " + " ".join(names))


def disable(run: Run, names: Sequence[str]) -> None:
    """Do not start these units at boot."""
    _check(run(["systemctl", "disable", *names]), "cannot disable " + " ".join(names))


def is_enabled(run: Run, name: str) -> bool:
    """Say whether a unit starts at every boot by its own [Install] section."""
    return run(["systemctl", "is-enabled", name]).stdout.strip() in (b"enabled", b"alias")


def verify(run: Run, paths: Sequence[str]) -> List[str]:
    """Let systemd read unit files; every complaint about one of them, [] when there is none.

    systemd-analyze's exit code depends on its version and on units nobody asked about: what it
    says about these files decides.
    """
    plain = {"SYSTEMD_LOG_COLOR": "0"}  # 247 colours even what goes into a pipe
    ran = run(["systemd-analyze", "verify", "--man=no", *paths], env=plain)
    said = [line for line in _text(ran.stderr).splitlines() if line.strip()]
    names = [os.path.basename(path) for path in paths]
    about = [line for line in said if any(name in line for name in names)]
    if about or ran.code == 0:
        return about
    return said[-1:] or [f"systemd-analyze ended with code {ran.code}"]


def version(run: Run) -> int:
    """Read systemd's version: `systemd 252 (252.38-1~deb12u1)` is 252."""
    ran = run(["systemctl", "--version"])
    words = ran.stdout.split()
    if ran.code != 0 or len(words) < 2 or not words[1].isdigit():  # noqa: PLR2004 # its name, its number
        raise SystemdError("this host has no systemd that answers `systemctl --version`")
    return int(words[1])


def transient(unit: str, argv: Sequence[str], properties: Mapping[str, str]) -> List[str]:
    """Word the start of a transient unit that leaves nothing behind when it ends.

    A `$` is doubled: systemd would replace it by its own environment.
    """
    settings = [f"--property={name}={value}" for name, value in properties.items()]
    words = [word.replace("$", "$$") for word in argv]
    return ["systemd-run", "--quiet", "--collect", f"--unit={unit}", *settings, "--", *words]


def _properties(stdout: bytes, names: Sequence[str]) -> Dict[str, str]:
    """Read `Name=value` lines; a name that stands on several lines gets them all."""
    found: Dict[str, str] = dict.fromkeys(names, "")
    for name, value in _pairs(stdout):
        if name in found:
            found[name] = found[name] + "\n" + value if found[name] else value
    return found


def _pairs(stdout: bytes) -> List[Tuple[str, str]]:
    parted = (line.partition("=") for line in _text(stdout).splitlines())
    return [(name, value) for name, _, value in parted]


def _check(ran: Ran, what: str) -> None:
    if ran.code is None:
        raise SystemdError(f"{what}: no answer from systemd after {ran.took_ms // 1000} s")
    if ran.code != 0:
        said = _text(ran.stderr).strip().splitlines()
        raise SystemdError(f"{what}: {said[0] if said else f'code {ran.code}'}")


def _text(data: bytes) -> str:
    return data.decode(errors="replace")
