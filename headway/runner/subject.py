"""Who is judged: the present launch of a unit, and what became of an earlier one.

Whether a unit ended by itself or was stopped does not show in its result: vLLM exits with 0 when
its engine dies, and a stop that takes too long "fails". Two things tell (tried with systemd 247 to
257): the unit leaves `active` before its main process ends only where something stopped it, and
PID 1 notes every stop job in the journal under the launch's InvocationID. The second one also
serves a unit that systemd has unloaded by now, whose properties are all back at their defaults.
"""

import json
import signal
from dataclasses import dataclass
from typing import Dict, List, Optional, Tuple

from headway.runner import systemd
from headway.wire.gate import Subject
from headway.wire.tools import Run
from headway.wire.verdict import Fate

_NAMES = (
    "ActiveState",
    "SubState",
    "InvocationID",
    "MainPID",
    "NRestarts",
    "ControlGroup",
    "Result",
    "ExecMainCode",
    "ExecMainStatus",
    "ExecMainStartTimestampMonotonic",
    "ExecMainExitTimestampMonotonic",
    "InactiveExitTimestampMonotonic",
    "ActiveEnterTimestampMonotonic",
    "ActiveExitTimestampMonotonic",
)
_UP = ("active", "activating", "reloading", "refreshing")
_STOPPED_BY_SYSTEMD = ("watchdog", "oom-kill", "timeout")
_STOPPING, _STOPPED = "de5b426a63be47a7b6ac3eaac82e2f6f", "9d1aaa27d60140bd96365438aad20286"
_EXEC_CODES = {"200": "CHDIR", "203": "EXEC", "216": "GROUP", "217": "USER", "226": "NAMESPACE"}
_RESULTS = {
    "oom-kill": "OOM kill",
    "watchdog": "the watchdog ended it",
    "timeout": "systemd's own timeout ended it",
    "start-limit-hit": "too many starts in too short a time",
    "protocol": "it never said that it was ready",
    "resources": "systemd lacked something to start it",
}


def current(run: Run, unit: str) -> Optional[Subject]:
    """Look at the present launch of a unit; None where it is not up (or waits for a restart)."""
    return _subject(unit, systemd.show(run, unit, _NAMES))


def fate(before: Subject, run: Run) -> Tuple[Fate, Optional[Subject], str]:
    """Say what became of a launch, who is there now, and how it ended in a few words."""
    seen = systemd.show(run, before.unit, _NAMES)
    after = _subject(before.unit, seen)
    if before.boot_id != boot_id():
        return Fate.TAKEN, after, "the machine was started anew"
    if after is not None and after.id == before.id and after.restarts == before.restarts:
        return Fate.SAME, after, ""
    if _number(seen["NRestarts"]) > before.restarts:
        how = f"it ended and systemd started it again, {seen['NRestarts']} times by now"
        return Fate.DIED, after, how
    if after is not None:
        return Fate.REPLACED, after, f"launch {after.id[:8]} runs in its place"
    gone, how = _gone(seen, before.id, run)
    return gone, None, how


def _gone(seen: Dict[str, str], launch: str, run: Run) -> Tuple[Fate, str]:
    """Tell whether a launch that is over ended by itself or was stopped, and how."""
    noted = _noted(run, launch)
    here = seen["InvocationID"] == launch
    if noted.stopped or (here and _left_before_it_ended(seen)):
        return Fate.TAKEN, "stopped by somebody else"
    if here:
        return Fate.DIED, how_it_ended(seen)
    if noted.anything:
        return Fate.DIED, "it ended by itself, with exit code 0 or by SIGTERM"
    return Fate.TAKEN, "gone, and neither systemd nor the journal knows how"


def absent(unit: str, run: Run) -> Tuple[Fate, Optional[Subject], str]:
    """Say how the last launch of a unit that is not up ended, and which one that was."""
    seen = systemd.show(run, unit, _NAMES)
    launch = seen["InvocationID"] or _last_launch(run, unit)
    if not launch:
        return Fate.TAKEN, None, "it was not started in this boot"
    gone, how = _gone(seen, launch, run)
    return gone, Subject(unit, launch, 0, boot_id(), 0, "", _number(seen["NRestarts"])), how


def boot_id() -> str:
    """Name this boot of the machine."""
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return file.read().strip()


def how_it_ended(seen: Dict[str, str]) -> str:
    """Word a dead unit's result, main process's code and status: "exit code 1", "OOM kill" ..."""
    if seen["Result"] in _RESULTS:
        return _RESULTS[seen["Result"]]
    code, status = seen["ExecMainCode"], seen["ExecMainStatus"]
    if code == "1":
        meaning = f" ({_EXEC_CODES[status]})" if status in _EXEC_CODES else ""
        return f"exit code {status}{meaning}" + (", by itself" if status == "0" else "")
    if code in ("2", "3"):
        dumped = ", core dumped" if code == "3" else ""
        return f"signal {_signal(status)}{dumped}, without a stop job"
    return f"result {seen['Result']}"


@dataclass(frozen=True)
class _Noted:
    """What PID 1 noted of a launch: anything at all; that somebody stopped it."""

    anything: bool
    stopped: bool


def _noted(run: Run, invocation: str) -> _Noted:
    entries = _by_systemd(run, f"INVOCATION_ID={invocation}")
    return _Noted(bool(entries), any(_tells_of_a_stop(entry) for entry in entries))


def _last_launch(run: Run, unit: str) -> str:
    """Find the last launch of a unit that systemd has unloaded since; "" where there was none."""
    named = [entry.get("INVOCATION_ID", "") for entry in _by_systemd(run, "--boot", f"UNIT={unit}")]
    return next((name for name in reversed(named) if name), "")


def _by_systemd(run: Run, *matches: str) -> List[Dict[str, str]]:
    """Read what PID 1 itself wrote; it has to be written down first."""
    run(["journalctl", "--sync"], deadline_s=10)
    argv = ["journalctl", "--quiet", "--no-pager", "--output=json", "_PID=1", *matches]
    lines = run(argv).stdout.splitlines()
    return [json.loads(line) for line in lines if line.startswith(b"{")]


def _tells_of_a_stop(entry: Dict[str, str]) -> bool:
    """Know a stop: its begin, its end (all there is of one while starting), `systemctl kill`."""
    ours = entry.get("MESSAGE_ID")
    if ours == _STOPPING or (ours == _STOPPED and entry.get("JOB_TYPE") == "stop"):
        return True
    return str(entry.get("MESSAGE", "")).endswith("on client request.")


def _left_before_it_ended(seen: Dict[str, str]) -> bool:
    left, ended = _time(seen, "ActiveExit"), _time(seen, "ExecMainExit")
    was_active = 0 < _time(seen, "ActiveEnter") < left
    alive = ended < _time(seen, "ExecMainStart")
    return was_active and (alive or left < ended) and seen["Result"] not in _STOPPED_BY_SYSTEMD


def _subject(unit: str, seen: Dict[str, str]) -> Optional[Subject]:
    if seen["ActiveState"] not in _UP or seen["SubState"].startswith("auto-restart"):
        return None
    return Subject(
        unit=unit,
        id=seen["InvocationID"],
        started_us=_time(seen, "ExecMainStart") or _time(seen, "InactiveExit"),
        boot_id=boot_id(),
        pid=_number(seen["MainPID"]),
        cgroup=seen["ControlGroup"],
        restarts=_number(seen["NRestarts"]),
    )


def _time(seen: Dict[str, str], name: str) -> int:
    return _number(seen[name + "TimestampMonotonic"])


def _number(text: str) -> int:
    return int(text) if text.isdigit() else 0


def _signal(status: str) -> str:
    try:
        return signal.Signals(int(status)).name
    except ValueError:
        return status
