"""The answers to a completion or a chat: whole, or as a stream of events."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Protocol

from .reply import CONTENT, REASONING, TOOL

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .dialect import Dialect, Json
    from .generation import Generation

_HERE = "\x00"  # where a token's text goes in a chunk that is made once
_STREAMED = {"content-type": "text/event-stream", "transfer-encoding": "chunked"}


class Wire(Protocol):
    """The connection an answer goes out on."""

    def whole(self, status: int, body: bytes) -> None:
        """Send one answer with its length."""
        ...

    def head(self, status: int, headers: Mapping[str, str]) -> None:
        """Send the head of an answer."""
        ...

    def write(self, data: bytes) -> None:
        """Send bytes."""
        ...

    def done(self) -> None:
        """Be ready for the next request."""
        ...

    def cut(self) -> None:
        """Close in the middle."""
        ...


class Answers:
    """What is said of one request, in its engine's shapes."""

    def __init__(self, dialect: Dialect, generation: Generation) -> None:
        self.dialect = dialect
        self.generation = generation
        self.asked = generation.asked

    def head(self, *, stream: bool) -> dict[str, Json]:
        """Give what every answer and chunk begins with."""
        return self.dialect.head(self.asked, self.generation.number, stream=stream)

    def tail(self, *, stream: bool = False) -> dict[str, Json]:
        """Give usage and what the engine adds to it; in a stream what is not there is left out."""
        used = self.generation.usage()
        if used is None:
            return {}
        extras = self.dialect.extras(used, self.generation.timing())
        usage = self.dialect.usage(used)
        if stream:
            usage = {name: value for name, value in usage.items() if value is not None}
        return {"usage": usage, **extras}

    def call(self, arguments: str, *, first: bool) -> Json:
        """Word a tool call, or a piece of its arguments."""
        piece: dict[str, Json] = {"index": 0, "function": {"arguments": arguments}}
        if first:
            piece["function"]["name"] = self.generation.reply.tool_name
            piece.update(id=f"call_{self.generation.number:08x}", type="function")
        return piece

    def reason(self, finish: str) -> str | None:
        """Name the end; None where this stand-in holds it back."""
        return None if self.generation.knobs.no_finish else self.dialect.finish_reason(finish)


class Whole:
    """Gathers all tokens and answers once."""

    def __init__(self, answers: Answers, wire: Wire) -> None:
        self.answers = answers
        self.wire = wire
        self._fields: dict[str, str] = {}

    def tokens(self, tokens: list[tuple[str, str]], finish: str | None) -> None:
        """Gather, and answer with the last ones."""
        for kind, text in tokens:
            self._fields[kind] = self._fields.get(kind, "") + text
        if finish is not None:
            self.wire.whole(200, _dumped(self._answer(finish)).encode())

    def cut(self) -> None:
        """Close with half an answer sent."""
        body = _dumped(self._answer("stop")).encode()
        self.wire.head(200, {"content-length": str(len(body))})
        self.wire.write(body[: len(body) // 2])
        self.wire.cut()

    def _answer(self, finish: str) -> Json:
        answers, dialect = self.answers, self.answers.dialect
        reason = answers.reason(finish)
        if not answers.asked.chat:
            choice = dialect.choice(reason, text=self._fields.get(CONTENT, ""))
        else:
            called = TOOL in self._fields
            calls = [answers.call(self._fields[TOOL], first=True)] if called else []
            message = dialect.message(self._fields, calls)
            choice = dialect.choice(reason, message=message)
        return {**answers.head(stream=False), "choices": [choice], **answers.tail()}


class Stream:
    """Sends each token as it comes, as server-sent events in HTTP chunks."""

    def __init__(self, answers: Answers, wire: Wire) -> None:
        self.answers = answers
        self.wire = wire
        self.knobs = answers.generation.knobs
        self._made: dict[str, tuple[str, str]] = {}
        self._begun = False
        self._called = False

    def tokens(self, tokens: list[tuple[str, str]], finish: str | None) -> None:
        """Send the tokens of a step, those of a kind as one event; then the end."""
        if not self._begun:
            self._begin()
        groups: list[tuple[str, str]] = []
        for kind, text in tokens:
            if groups and groups[-1][0] == kind:
                groups[-1] = (kind, groups[-1][1] + text)
            else:
                groups.append((kind, text))
        together = finish is not None and bool(groups) and not self.answers.dialect.finish_apart
        last = groups.pop() if together else None
        for kind, text in groups:
            self._send(self._event(kind, text))
        if finish is not None:
            self._end(finish, last)

    def cut(self) -> None:
        """Close before the end of the chunks."""
        self.wire.cut()

    def _begin(self) -> None:
        self._begun = True
        self.wire.head(200, _STREAMED)
        if self.answers.asked.chat:
            self._send(self._chunk(self.answers.dialect.opening(), None))

    def _event(self, kind: str, text: str) -> str:
        """Make a chunk of one kind once, and put each text into it."""
        if kind == TOOL and not self._called:
            self._called = True
            return self._chunk({"tool_calls": [self.answers.call(text, first=True)]}, None)
        if kind not in self._made:
            before, _, after = self._chunk(self._delta(kind, _HERE), None).partition(_dumped(_HERE))
            self._made[kind] = before, after
        before, after = self._made[kind]
        return before + _dumped(text) + after

    def _delta(self, kind: str, text: str) -> dict[str, Json]:
        answers = self.answers
        if not answers.asked.chat:
            return {"text": text}
        if kind == TOOL:
            return {"tool_calls": [answers.call(text, first=False)]}
        name = answers.dialect.reasoning_field if kind == REASONING else "content"
        return {name: text}

    def _chunk(self, delta: dict[str, Json], reason: str | None, **more: Json) -> str:
        dialect = self.answers.dialect
        content = {"delta": delta} if self.answers.asked.chat else delta
        choice = dialect.choice(reason, **content)
        return _dumped({**self.answers.head(stream=True), "choices": [choice], **more})

    def _end(self, finish: str, last: tuple[str, str] | None) -> None:
        answers, dialect = self.answers, self.answers.dialect
        told = answers.asked.with_usage or dialect.usage_unasked
        tail = answers.tail(stream=True) if told else {}
        nothing: dict[str, Json] = {} if answers.asked.chat else {"text": ""}
        delta = self._delta(*last) if last else nothing
        apart = dialect.empty_chunk_usage or answers.asked.chat
        self._send(self._chunk(delta, answers.reason(finish), **({} if apart else tail)))
        if tail and apart:
            self._send(_dumped({**answers.head(stream=True), "choices": [], **tail}))
        if not self.knobs.no_done:
            self._send("[DONE]")
        self.wire.write(b"0\r\n\r\n")
        self.wire.done()

    def _send(self, data: str) -> None:
        """Send one event, in the forms that the standard of server-sent events allows."""
        start, forms = self.answers.dialect.event, self.knobs.sse
        end = "\r\n" if "crlf" in forms else "\n"
        if "multiline" in forms and data.startswith("{"):
            data = json.dumps(json.loads(data), indent=1, ensure_ascii=False)
            data = (end + start).join(data.splitlines())
        event = start + data + end + end
        if "pings" in forms:
            event = ": ping" + end + end + event
        raw, size = event.encode(), self.knobs.http_chunk
        for at in range(0, len(raw), size or len(raw)):
            part = raw[at : at + (size or len(raw))]
            self.wire.write(b"%x\r\n%s\r\n" % (len(part), part))


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
