"""A chat answers in the right fields: content, reasoning, function calls, images, honest usage."""

import base64
import json
import secrets
import struct
import time
import zlib
from dataclasses import dataclass, field, replace
from typing import Dict, List, Mapping, Optional, Tuple

from headway.wire.evidence import shown
from headway.wire.gate import Answered, Judgement, Measurement, Subject
from headway.wire.loader import Json
from headway.wire.tools import Tools
from headway.wire.verdict import Verdict
from headway_checks.asking import prompts
from headway_checks.asking.answers import Settled, fail, unjudged
from headway_checks.asking.chatting import Chatted, chat
from headway_checks.asking.counters import Reading, read
from headway_checks.asking.ends import against
from headway_checks.asking.pulse import FLAT_S, Pulse, idle
from headway_checks.asking.service import Service, meet
from headway_checks.asking.stream import Heard

DEADLINE_S = 600
_LEAKS = ("<think>", "</think>", "<|channel|>", "<tool_call>", "[TOOL_CALLS]", "<|im_start|>")
_TOOL = "get_weather"
_CITIES = ("Lisbon", "Oslo", "Quito", "Nairobi", "Hanoi", "Perth")
_COLOURS = {"red": (255, 0, 0), "green": (0, 255, 0), "blue": (0, 0, 255), "yellow": (255, 255, 0)}
_SIDE = 64  # pixels: some vision models take nothing smaller than 28
_TRIES = 2  # of counting one request: another client's may fall into the first
_READINGS, _BETWEEN_S = 15, 0.2


@dataclass(frozen=True)
class Params:
    """What this model can do, and what is asked of it.

    `reasoning`: it must reason, in the field for it. `usage` compares each answer's usage with the
    engine's own counters, for which the engine must be idle. `extra` goes into every request
    (`chat_template_kwargs`). Reasoning counts into `max_tokens`.
    """

    engine: str
    tools: bool = True
    reasoning: bool = False
    image: bool = False
    usage: bool = True
    max_tokens: int = 1024
    extra: Dict[str, Json] = field(default_factory=dict)
    request_s: int = 120
    flat_s: int = FLAT_S
    port: int = 0
    model: str = ""


def judge(params: Params, subject: Optional[Subject], tools: Tools) -> Answered:
    """Ask for words, for a call and about a picture, each whole and streamed."""
    try:
        service = meet(tools, subject, params.engine, params.port, params.model)
        if params.usage:
            idle(service)
        with Pulse(service, params.flat_s) as pulse:
            return _Talk(params, service, pulse).judged()
    except Settled as settled:
        return settled.answer


class _Talk:
    """One launch being talked to; evidence gathers on the way."""

    def __init__(self, params: Params, service: Service, pulse: Pulse) -> None:
        self.params = params
        self.service = service
        self.pulse = pulse
        self.seen: List[str] = []
        self.measured: List[Measurement] = []

    def judged(self) -> Judgement:
        """Ask everything that the role says the model can do."""
        for streamed in (False, True):
            self._words(streamed=streamed)
        if self.params.tools:
            for streamed in (False, True):
                self._call(streamed=streamed)
        if self.params.image:
            self._picture()
        if self.params.usage and self.pulse.foreign:
            unjudged(f"{self.pulse.foreign} requests of other clients ran meanwhile", *self.seen)
        return Judgement(Verdict.PASS, tuple(self.seen), tuple(self.measured))

    # --- questions ---------------------------------------------------------------------------

    def _words(self, *, streamed: bool) -> None:
        marker = prompts.marker("")
        text = f"{prompts.salt()}Answer with the marker alone.{prompts.hidden(marker)}"
        body = self._body(f"{text}{prompts.QUESTION}")
        what = f"words, {_how(streamed=streamed)}"
        told = self._counted(body, what, streamed=streamed)
        heard = told.heard
        if marker not in heard.text:
            self._unfinished(heard, what, body)
            said = f"{marker} was asked for, it says: {shown(heard.text) or 'nothing'}"
            self._fail(f"{what}: {said}", body)
        if self.params.reasoning and not heard.thought:
            fields = " or ".join(self.service.table.reasoning)
            self._fail(f"{what}: nothing in {fields}; content: {shown(heard.text)}", body)
        self.measured.append(
            Measurement(what, heard.ended_us // 1000 - heard.sent_us // 1000, "ms")
        )
        self.seen.append(self.service.again("chat", body))

    def _call(self, *, streamed: bool) -> None:
        city = secrets.choice(_CITIES)
        asks = f"What is the weather in {city}? Call the function for it."
        city_of = {"city": {"type": "string", "description": "The city's name"}}
        schema = {"type": "object", "properties": city_of, "required": ["city"]}
        function = {"name": _TOOL, "description": "Tell a city's weather", "parameters": schema}
        tools = [{"type": "function", "function": function}]
        body = {**self._body(asks), "tools": tools, "tool_choice": "auto"}
        what = f"call, {_how(streamed=streamed)}"
        told = self._counted(body, what, streamed=streamed)
        if not told.calls:
            self._unfinished(told.heard, what, body)
            self._fail(f"{what}: no function called, it says: {shown(told.heard.text)}", body)
        call = told.calls[0]
        if call.name != _TOOL:
            self._fail(f"{what}: {_TOOL} was to be called, it calls {call.name!r}", body)
        if city.lower() not in _city(call.arguments).lower():
            self._fail(f"{what}: arguments without {city}: {shown(call.arguments)}", body)
        self.seen.append(f"{what}: {call.name}({shown(call.arguments)})")

    def _picture(self) -> None:
        colour = secrets.choice(sorted(_COLOURS))
        url = "data:image/png;base64," + base64.b64encode(_png(_COLOURS[colour])).decode()
        asks = {"type": "text", "text": "What colour is this picture? Answer with one word."}
        content = [asks, {"type": "image_url", "image_url": {"url": url}}]
        body = self._body(content)
        heard = self._asked(body, "picture", streamed=False).heard
        if colour not in heard.text.lower():
            self._unfinished(heard, "picture", body)
            self._fail(f"picture: it is {colour}, it says: {shown(heard.text)}", body)
        self.seen.append(f"picture: {colour}")

    def _body(self, content: Json) -> Dict[str, Json]:
        messages = [{"role": "user", "content": content}]
        options = {"max_tokens": self.params.max_tokens, "temperature": 0, **self.params.extra}
        return {"model": self.service.model, "messages": messages, **options}

    # --- asking ------------------------------------------------------------------------------

    def _asked(self, body: Mapping[str, Json], what: str, *, streamed: bool) -> Chatted:
        """Ask once; Settled where the answer is late, broken, or in the wrong field."""
        self.service.stays(*self.seen)
        self.pulse.asking(1)
        try:
            told = chat(self.service, body, self.params.request_s, streamed=streamed)
        finally:
            self.pulse.asking(-1)
        wrong = against(_as_words(told), self.pulse)
        if wrong is not None:
            said = (f"{what}: {wrong.evidence[0]}", *wrong.evidence[1:])
            raise Settled(Judgement(wrong.verdict, (*said, *self._end(body))))
        leaked = [mark for mark in _LEAKS if mark in told.heard.text]
        if leaked:
            said_so = f"{what}: {leaked[0]} leaked into the content: {shown(told.heard.text)}"
            self._fail(said_so, body)
        return told

    def _counted(self, body: Mapping[str, Json], what: str, *, streamed: bool) -> Chatted:
        """Ask, and compare the answer's usage with what the engine's counters did meanwhile."""
        if not self.params.usage:
            return self._asked(body, what, streamed=streamed)
        for left in reversed(range(_TRIES)):
            before = idle(self.service)
            told = self._asked(body, what, streamed=streamed)
            wrong, said = self._compared(told.heard, before)
            if not wrong:
                self.seen.append(f"{what}: finish_reason {told.heard.finish}; {said}")
                break
            if not left:
                self._fail(f"{what}: {wrong}", body)
        return told

    def _compared(self, heard: Heard, before: Reading) -> Tuple[str, str]:
        """Say what the usage has wrong ("" is nothing), and what it has right."""
        used = heard.usage
        if used.prompt is None or used.generated is None:
            return "an answer without usage", ""
        wanted = {"prompt": used.prompt, "cached": used.cached, "generated": used.generated}
        counted = self._settled(before)
        pairs = {name: (wanted[name], counted.get(name)) for name in wanted}
        wrong = [
            f"usage says {told} {name} tokens, the engine counted {count}"
            for name, (told, count) in pairs.items()
            if told is not None and count is not None and told != count
        ]
        right = [f"{count} {name}" for name, (_, count) in pairs.items() if count is not None]
        untold = "" if used.cached is not None else " (its usage does not tell cached ones)"
        return "; ".join(wrong), f"usage as counted: {', '.join(right)}{untold}"

    def _settled(self, before: Reading) -> Dict[str, Optional[int]]:
        """Give what was counted since, once that moves no more: counters follow an answer."""
        counted: Dict[str, Optional[int]] = {}
        for _ in range(_READINGS):
            after = read(self.service)
            seen = self._between(before, after) if after else {}
            if seen == counted and seen.get("generated"):
                break
            counted = seen
            time.sleep(_BETWEEN_S)
        return counted

    def _between(self, before: Reading, after: Reading) -> Dict[str, Optional[int]]:
        names = ("prompt", "cached", "generated")
        went = {
            name: None if after.counted.get(name) is None else after.of(name) - before.of(name)
            for name in names
        }
        prompt, cached = went["prompt"], went["cached"]
        if self.service.table.cached_apart and prompt is not None:
            went["prompt"] = prompt + (cached or 0)
        return went

    # --- answering ---------------------------------------------------------------------------

    def _unfinished(self, heard: Heard, what: str, body: Mapping[str, Json]) -> None:
        """Say nothing against an answer that our own limit ended while it still reasoned."""
        if heard.finish == "length" and heard.thought and not heard.text:
            said = f"{what}: max_tokens {self.params.max_tokens} ended it while it reasoned"
            unjudged(said, *self._end(body))

    def _fail(self, said: str, body: Mapping[str, Json]) -> None:
        fail(said, *self._end(body))

    def _end(self, body: Mapping[str, Json]) -> List[str]:
        again = self.service.again("chat", body)
        return [*(one for one in self.seen if one != again), again]


def _as_words(told: Chatted) -> Heard:
    """Let a call count as the end and the words that it stands for."""
    heard = told.heard
    if not told.calls:
        return heard
    finish = "stop" if heard.finish == "tool_calls" else heard.finish
    return replace(heard, finish=finish, text=heard.text or told.calls[0].name or "call")


def _how(*, streamed: bool) -> str:
    return "streamed" if streamed else "whole"


def _city(arguments: str) -> str:
    try:
        found = json.loads(arguments)
    except ValueError:
        return ""
    return str(found.get("city", "")) if isinstance(found, dict) else ""


def _png(colour: Tuple[int, int, int]) -> bytes:
    """Draw a square of one colour: 8 bits, RGB."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    head = struct.pack(">IIBBBBB", _SIDE, _SIDE, 8, 2, 0, 0, 0)
    rows = (b"\0" + bytes(colour) * _SIDE) * _SIDE
    body = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body
