"""The service of this launch, and no other process, answers on its port and does its work."""

import json
from dataclasses import dataclass
from typing import Any, Dict, List, NoReturn, Optional, Tuple

from headway.wire import engines
from headway.wire.by_hand import log_argv, status_argv, supervisor_of
from headway.wire.compare import CompareError, find, number
from headway.wire.engines import Engine
from headway.wire.evidence import by_hand, holder, shown
from headway.wire.findings import known
from headway.wire.gate import Answered, Judgement, Measurement, Subject, Wait
from headway.wire.tools import HttpAnswer, Tools, Unreached
from headway.wire.verdict import Verdict

_OK, _LOCKED, _NOT_THERE, _BROKEN = 200, (401, 403), (404, 501), 500
_PAGE = "/health"
_READINGS = 10  # of the counters: they follow an answer by a few milliseconds
_ANY = {"0.0.0.0": "127.0.0.1", "::": "127.0.0.1"}  # noqa: S104 # compared with, not bound to


@dataclass(frozen=True)
class Params:
    """What to ask. With an `engine` its whole ladder is climbed, without one a page is asked for.

    `port` 0 is the part's first one. `path` "" is the engine's own, or /health; `status` belongs to
    the page. `model` is the id that must be served ("" is any), `models` are more of them: each
    has to complete. `completion_s` bounds a real request. `counters: false` puts up with what
    shows no metrics of an engine's (a router); `completion: false` with one that completes nothing
    (embeddings). `key` names the variable of the service's environment that holds the API key it
    wants; "" is the engine's own.
    """

    engine: str = ""
    port: int = 0
    path: str = ""
    status: int = _OK
    model: str = ""
    models: Tuple[str, ...] = ()
    completion: bool = True
    completion_s: int = 120
    counters: bool = True
    key: str = ""


class _Settled(Exception):  # noqa: N818 # an answer that ends the climb, no error
    """A rung said how it is; carried up to judge."""

    def __init__(self, answer: Answered) -> None:
        super().__init__()
        self.answer = answer


def judge(params: Params, subject: Optional[Subject], tools: Tools) -> Answered:
    """Climb the ladder; what is not there yet is waited for, and is a FAIL when time is over."""
    if subject is None:
        return Judgement(Verdict.INVALID, ("no launch to judge",))
    port = params.port or next(iter(tools.part.listens), 0)
    if not port:
        return Judgement(Verdict.INVALID, ("the part listens on no port: nothing to ask",))
    try:
        table = engines.engine(params.engine) if params.engine else None
        return _Climb(params, subject, tools, port, table).top()
    except engines.EngineError as error:
        return Judgement(Verdict.INVALID, (str(error),))
    except _Settled as settled:
        return settled.answer


@dataclass
class _Climb:
    """One climb from the port to the counters; evidence gathers on the way."""

    params: Params
    subject: Subject
    tools: Tools
    port: int
    table: Optional[Engine]

    def __post_init__(self) -> None:
        self.seen: List[str] = []
        self.base = ""

    def top(self) -> Judgement:
        """Climb as far as this service's ladder goes."""
        self._not_restarted()
        self._no_fatal_line()
        self._port()
        measured: Tuple[Measurement, ...] = ()
        if self.table is None:
            self._page()
        else:
            self._health(self.table)
            models = self._models(self.table)
            if self.params.completion:
                took = [self._completion(self.table, model) for model in models]
                measured = (Measurement("completion", max(took), "ms"),)
        return Judgement(Verdict.PASS, tuple(self.seen), measured)

    # --- rungs -------------------------------------------------------------------------------

    def _not_restarted(self) -> None:
        if self.subject.restarts:
            self._fail(
                f"{supervisor_of(self.subject)} had to start {self.subject.unit} again "
                f"{self.subject.restarts} times",
                by_hand(status_argv(self.subject)),
            )

    def _no_fatal_line(self) -> None:
        """Fail at once on a line that says the start failed: the first cause, not the last line."""
        if self.table is None:
            return
        journal = self.tools.journal.of(self.subject)
        cause = engines.first_cause((one.text for one in journal.lines if one.own), [self.table])
        if cause is not None:
            meaning = known(cause.pattern.finding)
            self._fail(
                f"the log says: {shown(cause.line)}",
                f"{meaning.sentence}; {meaning.help}",
                by_hand(log_argv(self.subject)),
            )

    def _port(self) -> None:
        """See that every listener on the port belongs to this launch: an old process may stay."""
        listeners = self.tools.proc.listeners(self.port)
        again = by_hand(["ss", "-ltnp", f"sport = :{self.port}"])
        foreign = [one for one in listeners if one.pid and not one.is_of(self.subject)]
        if foreign:
            self._fail(*(f"port {self.port} is held by {holder(one)}" for one in foreign), again)
        if not listeners or any(not one.pid for one in listeners):
            raise _Settled(self._wait(f"nobody of this launch listens on port {self.port} yet"))
        address = listeners[0].address
        address = _ANY.get(address, address)
        self.base = f"http://{f'[{address}]' if ':' in address else address}:{self.port}"
        self.seen.append(f"port {self.port}: {holder(listeners[0])}")

    def _page(self) -> None:
        path = self.params.path or _PAGE
        answer = self._ask("GET", path)
        if answer.status != self.params.status:
            wanted = f"{path} answers {_status(answer)}, {self.params.status} is expected"
            raise _Settled(self._wait(wanted))
        self._passed("GET", path, answer)

    def _health(self, table: Engine) -> None:
        path = self.params.path or table.paths["health"]
        answer = self._ask("GET", path, timeout_s=table.health_timeout_s)
        self._unlocked(answer, path)
        if answer.status != _OK:
            state = "still loads" if answer.status in table.loading else "is not healthy"
            said = f"{path} answers {_status(answer)} {_message(answer)}"
            raise _Settled(self._wait(f"the engine {state}: {said}"))
        self._passed("GET", path, answer)

    def _models(self, table: Engine) -> Tuple[str, ...]:
        """Name the models that have to complete: those asked for, or the first one served."""
        path = table.paths["models"]
        answer = self._ask("GET", path)
        self._unlocked(answer, path)
        served = [str(one["id"]) for one in self._json(answer, path, "data")]
        again = self._again("GET", path)
        if not served:
            raise _Settled(self._wait(f"{path} lists no model yet"))
        asked = tuple(filter(None, (self.params.model, *self.params.models)))
        absent = [model for model in asked if model not in served]
        if absent:
            self._fail(f"serves {', '.join(served)}, not {', '.join(absent)}", again)
        self.seen += [f"serves {', '.join(served)}", again]
        return asked or (served[0],)

    def _completion(self, table: Engine, model: str) -> int:
        """Have a model complete something; give the milliseconds it took."""
        path = table.paths["completion"]
        body = {"model": model, **table.completion}
        before = self._generated(table)
        answer = self._ask("POST", path, body, timeout_s=self.params.completion_s)
        self._unlocked(answer, path)
        again = self._again("POST", path, body)
        said = f"{path} answers {_status(answer)}: {_message(answer)}"
        if answer.status >= _BROKEN:
            raise _Settled(self._wait(said))
        if answer.status != _OK:
            self._fail(said, again)
        reason = self._json(answer, path, "choices/0/finish_reason")
        if reason not in table.finish_reasons:
            self._fail(f"a completion finished with {reason!r}: {said}", again)
        self.seen += [
            f"one completion of {model}: finish_reason {reason}, {answer.took_ms} ms",
            again,
        ]
        if before is not None:
            self._moved(table, before)
        return answer.took_ms

    def _generated(self, table: Engine) -> Optional[int]:
        """Read how many tokens were generated; None where counters are not asked for."""
        if not self.params.counters:
            return None
        path = table.paths["metrics"]
        answer = self._ask("GET", path)
        self._unlocked(answer, path)
        if answer.status in _NOT_THERE:
            how = f"start it with {table.metrics_option}, or" if table.metrics_option else "else"
            said = f"no metrics to see that it works: {path} answers {answer.status}"
            self._unjudged(f"{said}; {how} set counters: false", self._again("GET", path))
        found = _total(answer.body, table.counters["generated"])
        if found is None:
            names = " or ".join(table.counters["generated"])
            self._unjudged(f"{path} has no {names}", self._again("GET", path))
        return found

    def _moved(self, table: Engine, before: int) -> None:
        for _ in range(_READINGS):
            after = self._generated(table)
            if after is not None and after > before:
                self.seen.append(f"tokens generated: {before} before, {after} after")
                return
        path = table.paths["metrics"]
        said = f"a completion came back, and {path} still counts {before} tokens: not this engine's"
        self._fail(said, self._again("GET", path))

    # --- asking ------------------------------------------------------------------------------

    def _ask(
        self, method: str, path: str, body: Optional[Dict[str, object]] = None, timeout_s: int = 10
    ) -> HttpAnswer:
        headers = {"Content-Type": "application/json"} if body else {}
        if self._key():
            headers["Authorization"] = "Bearer " + self._key()
        data = json.dumps(body).encode() if body else None
        try:
            return self.tools.http.ask(method, self.base + path, data, headers, timeout_s)
        except Unreached as error:
            raise _Settled(self._wait(str(error))) from None

    def _key_variable(self) -> str:
        return self.params.key or (self.table.key_variable if self.table else "")

    def _key(self) -> str:
        """Take the API key out of the service's own environment: no gate holds a secret."""
        variable = self._key_variable()
        return self.tools.proc.environ(self.subject.pid).get(variable, "") if variable else ""

    def _unlocked(self, answer: HttpAnswer, path: str) -> None:
        """Read 401 as it is meant: the engine is up, and we have no key for it."""
        if answer.status in _LOCKED:
            variable = self._key_variable()
            how = f"give it by {variable} in the part's env" if variable else "it takes none by env"
            said = f"up, but {path} answers {answer.status}: its API key is not known here; {how}"
            self._fail(said, self._again("GET", path))

    def _json(self, answer: HttpAnswer, path: str, pointer: str) -> Any:  # noqa: ANN401 # JSON
        try:
            return find(json.loads(answer.body), pointer)
        except (ValueError, CompareError):
            said = shown(answer.body.decode(errors="replace"))
            told = f"{path} answers {_status(answer)}, what is not its kind: {said}"
            self._fail(told, self._again("GET", path))

    # --- answering ---------------------------------------------------------------------------

    def _again(self, method: str, path: str, body: Optional[Dict[str, object]] = None) -> str:
        words = ["curl", "-sS", *(["-X", method] if method != "GET" else []), self.base + path]
        if body:
            words += ["-H", "Content-Type: application/json", "-d", json.dumps(body)]
        key = f' -H "Authorization: Bearer ${self._key_variable()}"' if self._key() else ""
        return by_hand(words) + key

    def _passed(self, method: str, path: str, answer: HttpAnswer) -> None:
        said = f"{path} answers {answer.status} after {answer.took_ms} ms"
        self.seen += [said, self._again(method, path)]

    def _wait(self, reason: str) -> Wait:
        return Wait(reason, Verdict.FAIL)

    def _fail(self, *said: str) -> NoReturn:
        raise _Settled(Judgement(Verdict.FAIL, (*said, *self.seen)))

    def _unjudged(self, *said: str) -> NoReturn:
        raise _Settled(Judgement(Verdict.INVALID, (*said, *self.seen)))


def _status(answer: HttpAnswer) -> str:
    """Show where a redirect leads: it is never followed, whoever answers there is another one."""
    place = answer.headers.get("location", "")
    return f"{answer.status} and leads to {shown(place)}" if place else str(answer.status)


def _message(answer: HttpAnswer) -> str:
    """Pick what an engine's error says to people; all of it where it has another shape."""
    try:
        error = json.loads(answer.body)["error"]
        return shown(str(error["message"] if isinstance(error, dict) else error))
    except (ValueError, LookupError, TypeError):
        return shown(answer.body.decode(errors="replace"))


def _total(metrics: bytes, names: Tuple[str, ...]) -> Optional[int]:
    """Add up a counter over its labels in Prometheus text; None where no name of it is there."""
    found: List[int] = []
    for row in metrics.decode(errors="replace").splitlines():
        name, _, value = row.rpartition(" ")
        count = number(value) if name.partition("{")[0] in names else None
        if count is not None:
            found.append(int(count))
    return sum(found) if found else None
