"""A stand-in engine as the subject of a gate, judged by the runner's own judge through real HTTP.

Real are the check, its Params, the deadline, HTTP, /proc and how a fate weighs on a verdict.
systemd and the journal are doubles: they tell of the stand-in's process what real ones would.
"""

import contextlib
import importlib
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, cast

from headway.runner import judge
from headway.runner.clock import Clock
from headway.wire.cards import CardsSeen
from headway.wire.gate import Answered, Baseline, Gate, Measurement, Report, Subject
from headway.wire.loader import Json
from headway.wire.release import Part, SubjectSpec
from headway.wire.tools import Journal, JournalLine, Listener, Proc, Tools
from tests.engines.launch import StandIn
from tests.runner.resources.scripted import machine_at

UNIT, CGROUP = "engine.service", "/system.slice/engine.service"
_CHECKS = Path(__file__).parents[2] / "checks"
_DYING_S = 0.2
_STOP_JOB = '{"MESSAGE_ID": "de5b426a63be47a7b6ac3eaac82e2f6f", "MESSAGE": "Stopping engine"}'


@dataclass
class Unit:
    """What systemd says of the stand-in's process; another invocation once it is replaced."""

    standin: StandIn
    invocation: str = "aa"
    stopped: bool = False

    def stop(self) -> None:
        """Let somebody stop it."""
        self.stopped = True
        self.standin.process.terminate()

    def restart(self) -> None:
        """Let somebody put another launch in its place."""
        self.invocation = "bb"

    def show(self, argv: Sequence[str]) -> tuple[int, str, str]:
        """Answer `systemctl show`."""
        code = self._code()
        facts = {"InvocationID": self.invocation, "NRestarts": "0"}
        if "StandardOutput" in argv[-1]:
            facts = {"StandardOutput": "file"}
        elif code is None:
            facts |= {"ActiveState": "active", "SubState": "running", "ControlGroup": CGROUP}
            facts |= {"MainPID": str(self.standin.process.pid)}
            facts |= {"ExecMainStartTimestampMonotonic": "5"}
        elif code < 0:
            facts |= {"ActiveState": "failed", "SubState": "failed", "Result": "signal"}
            facts |= {"ExecMainCode": "2", "ExecMainStatus": str(-code)}
        else:
            facts |= {"ActiveState": "failed", "SubState": "failed", "Result": "exit-code"}
            facts |= {"ExecMainCode": "1", "ExecMainStatus": str(code)}
        return 0, "\n".join(f"{name}={value}" for name, value in facts.items()), ""

    def _code(self) -> int | None:
        """Give the exit code; a process that ends closes its port a moment before it is gone."""
        process, address = self.standin.process, ("127.0.0.1", self.standin.port)
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            try:
                socket.create_connection(address, timeout=1).close()
            except ConnectionRefusedError:
                process.wait(_DYING_S)
        return process.poll()

    def noted(self, _argv: Sequence[str]) -> tuple[int, str, str]:
        """Answer what PID 1 wrote down of the launch."""
        return 0, _STOP_JOB if self.stopped else "", ""


@dataclass(frozen=True)
class Asked:
    """A gate to ask: its kind, parameters and deadline, and the baseline by what was measured.

    So many ms after it is asked, the unit is stopped, or another launch takes its place. `meant`
    are the options that the release gives the engine.
    """

    gate: str
    params: dict[str, Json] = field(default_factory=dict)
    deadline_s: int = 5
    stopped_ms: int = 0
    replaced_ms: int = 0
    baseline: dict[str, int] = field(default_factory=dict)
    meant: tuple[str, ...] = ()


def report_of(asked: Asked, unit: Unit, folder: Path, engine: str) -> Report:
    """Ask one gate about the stand-in, as the runner does."""
    check = _seen_through(unit, _check(asked.gate))
    own = {one.name for one in fields(check.Params)}
    known = {"engine": engine, "port": unit.standin.port}
    params = {**{name: one for name, one in known.items() if name in own}, **asked.params}
    machine, _ = machine_at(folder, {"systemctl show": unit.show, "journalctl --q": unit.noted})
    command = (*unit.standin.command, *asked.meant) if asked.meant else ()
    part = Part(
        name="web",
        role="engine",
        argv=tuple((word,) for word in command),
        subject=SubjectSpec(UNIT),
        listens=(unit.standin.port,),
    )
    pinned = tuple(Measurement(name, value, "") for name, value in asked.baseline.items())
    gate = Gate(
        name=asked.gate,
        kind=asked.gate,
        part="web",
        deadline_s=asked.deadline_s,
        params=params,
        baseline=Baseline("pinned", pinned) if pinned else None,
    )
    timers = [
        threading.Timer(ms / 1000, act)
        for ms, act in ((asked.stopped_ms, unit.stop), (asked.replaced_ms, unit.restart))
        if ms
    ]
    for timer in timers:
        timer.start()
    try:
        return judge.judge_gate(gate, check, machine, part, lambda _body: None, Clock())
    finally:
        for timer in timers:
            timer.cancel()


def _check(kind: str) -> ModuleType:
    """Import a check under the name it has on a host, with what it shares with others."""
    if "headway_checks" not in sys.modules:
        package = ModuleType("headway_checks")
        package.__path__ = [str(_CHECKS)]
        sys.modules["headway_checks"] = package
    return importlib.import_module(f"headway_checks.{kind}")


def _seen_through(unit: Unit, check: ModuleType) -> ModuleType:
    """Let a check see the process in its unit's cgroup, and its log as its journal."""

    def judged(params: object, subject: Subject | None, tools: Tools) -> Answered:
        proc, journal = _InItsCgroup(tools.proc, unit), _Log(unit.standin.log)
        answer: Answered = check.judge(
            params,
            subject,
            replace(tools, proc=cast("Proc", proc), journal=journal, cards=_NoCards()),
        )
        return answer

    return cast("ModuleType", SimpleNamespace(Params=check.Params, judge=judged))


class _InItsCgroup:
    """The real /proc, but for the cgroup of the stand-in's process."""

    def __init__(self, real: Proc, unit: Unit) -> None:
        self._real = real
        self._pid = unit.standin.process.pid

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def listeners(self, port: int) -> tuple[Listener, ...]:
        """Name the listeners, this process in its unit."""
        found = self._real.listeners(port)
        return tuple(replace(one, cgroup=CGROUP) if one.pid == self._pid else one for one in found)

    def pids(self, cgroup: str) -> tuple[int, ...]:
        """Name the one process."""
        return (self._pid,) if cgroup == CGROUP else ()


class _NoCards:
    """A machine without a driver."""

    def look(self, *, pairs: bool = False) -> CardsSeen:
        """Find nothing, with pairs or without."""
        del pairs
        return CardsSeen()


class _Log:
    """The stand-in's stderr as the journal of its launch."""

    def __init__(self, log: Path) -> None:
        self._log = log

    def of(self, _subject: Subject) -> Journal:
        """Read all of it."""
        texts = self._log.read_text().splitlines()
        lines = [JournalLine(str(n), text, 6, own=True) for n, text in enumerate(texts)]
        return Journal(complete=True, why="", lines=tuple(lines))


def misses(report: Report, wanted: Sequence[str], unwanted: Sequence[str]) -> list[str]:
    """Say which expressions the evidence lacks, and which it must not hold."""
    evidence = "\n".join(report.evidence)
    lacking = [f"lacks {one!r}" for one in wanted if not re.search(one, evidence)]
    return lacking + [f"holds {one!r}" for one in unwanted if re.search(one, evidence)]
