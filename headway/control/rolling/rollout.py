"""What the verbs do to hosts: rollout and its kin, each a few lines over visits.

Every function tells its story to a sink and returns the exit code that speaks for all hosts.
"""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from headway.control.errors import (
    ConfigError,
    HeadwayError,
    UsageError,
)
from headway.control.fleet import Fleet
from headway.control.inventory.model import CLASS, Host
from headway.control.near import near
from headway.control.reaching.reach import AHEAD, Reach
from headway.control.rendering.render import Rendered, render
from headway.control.rolling.asks import Asks, is_peer
from headway.control.rolling.bringing import Bringing
from headway.control.rolling.crew import Crew, Outcome
from headway.control.rolling.visit import LOST_S, Task, Visit
from headway.control.telling.story import Began, Ended, HostSaid, Sink
from headway.wire.event import Event, Reported
from headway.wire.gate import Gate, Where, criteria_of
from headway.wire.phase import Exit, worst
from headway.wire.record import Orders
from headway.wire.resources import Service, Unit, Weights, container_name
from headway.wire.talk import (
    Adopt,
    Check,
    Evict,
    Look,
    Looked,
    Order,
    Park,
    Repair,
    Request,
    Rollback,
    Rollout,
    Sweep,
)
from headway.wire.verdict import Verdict

_SERVING = Look(health=True)
_OUTSIDE = {
    Verdict.PASS: Exit.ACCEPTED,
    Verdict.FAIL: Exit.WENT_BACK,
    Verdict.INVALID: Exit.HELD,
}
"""The exit codes of `check`: the runner's own for gates that it judges."""


@dataclass(frozen=True)
class Options:
    """The fleet, the way to it, and what the operator allows.

    With `lint`, a release that lint finds faulty is not begun.
    `budget` hosts may end otherwise than accepted; `floor` others must serve (None: all). `peers`
    are the hosts of the whole inventory, for the floor. `ahead` hosts are connected to at once.
    After `lost_s` seconds without news of a host its outcome is unknown.
    """

    fleet: Fleet
    orders: Orders
    reach: Reach
    lint: bool = True
    budget: int = 0
    floor: int | None = None
    peers: tuple[Host, ...] = ()
    ahead: int = AHEAD
    lost_s: float = LOST_S


def rollout(hosts: Sequence[Host], options: Options, tell: Sink) -> Exit:
    """Bring hosts to what the fleet describes, one at a time; all are rendered before any."""
    rendered = {host.name: render(options.fleet, host) for host in hosts}
    checks = options.reach.pack.checks_sha256
    tasks = [
        Task(
            host,
            Rollout(
                rendered[host.name].release,
                criteria_of(rendered[host.name].gates, checks),
                replace(options.orders, floor=_has_peers(host, options)),
            ),
            rendered[host.name].blobs,
        )
        for host in hosts
    ]

    def flawless() -> None:
        if options.lint:
            _refuse_faulty(options.fleet, tuple(rendered.values()))

    return _run("rollout", tasks, options, tell, ahead=options.ahead, before_first=flawless)


def rollback(
    hosts: Sequence[Host],
    options: Options,
    tell: Sink,
    to: str = "",
    *,
    current_secrets: bool = False,
) -> Exit:
    """Go back, one host at a time, from each host's own record."""
    order = Rollback(options.orders, to, current_secrets)
    return _each("rollback", hosts, order, options, tell)


def restart(hosts: Sequence[Host], options: Options, tell: Sink) -> Exit:
    """Launch the accepted release again, one host at a time."""
    return _each("restart", hosts, Repair(options.orders), options, tell)


def evict(hosts: Sequence[Host], options: Options, tell: Sink, parts: Sequence[str] = ()) -> Exit:
    """Free cards of what belongs to no running service; all hosts at once."""
    tasks = [Task(host, Evict(options.orders, tuple(parts))) for host in hosts]
    return _run("evict", tasks, options, tell, together=True)


def sweep(  # noqa: PLR0913, PLR0917 # what a sweep is of
    host: Host,
    rendered: Sequence[Rendered],
    part: str,
    gates: tuple[Gate, ...],
    options: Options,
    tell: Sink,
) -> Exit:
    """Launch these releases of one host in turn, judged by these gates; it ends on its own."""
    releases = tuple(one.release for one in rendered)
    criteria = criteria_of(gates, options.reach.pack.checks_sha256)
    blobs = {digest: data for one in rendered for digest, data in one.blobs.items()}
    task = Task(host, Sweep(releases, part, criteria, options.orders), blobs)
    return _run("sweep", [task], options, tell)


def unpark(hosts: Sequence[Host], options: Options, tell: Sink) -> Exit:
    """Bring parked hosts back to their accepted release, one at a time."""
    return _each("unpark", hosts, Repair(options.orders, unpark=True), options, tell)


def park(hosts: Sequence[Host], options: Options, tell: Sink) -> Exit:
    """Stop services on purpose, one host at a time."""
    return _each("park", hosts, Park(options.orders), options, tell)


def request(hosts: Sequence[Host], what: str, options: Options, tell: Sink) -> Exit:
    """Hand a person's wish to the transitions in hand: hold, resume, accept, abort."""
    order = Request(what, options.orders.by, options.orders.reason)
    tasks = [Task(host, order) for host in hosts]
    return _run(what, tasks, options, tell, together=True)


def adopt(hosts: Sequence[Host], options: Options, tell: Sink, units: Sequence[str] = ()) -> Exit:
    """Record what runs as accepted: these units or PROJECT/SERVICE, else those described."""
    named = {host.name: tuple(units) or _launched(render(options.fleet, host)) for host in hosts}
    tasks = [Task(host, Adopt(named[host.name], options.orders)) for host in hosts]
    return _run("adopt", tasks, options, tell, together=True)


def check(hosts: Sequence[Host], options: Options, tell: Sink, gates: Sequence[str] = ()) -> Exit:
    """Judge what runs by today's gates; all hosts at once, for nothing is changed."""
    checks = options.reach.pack.checks_sha256
    asked = {host.name: render(options.fleet, host).gates for host in hosts}
    _refuse_unknown(
        gates, {word for own in asked.values() for gate in own for word in _words(gate)}
    )
    tasks = [
        Task(host, Check(criteria_of(asked[host.name], checks), tuple(gates))) for host in hosts
    ]

    def outside() -> list[Exit]:
        return [
            _judged_outside(host, gate, options, tell)
            for host in hosts
            for gate in asked[host.name]
            if gate.where is Where.OUTSIDE and (not gates or _words(gate) & set(gates))
        ]

    return _run("check", tasks, options, tell, together=True, afterwards=outside)


def check_weights(hosts: Sequence[Host], options: Options, tell: Sink) -> Exit:
    """Hash every byte of the weights that run; the criteria stay what they are."""
    checks = options.reach.pack.checks_sha256
    tasks = []
    for host in hosts:
        parts = render(options.fleet, host).release.parts
        gates = tuple(
            Gate("weights", "weights", part.name)
            for part in parts
            if any(isinstance(one, Weights) for one in part.resources)
        )
        if not gates:
            raise UsageError(f"{host.name}: it has no weights that headway fetched")
        tasks.append(Task(host, Check(criteria_of(gates, checks), ("weights",))))
    return _run("check", tasks, options, tell, together=True)


def _words(gate: Gate) -> set[str]:
    """Name a gate as a person may."""
    return {gate.name, gate.kind}


def _refuse_unknown(gates: Sequence[str], known: set[str]) -> None:
    for name in gates:
        if name not in known:
            raise UsageError(f"--gate: these hosts have no gate {name!r}; {near(name, known)}")


def _judged_outside(host: Host, gate: Gate, options: Options, tell: Sink) -> Exit:
    from headway.control.rolling import outside

    report = outside.judge(options.fleet, host, gate, options.reach.ssh_config)
    tell(HostSaid(host.name, Event(0, int(time.time() * 1000), "", Reported(report))))
    return _OUTSIDE[report.verdict]


# --- how all of them run ------------------------------------------------------------------------


def _each(verb: str, hosts: Sequence[Host], order: Order, options: Options, tell: Sink) -> Exit:
    return _run(verb, [Task(host, order) for host in hosts], options, tell)


def _refuse_faulty(fleet: Fleet, rendered: Sequence[Rendered]) -> None:
    """Refuse a release that would break or blind a service; looked for only where one begins."""
    from headway.control.lint import faults

    found = faults(fleet, rendered)
    if found:
        first, more = found[0], len(found) - 1
        rest = f"; {more} more: invoke lint" if more else ""
        place = f"{first.file}:{first.line}" if first.line else first.file
        raise ConfigError(
            place, f"{first.what}{rest}", hint=f"{first.instead} (or --no-lint)".strip()
        )


def _nothing() -> None:
    """Stand for no condition."""


def _run(  # noqa: PLR0913 # what the verbs differ in
    verb: str,
    tasks: Sequence[Task],
    options: Options,
    tell: Sink,
    *,
    ahead: int = 0,
    together: bool = False,
    before_first: Callable[[], None] = _nothing,
    afterwards: Callable[[], Sequence[Exit]] = tuple,
) -> Exit:
    """Tell that it begins, run the visits, tell how it ended.

    Nothing begins where one of the hosts is reached by a way that cannot carry its order.
    """
    for task in tasks:
        if task.host.via is not None:
            from headway.control.reaching import qm

            qm.refuse(task.host, task.order)
    bring = Bringing(options.reach, options.peers, tell)
    bring.refuse(tasks)
    began = time.monotonic()
    name = time.strftime("%Y%m%dT%H%M%S", time.gmtime()) + "-" + os.urandom(2).hex()
    hosts = tuple(task.host.name for task in tasks)
    tell(Began(name, verb, hosts, options.orders.by, int(time.time() * 1000), _classes(tasks)))
    by = options.orders.by

    def looking(others: Sequence[Host]) -> dict[str, Looked | HeadwayError]:
        from headway.control.reaching.looks import look

        return look(others, options.reach, _SERVING)

    crew = Crew(tell, by, budget=options.budget, ahead=ahead, before_first=before_first)
    answer = Asks(options.fleet, options.reach, tell, options.peers, options.floor, by, looking)
    visits = [
        Visit(
            task,
            options.reach,
            tell,
            answer=answer,
            bring=bring,
            moved=crew.moved,
            lost_s=options.lost_s,
        )
        for task in tasks
    ]
    outcome: Outcome = crew.all_at_once(visits) if together else crew.one_by_one(visits)
    called_off = (Exit.REFUSED,) if outcome.called_off else ()
    code = worst((*outcome.codes, *afterwards(), *called_off))
    took_ms = int((time.monotonic() - began) * 1000)
    tell(Ended(name, int(code), outcome.untouched, took_ms))
    return code


def _classes(tasks: Sequence[Task]) -> dict[str, str]:
    """Name the kinds of machines of those hosts that have one."""
    named = ((task.host.name, task.host.vars.get(CLASS)) for task in tasks)
    return {host: str(value.value) for host, value in named if value is not None}


def _has_peers(host: Host, options: Options) -> bool:
    roles = {instance.role for instance in host.instances}
    return options.floor != 0 and any(
        is_peer(other, host, role) for other in options.peers for role in roles
    )


def _launched(rendered: Rendered) -> tuple[str, ...]:
    """Name the units, and the services of projects as PROJECT/SERVICE, that a host should run."""
    return tuple(
        resource.name
        if isinstance(resource, Unit)
        else container_name(resource.project, resource.service)
        for part in rendered.release.parts
        for resource in part.resources
        if isinstance(resource, (Unit, Service))
    )
