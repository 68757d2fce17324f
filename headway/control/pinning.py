"""`baseline`: show what is pinned, or pin what a host measured last."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from headway.control.baselines import Baselines, Entry, MeasuredOn, Pinned, name_of, write
from headway.control.desk import Desk
from headway.control.errors import HeadwayError, RefusedError
from headway.control.fleet import BASELINES
from headway.control.inventory.model import CLASS, Host
from headway.control.telling import history
from headway.control.telling.table import table
from headway.wire.findings import known
from headway.wire.phase import Exit
from headway.wire.verdict import Verdict


def show(desk: Desk) -> Exit:
    """Show every pinned number, and where it was measured."""
    rows = list(_rows(desk.fleet.baselines))
    if desk.json:
        for name, entry in sorted(desk.fleet.baselines.items()):
            desk.row("baseline", {"name": name, **_json(entry)})
    elif rows:
        header = ("CLASS/ROLE", "GATE", "MEASUREMENT", "VALUE", "N", "SPREAD", "MEASURED ON")
        desk.print(table(header, rows, desk.width))
    else:
        desk.print(f"nothing is pinned: no {BASELINES}; invoke baseline --host HOST pins")
    return Exit.ACCEPTED


def pin(desk: Desk, gates: Sequence[str]) -> Exit:
    """Pin the newest measurements of these hosts for their class and roles, and say what moved.

    RefusedError where there are none, where a gate did not pass, or where a finding says that the
    host did not do its best then: worse must never become normal.
    """
    pinned = dict(desk.fleet.baselines)
    said: list[str] = []
    for host in desk.hosts:
        for name, entry in _entries(desk, host, gates):
            said += _moved(name, pinned.get(name), entry)
            old = pinned.get(name)
            kept = old.gates if old is not None else {}
            pinned[name] = replace(entry, gates={**kept, **entry.gates})
    write(desk.fleet.root / BASELINES, pinned)
    desk.print("\n".join([*said, f"wrote {BASELINES}; commit it"]))
    return Exit.ACCEPTED


def _entries(desk: Desk, host: Host, gates: Sequence[str]) -> Iterator[tuple[str, Entry]]:
    run = _run(desk, host)
    on = MeasuredOn(
        host.name,
        run.release,
        time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(run.at_ms / 1000)),
        run.by,
    )
    found = False
    for instance in host.instances:
        name = name_of(host, instance.role)
        if not name:
            hint = f"set {CLASS}: WORD for it (docs/inventory.md)"
            raise RefusedError(f"{host.name}: it has no class to pin numbers for", hint=hint)
        mine = {
            report.gate: {
                one.name: Pinned(one.value, one.unit, one.n, one.spread)
                for one in report.measurements
            }
            for report in run.reports
            if _is_of(report.part, instance.name)
            and report.measurements
            and (not gates or {report.gate, report.kind} & set(gates))
        }
        if mine:
            found = True
            yield name, Entry(on, mine)
    if not found:
        raise RefusedError(f"{host.name}: {run.verb} {run.rollout} measured nothing of that")


def _is_of(part: str, instance: str) -> bool:
    """Say whether a part is an instance's own, or a service of its project."""
    return part == instance or part.startswith(instance + ".")


def _run(desk: Desk, host: Host) -> history.Measured:
    """Find the run to pin, or raise RefusedError with what speaks against it."""
    try:
        run = history.measured(history.path_of(desk.fleet), host.name)
    except OSError as error:
        raise HeadwayError(str(error)) from None
    if run is None:
        hint = f"invoke check --host {host.name}"
        raise RefusedError(f"{host.name}: nothing was measured and passed yet", hint=hint)
    where = f"{host.name}: {run.verb} {run.rollout}"
    for report in run.reports:
        if report.verdict != Verdict.PASS.value:
            raise RefusedError(f"{where}: gate {report.gate} of {report.part}: {report.verdict}")
        for finding in report.findings:
            about = known(finding)
            if about.degradation:
                raise RefusedError(
                    f"{where}: {report.part} ran degraded: {about.sentence}", hint=about.help
                )
    return run


def _moved(name: str, old: Entry | None, new: Entry) -> Iterator[str]:
    """Say of each number what it was and what it is now."""
    for gate, rows in sorted(new.gates.items()):
        for key, one in sorted(rows.items()):
            before = (old.gates.get(gate, {}) if old else {}).get(key)
            was = f", was {before.value}" if before else ""
            yield f"{name}  {gate}  {key}: {one.value} {one.unit}{was}"


def _rows(pinned: Baselines) -> Iterator[tuple[str, ...]]:
    for name, entry in sorted(pinned.items()):
        on = entry.measured_on
        for gate, rows in sorted(entry.gates.items()):
            for key, one in sorted(rows.items()):
                value = f"{one.value} {one.unit}"
                numbers = (value, str(one.n), str(one.spread))
                yield (name, gate, key, *numbers, f"{on.host} {on.release} {on.at}")


def _json(entry: Entry) -> dict[str, object]:
    from headway.wire.loader import dump

    body: dict[str, object] = dump(entry)
    return body
