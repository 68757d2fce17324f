"""The engine of this launch as a client on its own host meets it: address, key, model, table."""

import json
from dataclasses import dataclass
from typing import Any, Dict, Mapping, Optional

from headway.wire import engines
from headway.wire.compare import CompareError, find
from headway.wire.engines import Engine
from headway.wire.evidence import by_hand, holder, shown
from headway.wire.gate import Subject
from headway.wire.loader import Json
from headway.wire.tools import HttpAnswer, Streaming, Tools, Unreached
from headway.wire.verdict import Fate
from headway_checks.asking.answers import fail, unjudged

OK, LOCKED, LOADING = 200, (401, 403), 503
STREAMED: Mapping[str, Json] = {"stream": True, "stream_options": {"include_usage": True}}
BRIEF = 400  # characters of a request that are shown
_ANY = {"0.0.0.0": "127.0.0.1", "::": "127.0.0.1"}  # noqa: S104 # compared with, not bound to


@dataclass(frozen=True)
class Service:
    """Where one launch answers, and how it wants to be asked.

    `what` to ask is a name of the table's paths ("completion", "metrics") or a path. The key comes
    out of the engine's own environment and is never shown.
    """

    tools: Tools
    subject: Subject
    table: Engine
    base: str
    key: str
    model: str = ""

    def ask(
        self, what: str, body: Optional[Mapping[str, Json]] = None, timeout_s: int = 10
    ) -> HttpAnswer:
        """Send one request and take its whole answer, of any status, or raise Unreached."""
        sent, headers = self._sent(body)
        method = "GET" if body is None else "POST"
        return self.tools.http.ask(method, self.url(what), sent, headers, timeout_s)

    def stream(self, what: str, body: Mapping[str, Json], timeout_s: int) -> Streaming:
        """Send one request and hear its answer as it comes, or raise Unreached."""
        sent, headers = self._sent(body)
        return self.tools.http.stream("POST", self.url(what), sent, headers, timeout_s)

    def url(self, what: str) -> str:
        """Give the address of what is asked."""
        return self.base + self.table.paths.get(what, what)

    def has(self, what: str) -> bool:
        """Say whether this engine has a path for it at all."""
        return what in self.table.paths

    def again(self, what: str, body: Optional[Mapping[str, Json]] = None) -> str:
        """Word the command that asks the same by hand; a long text in it is cut."""
        words = ["curl", "-sS", self.url(what)]
        if body is not None:
            brief = {name: _brief(value) for name, value in body.items()}
            words += ["-H", "Content-Type: application/json", "-d", json.dumps(brief)]
        key = f' -H "Authorization: Bearer ${self.table.key_variable}"' if self.key else ""
        return by_hand(words) + key

    def completion(self, prompt: str, max_tokens: int, *, to_its_limit: bool) -> Dict[str, Json]:
        """Make the body of a streamed completion that ends in its usage."""
        return {
            "model": self.model,
            "prompt": prompt,
            "max_tokens": max_tokens,
            "temperature": 0,
            **STREAMED,
            **(self.table.unending if to_its_limit else {}),
        }

    def stays(self, *seen: str) -> None:
        """End the check when the launch is no more the one that is judged, or time is over."""
        fate, how = self.tools.fate()
        if fate is not Fate.SAME:
            unjudged(f"the launch is {fate.value}: {how}", *seen)
        if self.tools.left_s() <= 1:
            unjudged("the gate's deadline is over", *seen)

    def _sent(self, body: Optional[Mapping[str, Json]]) -> "tuple[Optional[bytes], dict[str, str]]":
        headers = {"Authorization": "Bearer " + self.key} if self.key else {}
        if body is None:
            return None, headers
        return json.dumps(body).encode(), {**headers, "Content-Type": "application/json"}


def meet(
    tools: Tools, subject: Optional[Subject], engine: str, port: int = 0, model: str = ""
) -> Service:
    """Find where this launch answers and which model it serves; Settled where it does not.

    `port` 0 is the part's first one, `model` "" the first that is served.
    """
    if subject is None:
        unjudged("no launch to judge")
    port = port or next(iter(tools.part.listens), 0)
    if not port:
        unjudged("the part listens on no port: nothing to ask")
    try:
        table = engines.engine(engine)
    except engines.EngineError as error:
        unjudged(str(error))
    key = tools.proc.environ(subject.pid).get(table.key_variable, "") if table.key_variable else ""
    service = Service(tools, subject, table, _base(tools, subject, port), key)
    return Service(tools, subject, table, service.base, key, _served(service, model))


def _base(tools: Tools, subject: Subject, port: int) -> str:
    """Give the address that this launch, and nobody else, listens on."""
    listeners = tools.proc.listeners(port)
    again = by_hand(["ss", "-ltnp", f"sport = :{port}"])
    foreign = [one for one in listeners if one.pid and not one.is_of(subject)]
    if foreign:
        fail(*(f"port {port} is held by {holder(one)}" for one in foreign), again)
    if not listeners or any(not one.pid for one in listeners):
        unjudged(f"nobody of this launch listens on port {port}: nothing to ask", again)
    address = _ANY.get(listeners[0].address, listeners[0].address)
    return f"http://{f'[{address}]' if ':' in address else address}:{port}"


def _served(service: Service, model: str) -> str:
    again = service.again("models")
    try:
        answer = service.ask("models")
    except Unreached as error:
        service.stays(str(error))
        unjudged(str(error), again)
    if answer.status in LOCKED:
        variable = service.table.key_variable
        how = f"give it by {variable} in the part's env" if variable else "it takes none by env"
        fail(f"up, but it answers {answer.status}: its API key is not known here; {how}", again)
    served = [str(one["id"]) for one in value(service, answer, "data", again)]
    if not served:
        fail(f"{service.url('models')} lists no model", again)
    if model and model not in served:
        fail(f"serves {', '.join(served)}, not {model}", again)
    return model or served[0]


def value(service: Service, answer: HttpAnswer, pointer: str, *said: str) -> Any:  # noqa: ANN401 # JSON
    """Give what stands at a place of a JSON answer of status 200; Settled where there is none."""
    service_says = f"answers {answer.status}: {message(answer)}"
    if answer.status != OK:
        service.stays(service_says)
        (unjudged if answer.status == LOADING else fail)(service_says, *said)
    try:
        return find(json.loads(answer.body), pointer)
    except (ValueError, CompareError):
        fail(f"it answers what is not its kind: {message(answer)}", *said)


def message(answer: HttpAnswer) -> str:
    """Pick what an engine's error says to people; all of it where it has another shape."""
    try:
        error = json.loads(answer.body)
        error = error.get("error", error) if isinstance(error, dict) else error
        return shown(str(error["message"] if isinstance(error, dict) else error))
    except (ValueError, LookupError, TypeError):
        return shown(answer.body.decode(errors="replace"))


def _brief(value: Json) -> Json:
    """Cut a long text in the middle: a prompt of 150k tokens helps nobody."""
    if isinstance(value, str) and len(value) > BRIEF:
        return f"{value[: BRIEF // 2]} ... {len(value)} characters ... {value[-BRIEF // 2 :]}"
    return value
