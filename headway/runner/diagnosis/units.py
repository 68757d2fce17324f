"""Units: how the services of the release stand, how they ended, and what else has failed."""

import os
import re
import signal
from typing import Dict, Iterable, Iterator, List, Tuple

from headway.runner.diagnosis.ago import since, span, when
from headway.runner.diagnosis.ordering import Found
from headway.runner.diagnosis.seen import Changed, Seen, Unit
from headway.runner.machine import Machine
from headway.runner.subject import how_it_ended
from headway.wire.phase import Phase
from headway.wire.release import Release
from headway.wire.resources import File
from headway.wire.tools import Run

PROPERTIES = (
    *("Id", "LoadState", "LoadError", "ActiveState", "SubState", "Result", "NRestarts", "MainPID"),
    *("InvocationID", "ExecMainCode", "ExecMainStatus", "ControlGroup", "FragmentPath"),
    *("DropInPaths", "NeedDaemonReload", "UnitFileState", "User", "EnvironmentFiles", "Restart"),
    *("ConditionResult", "StandardOutput", "StateChangeTimestampMonotonic"),
    *("ExecMainStartTimestampMonotonic", "ExecMainExitTimestampMonotonic"),
    *("ActiveEnterTimestampMonotonic", "ActiveExitTimestampMonotonic"),
    *("InactiveExitTimestampMonotonic", "TriggeredBy", "Type"),
)
LIMIT_S = 2
STOPPING, STOPPED = "de5b426a63be47a7b6ac3eaac82e2f6f", "9d1aaa27d60140bd96365438aad20286"
LOOPS, LOOPING_S = 3, 600
_LATER_S = 2  # a file written by the start itself is no change
_EXEC = {
    "200": "exec-no-folder",
    "203": "exec-not-there",
    "209": "exec-no-output",
    "216": "exec-no-user",
    "217": "exec-no-user",
}
_CORE = {str(int(one)) for one in (signal.SIGILL, signal.SIGTRAP, signal.SIGABRT, signal.SIGBUS)}
_CORE |= {str(int(signal.SIGFPE)), str(int(signal.SIGSEGV))}
_EXITED = re.compile(r"Main process exited, code=(\w+), status=(\d+)")
_RESULT = re.compile(r"Failed with result '([\w-]+)'")
_CODES = {"exited": "1", "killed": "2", "dumped": "3"}
_NEAR_S = 120
_NOTED = 20  # lines at the end in which systemd's last word on a launch stands
_KILL = str(int(signal.SIGKILL))
_RESULTS = {"timeout": "stop-timeout", "watchdog": "watchdog", "start-limit-hit": "start-limit-hit"}


# --- looking ------------------------------------------------------------------------------------


def look(run: Run, names: Iterable[str]) -> Dict[str, Unit]:
    """Ask systemd once about every loaded service and these units; TimeoutError: no answer."""
    argv = ["systemctl", "show", "--no-pager", "--property=" + ",".join(PROPERTIES)]
    ran = run([*argv, "*.service", *names], deadline_s=LIMIT_S)
    if ran.code is None or not ran.stdout:
        said = ran.stderr.decode(errors="replace").strip() or f"nothing within {LIMIT_S} s"
        raise TimeoutError(said.splitlines()[0])
    found: Dict[str, Unit] = {}
    for block in ran.stdout.decode(errors="replace").strip("\n").split("\n\n"):
        pairs = (line.partition("=") for line in block.splitlines())
        values: Dict[str, str] = {}
        for name, _, value in pairs:
            values[name] = f"{values[name]}\n{value}" if values.get(name) else value
        found[values.get("Id", "")] = Unit(values.get("Id", ""), values)
    return found


def look_changed(machine: Machine, release: Release, units: Dict[str, Unit]) -> Tuple[Changed, ...]:
    """Read when the files behind each running service of the release were changed last."""
    found: List[Changed] = []
    for part in release.parts:
        unit = units.get(part.subject.unit) if part.subject else None
        if unit is None or not unit.up:
            continue
        own = [one.path for one in part.resources if isinstance(one, File)]
        files = [
            line.partition(" (")[0].lstrip("-") for line in unit["EnvironmentFiles"].split("\n")
        ]
        for path in dict.fromkeys(
            [unit["FragmentPath"], *unit["DropInPaths"].split(), *files, *own]
        ):
            try:
                found.append(
                    Changed(unit.name, path, int(os.stat(machine.disk.real(path)).st_mtime))
                )
            except OSError:
                continue
    return tuple(found)


# --- what follows from it -----------------------------------------------------------------------


def probes(seen: Seen) -> Iterator[Found]:
    """Say of each service of the release how it stands, then what else has failed."""
    if "units" in seen.unseen:
        yield Found("systemd-silent", "", (seen.unseen["units"],))
        return
    for name in seen.subjects:
        yield from _service(seen, seen.unit(name))
    mine = set(seen.subjects)
    for unit in seen.units.values():
        other = unit.name not in mine and not unit.name.startswith("headway-transition-")
        if other and unit["ActiveState"] == "failed":
            yield Found("failed-unit", unit.name, (how_it_ended(_values(unit)),))


def _service(seen: Seen, unit: Unit) -> Iterator[Found]:
    load = unit["LoadState"]
    if load in ("not-found", "masked", "bad-setting", "error"):
        yield from _unloaded(unit, load)
        return
    state = seen.record.state
    phase = state.phase if state is not None else Phase.IDLE
    if unit.name in seen.record.guarded and phase is Phase.IDLE:
        path = f"/etc/systemd/system/{unit.name}.d/zz-headway-guard.conf"
        yield Found("guard-left", unit.name, (path,))
    if unit["NeedDaemonReload"] == "yes":
        yield Found("unit-not-reloaded", unit.name, (unit["FragmentPath"],))
    if unit["UnitFileState"] == "disabled" and not seen.parked and phase is Phase.IDLE:
        yield Found("unit-not-enabled", unit.name, (f"{unit.name} is disabled",))
    output = unit["StandardOutput"]
    if output and not output.startswith(("journal", "inherit", "syslog", "kmsg")):
        yield Found("log-not-in-journal", unit.name, (f"StandardOutput={output}",))
    if unit.up and not looping(seen, unit):
        yield from _running(seen, unit)
    else:
        yield from _down(seen, _as_it_ended(seen, unit) if unit.up else unit)


def _unloaded(unit: Unit, load: str) -> Iterator[Found]:
    found = {"not-found": "unit-missing", "masked": "unit-masked"}
    why = unit["LoadError"].strip('" ')
    yield Found(
        found.get(load, "unit-broken"), unit.name, (f"LoadState={load}", *([why] * bool(why)))
    )


def _running(seen: Seen, unit: Unit) -> Iterator[Found]:
    now_s = seen.now_ms // 1000
    if unit["SubState"] == "start-pre":
        age = _since_change(seen, unit)
        if age > LOOPING_S // 10:
            yield Found("start-hangs", unit.name, (f"in ExecStartPre since {span(age)}",))
    count = unit.number("NRestarts")
    if count:
        told = f"{count} times; this launch is up since {since(seen.age_s(unit.name), now_s)}"
        yield Found("restarted", unit.name, (told,))
    started = now_s - seen.age_s(unit.name)
    newer = [one for one in seen.changed if one.unit == unit.name and one.at_s > started + _LATER_S]
    if newer:
        last = max(newer, key=lambda one: one.at_s)
        told = f"{last.path} changed {when(last.at_s)}, started {when(started)}"
        yield Found("config-newer", unit.name, (told,))


def _as_it_ended(seen: Seen, unit: Unit) -> Unit:
    """Give a unit that was just started again as its launch before ended: systemd noted it."""
    said = " ".join(line.text for line in seen.logs.get(unit.name, ())[-_NOTED:] if not line.own)
    exits, results = _EXITED.findall(said), _RESULT.findall(said)
    code, status = exits[-1] if exits else ("", "")
    ended = {
        "ActiveState": "activating",
        "SubState": "auto-restart",
        "ExecMainCode": _CODES.get(code, unit["ExecMainCode"]),
        "ExecMainStatus": status or unit["ExecMainStatus"],
        "Result": results[-1] if results else unit["Result"],
    }
    return Unit(unit.name, {**unit.values, **ended})


def killed(seen: Seen) -> Tuple[str, ...]:
    """Name the services of the release whose launch ended by SIGKILL last."""
    mine = [seen.unit(name) for name in seen.subjects]
    down = [unit for unit in mine if not unit.up or looping(seen, unit)]
    ended = [_as_it_ended(seen, unit) if unit.up else unit for unit in down]
    return tuple(
        unit.name
        for unit in ended
        if unit["ExecMainCode"] in ("2", "3") and unit["ExecMainStatus"] == _KILL
    )


def looping(seen: Seen, unit: Unit) -> bool:
    """Say whether systemd starts it over and over: it waits for that, or did it just now."""
    if unit["SubState"].startswith("auto-restart"):
        return True
    young = seen.age_s(unit.name) < LOOPING_S // 10
    return unit.number("NRestarts") >= LOOPS and young and _often(seen, unit)


def _often(seen: Seen, unit: Unit) -> bool:
    launches = {line.launch for line in seen.logs.get(unit.name, ()) if line.at_s > _recent(seen)}
    return len(launches) > LOOPS or unit.number("NRestarts") > 2 * LOOPS


def _recent(seen: Seen) -> int:
    return seen.now_ms // 1000 - LOOPING_S


def _down(seen: Seen, unit: Unit) -> Iterator[Found]:
    status = unit["ExecMainStatus"] if unit["ExecMainCode"] == "1" else ""
    if looping(seen, unit):
        yield from _loop(seen, unit)
    if status in _EXEC:
        yield Found(_EXEC[status], unit.name, _said_by_systemd(seen, unit.name, "Failed|exec"))
    elif unit["Result"] == "resources":
        lines = _said_by_systemd(seen, unit.name, "environment")
        yield Found("env-file-missing" if lines else "engine-crashed", unit.name, lines)
    elif unit["Result"] in _RESULTS:
        yield Found(_RESULTS[unit["Result"]], unit.name, (_ended(seen, unit),))
    elif unit["Result"] == "oom-kill":
        yield Found("oom-killed", unit.name, (_ended(seen, unit), *_oom(seen, unit)))
    if not looping(seen, unit):
        yield from _rests(seen, unit)
    yield from _signalled(seen, unit)


def _loop(seen: Seen, unit: Unit) -> Iterator[Found]:
    starts = [
        line
        for line in seen.logs.get(unit.name, ())
        if not line.own and "counter is at 1." in line.text
    ]
    first = [line.at_s for line in seen.logs.get(unit.name, ())][:1]
    at = starts[-1].at_s if starts else next(iter(first), 0)
    now_s = seen.now_ms // 1000
    about = f" since {'' if starts else 'before '}{since(now_s - at, now_s)}" if at else ""
    told = f"started again {unit.number('NRestarts')} times{about}"
    yield Found("restart-loop", unit.name, (told, f"ends with {how_it_ended(_values(unit))}"))


def _rests(seen: Seen, unit: Unit) -> Iterator[Found]:
    """Say why a unit is down and not started again."""
    name = unit.name
    if _dependency(seen, name):
        yield Found("dependency-failed", name, _dependency(seen, name))
    elif unit["ConditionResult"] == "no" and name not in seen.record.guarded:
        yield Found("condition-not-met", name, _said_by_systemd(seen, name, "ondition"))
    elif not unit.number("InactiveExitTimestampMonotonic"):
        up = f"the machine is up since {since(seen.boot_s, seen.now_ms // 1000)}"
        yield Found("engine-never-started", name, (up,))
    elif unit["Result"] == "start-limit-hit":
        yield Found("engine-crashed", name, (_ended(seen, unit),))
    elif _stopped(seen, unit):
        yield Found("engine-stopped", name, _stopped(seen, unit))
    elif unit["ExecMainCode"] == "1" and unit["ExecMainStatus"] == "0":
        yield Found("engine-exit-0", name, (_ended(seen, unit), f"Restart={unit['Restart']}"))
    elif unit["ExecMainStatus"] not in _EXEC or unit["ExecMainCode"] != "1":
        yield Found("engine-crashed", name, (_ended(seen, unit), f"Restart={unit['Restart']}"))


def _signalled(seen: Seen, unit: Unit) -> Iterator[Found]:
    if unit["ExecMainCode"] not in ("2", "3") or unit["Result"] in (
        "timeout",
        "watchdog",
        "oom-kill",
    ):
        return
    if unit["ExecMainStatus"] == _KILL:
        oom = _oom(seen, unit)
        if oom:
            yield Found("oom-killed", unit.name, (_ended(seen, unit), *oom))
        elif not _stopped(seen, unit):
            nothing = "the kernel noted no OOM kill"
            yield Found("killed-not-oom", unit.name, (_ended(seen, unit), nothing))
    elif unit["ExecMainStatus"] in _CORE:
        yield Found("core-dumped", unit.name, (_ended(seen, unit),))


def _stopped(seen: Seen, unit: Unit) -> Tuple[str, ...]:
    """Tell of the stop job that ended this launch; () where none did (subject.py knows how)."""
    launch = unit["InvocationID"]
    for line in reversed(seen.logs.get(unit.name, ())):
        if line.launch == launch and line.kind in (STOPPING, STOPPED) and not line.own:
            return (f"{line.text} ({when(line.at_s)})",)
    left, ended = (
        unit.number("ActiveExitTimestampMonotonic"),
        unit.number("ExecMainExitTimestampMonotonic"),
    )
    if 0 < unit.number("ActiveEnterTimestampMonotonic") < left < ended:
        return ("it was told to stop before it ended",)
    return ()


def _dependency(seen: Seen, name: str) -> Tuple[str, ...]:
    """Give systemd's last word about a unit where that is that a dependency failed."""
    last = [line for line in seen.logs.get(name, ()) if not line.own][-2:]
    return tuple(
        line.text for line in last if "Dependency failed" in line.text or "dependency" in line.text
    )


def _said_by_systemd(seen: Seen, name: str, words: str) -> Tuple[str, ...]:
    wanted = words.split("|")
    said = [
        one for one in seen.logs.get(name, ()) if not one.own and any(w in one.text for w in wanted)
    ]
    return tuple(dict.fromkeys(line.text for line in said[-3:]))[-2:]


def _oom(seen: Seen, unit: Unit) -> Tuple[str, ...]:
    """Give the kernel's word on an OOM kill of about when this launch ended: another is not its."""
    ended_s = unit.number("ExecMainExitTimestampMonotonic") // 1_000_000 or seen.boot_s
    near = [text for at_s, text in seen.kernel if abs(at_s - ended_s) <= _NEAR_S]
    return tuple(text for text in near if "Killed process" in text)[-1:]


def _ended(seen: Seen, unit: Unit) -> str:
    ended_us = unit.number("ExecMainExitTimestampMonotonic")
    now_s = seen.now_ms // 1000
    at = f" {since(max(0, seen.boot_s - ended_us // 1_000_000), now_s)}" if ended_us else ""
    return f"{how_it_ended(_values(unit))}{at}"


def _since_change(seen: Seen, unit: Unit) -> int:
    return max(0, seen.boot_s - unit.number("StateChangeTimestampMonotonic") // 1_000_000)


def _values(unit: Unit) -> Dict[str, str]:
    return {name: unit[name] for name in ("Result", "ExecMainCode", "ExecMainStatus")}
