"""`sweep`: render a value at a time, have the host launch each, and say what was measured."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from headway.control.desk import Desk
from headway.control.errors import UsageError
from headway.control.inventory.model import Host
from headway.control.near import near
from headway.control.rendering.render import Rendered, render
from headway.control.rolling import rollout as rolling
from headway.control.sweeping.setting import Setting, with_value
from headway.control.sweeping.table import Launched, text
from headway.control.telling.story import HostSaid, Sink, Told
from headway.wire.event import Reported, StepBegan, StepDone
from headway.wire.gate import Gate, Report
from headway.wire.loader import dump
from headway.wire.phase import Exit

ALWAYS = ("in_place", "ready", "health", "thermal")
"""Kinds of gates that are asked of every launch: what is not up has nothing to measure."""


def sweep(
    desk: Desk, setting: Setting, parts: Sequence[str], gates: Sequence[str], reason: str
) -> Exit:
    """Sweep one host; the table and the plot go to stdout when it is back on its release."""
    host = _one(desk)
    part = _part(host, parts)
    rendered = tuple(
        render(desk.fleet, with_value(host, part, setting.name, value)) for value in setting.values
    )
    chosen = _gates(rendered[0], part, gates)
    listener = _Listener(desk.tell)
    code = rolling.sweep(host, rendered, part, chosen, desk.options(reason), listener.tell)
    rungs = listener.rungs(setting)
    if desk.json:
        for rung in rungs:
            desk.row("launched", {"name": setting.name, **_json(rung)})
    elif listener.begun:
        desk.print(text(setting.name, rungs, desk.width))
    return code


def _one(desk: Desk) -> Host:
    if len(desk.hosts) != 1:
        names = ", ".join(host.name for host in desk.hosts)
        raise UsageError(f"sweep: one host at a time, and these are {len(desk.hosts)}: {names}")
    return desk.hosts[0]


def _part(host: Host, parts: Sequence[str]) -> str:
    names = [instance.name for instance in host.instances]
    for part in parts:
        if part not in names:
            raise UsageError(f"--part: {host.name} has no instance {part!r}; {near(part, names)}")
    meant = parts or names
    if len(meant) != 1:
        hint = f"say which: --part {names[0]}" if names else ""
        raise UsageError(f"sweep: one instance at a time, and {len(meant)} are meant", hint=hint)
    return meant[0]


def _gates(rendered: Rendered, part: str, named: Sequence[str]) -> tuple[Gate, ...]:
    mine = [gate for gate in rendered.gates if gate.part == part]
    known = {word for gate in mine for word in (gate.name, gate.kind)}
    for name in named:
        if name not in known:
            raise UsageError(f"--gate: {part} has no gate {name!r}; {near(name, known)}")
    return tuple(
        gate
        for gate in mine
        if not named or gate.kind in ALWAYS or {gate.name, gate.kind} & set(named)
    )


def _json(rung: Launched) -> dict[str, object]:
    reports = [dump(report) for report in rung.reports]
    says = {"verdict": rung.verdict.value, "trouble": rung.trouble}
    return {"value": rung.value, **says, "reports": reports}


@dataclass
class _Listener:
    """Hears the story of a sweep on its way to the sinks, and sorts reports by launch."""

    sink: Sink
    begun: list[str] = field(default_factory=list)
    over: bool = False
    reports: dict[int, list[Report]] = field(default_factory=dict)
    why: dict[int, str] = field(default_factory=dict)

    def tell(self, told: Told) -> None:
        """Take what belongs to a launch, and pass everything on."""
        if isinstance(told, HostSaid):
            self._hear(told)
        self.sink(told)

    def rungs(self, setting: Setting) -> list[Launched]:
        """Give every value with what was said of it; one that was not launched says so."""
        return [
            Launched(value, tuple(self.reports.get(n, ())), self.why.get(n, "its turn never came"))
            for n, value in enumerate(setting.values)
        ]

    def _hear(self, told: HostSaid) -> None:
        body, now = told.event.body, len(self.begun) - 1
        if isinstance(body, StepBegan) and body.step == "rung":
            self.begun.append(body.detail)
            self.over = False
        elif isinstance(body, StepDone) and body.step == "rung":
            self.over = True
            self.why[now] = body.detail
        elif isinstance(body, Reported) and self.begun and not self.over:
            self.reports.setdefault(now, []).append(body.report)
