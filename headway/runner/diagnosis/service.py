"""What answers on the ports of the release: who listens, what it says, and to whom."""

import json
from typing import Dict, Iterator, List, Optional, Tuple

from headway.runner import plain_http
from headway.runner.diagnosis import log, units
from headway.runner.diagnosis.ago import span
from headway.runner.diagnosis.ordering import Found
from headway.runner.diagnosis.seen import Answer, Seen
from headway.wire.evidence import shown
from headway.wire.release import Part
from headway.wire.tools import Listener, Proc

HTTP_S = 1.2
_WORDS = 3
LOADS_S, AT_LEAST_S = 1800, 60
_ANY = {"0.0.0.0": "127.0.0.1", "::": "127.0.0.1"}  # noqa: S104 # compared with, not bound to
_MODELS = "/v1/models"
_SLOW_HEALTH_S = 10  # an engine that generates a token for /health is asked for its models instead
_UNAVAILABLE, _LOCKED, _OK = 503, (401, 403), 200


# --- looking ------------------------------------------------------------------------------------


def look_listeners(proc: Proc, parts: Tuple[Part, ...]) -> Tuple[Listener, ...]:
    """Find who listens on each port of the release."""
    ports = dict.fromkeys(port for part in parts for port in part.listens)
    return tuple(one for port in ports for one in proc.listeners(port))


def look_answers(seen: Seen, proc: Proc) -> Tuple[Answer, ...]:
    """Ask each port of a service what its health gate asks first, with its own key."""
    found: List[Answer] = []
    for part in seen.parts:
        for port in part.listens[:1]:
            mine = [one for one in seen.listeners if one.port == port]
            if mine:
                found.extend(_asked(seen, proc, part, mine[0]))
    return tuple(found)


def _asked(seen: Seen, proc: Proc, part: Part, listener: Listener) -> Iterator[Answer]:
    where = (_ANY.get(listener.address, listener.address), listener.port)
    params = _health(seen, part)
    table = next(iter(log.table_of(seen, part)), None)
    path = str(params.get("path") or "/health")
    if table is not None:
        slow = table.health_timeout_s > _SLOW_HEALTH_S
        path = table.paths["models" if slow else "health"]
    health = _get(where, path)
    yield health
    if table is not None and health.status == _OK and path != _MODELS:
        key = proc.environ(listener.pid).get(table.key_variable, "") if table.key_variable else ""
        yield _get(where, table.paths["models"], f"Authorization: Bearer {key}\r\n" if key else "")


def _get(where: Tuple[str, int], path: str, headers: str = "") -> Answer:
    try:
        status, body = plain_http.get(where, path, HTTP_S, headers)
    except plain_http.SilentError as error:
        return Answer(where[1], path, 0, why=str(error))
    return Answer(where[1], path, status, body[:4096].decode(errors="replace"))


def _health(seen: Seen, part: Part) -> Dict[str, object]:
    gates = seen.record.criteria.gates if seen.record.criteria else ()
    mine = (gate.params for gate in gates if gate.part == part.name and gate.kind == "health")
    return dict(next(mine, {}))


# --- what follows from it -----------------------------------------------------------------------


def probes(seen: Seen) -> Iterator[Found]:
    """Say who listens that should not, and what does not answer as it should."""
    for unit, part in seen.subjects.items():
        yield from _ports(seen, unit, part)
        for answer in seen.answers:
            if answer.port in part.listens:
                yield from _answered(seen, unit, part, answer)


def _ports(seen: Seen, unit: str, part: Part) -> Iterator[Found]:
    cgroup = seen.unit(unit)["ControlGroup"] or f"/system.slice/{unit}"
    for port in part.listens:
        there = [one for one in seen.listeners if one.port == port]
        strange = [one for one in there if one.pid and not _within(one.cgroup, cgroup)]
        values = {"port": str(port)}
        if strange:
            shared = len(strange) < len(there)
            mine = [one for one in there if one not in strange]
            told = tuple(_who(one) for one in [*strange[:2], *mine][:2])
            yield Found("two-listeners" if shared else "port-foreign", unit, told, values)
        elif not there and _listens(seen, unit):
            yield _silent(seen, unit, part, port)


def _listens(seen: Seen, unit: str) -> bool:
    """Say whether a service should be heard by now: it runs, and does not just begin again."""
    one = seen.unit(unit)
    runs = one["ActiveState"] == "active" and not units.looping(seen, one)
    return runs and "listeners" not in seen.unseen


def _within(cgroup: str, above: str) -> bool:
    return cgroup == above or cgroup.startswith(above + "/")


def _who(one: Listener) -> str:
    """Name a listener by its first words: a key may stand among the rest."""
    words = " ".join(one.command.split()[:_WORDS])
    return shown(f"{one.address}:{one.port} is held by PID {one.pid} in {one.cgroup}: {words}")


def _silent(seen: Seen, unit: str, part: Part, port: int) -> Found:
    age = seen.age_s(unit)
    load = _load_s(seen, part)
    usual = f", its accepted start took {span(load)}" if load else ""
    told = f"up since {span(age)}, nobody listens on {port}{usual}"
    last = [line.text for line in seen.launch(unit) if line.own][-1:]
    finding = "loading" if age < _patience_s(load) else "not-listening"
    return Found(finding, unit, (told, *(f"its last line: {shown(text)}" for text in last)))


def _load_s(seen: Seen, part: Part) -> int:
    state = seen.record.state
    loads = state.accepted[0].load_ms if state is not None and state.accepted else {}
    return loads.get(part.name, 0) // 1000


def _patience_s(load_s: int) -> int:
    return max(3 * load_s, AT_LEAST_S) if load_s else LOADS_S


def _answered(seen: Seen, unit: str, part: Part, answer: Answer) -> Iterator[Found]:
    told = f"GET {answer.path} on {answer.port}: {answer.status or answer.why}"
    said = (told, shown(answer.body)) if answer.body.strip() else (told,)
    values = {"port": str(answer.port)}
    table = next(iter(log.table_of(seen, part)), None)
    if answer.status == 0:
        if answer.why != "refused":
            yield Found("no-answer", unit, (f"{told} after {HTTP_S} s",), values)
    elif answer.status in _LOCKED:
        if answer.path == _MODELS:
            yield Found("token-refused", unit, said, values)
    elif answer.status >= 500:  # noqa: PLR2004 # HTTP
        loads = answer.status in (table.loading if table else (_UNAVAILABLE,))
        young = seen.age_s(unit) < _patience_s(_load_s(seen, part))
        yield Found("loading" if loads and young else "unhealthy", unit, said, values)
    elif answer.path == _MODELS and answer.status == _OK:
        wanted = str(_health(seen, part).get("model", ""))
        served = _models(answer.body)
        if wanted and served is not None and wanted not in served:
            told = f"it serves {', '.join(served) or 'nothing'}, declared is {wanted}"
            yield Found("wrong-model", unit, (told,), values)


def _models(body: str) -> Optional[List[str]]:
    try:
        return [str(one["id"]) for one in json.loads(body)["data"]]
    except (ValueError, KeyError, TypeError):
        return None
