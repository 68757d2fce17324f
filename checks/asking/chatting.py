"""A chat's answer with what a completion has not: function calls, whole or streamed."""

import json
import time
from dataclasses import dataclass, replace
from typing import Any, Dict, List, Mapping, Tuple

from headway.wire.evidence import shown
from headway.wire.loader import Json
from headway.wire.tools import Unreached
from headway_checks.asking.service import Service
from headway_checks.asking.stream import Heard, events, hear, usage_of

_THOUGHT = ("reasoning", "reasoning_content")


@dataclass(frozen=True)
class Call:
    """A function call: its name, and its arguments as the JSON text that they are sent as."""

    name: str
    arguments: str


@dataclass(frozen=True)
class Chatted:
    """What was heard of a chat, and the functions it calls."""

    heard: Heard
    calls: Tuple[Call, ...] = ()


def chat(service: Service, body: Mapping[str, Json], timeout_s: int, *, streamed: bool) -> Chatted:
    """Send one chat and hear its answer, streamed or whole; trouble is in what is heard."""
    if not streamed:
        return _whole(service, body, timeout_s)
    options = {"stream": True, "stream_options": {"include_usage": True}}
    heard = hear(lambda: service.stream("chat", {**body, **options}, timeout_s))
    deltas = [
        choice.get("delta") or {}
        for event in events(heard.raw)
        if isinstance(event, dict)
        for choice in event.get("choices") or ()
    ]
    return Chatted(heard, _joined(deltas))


def _whole(service: Service, body: Mapping[str, Json], timeout_s: int) -> Chatted:
    sent_us = time.monotonic_ns() // 1000
    try:
        answer = service.ask("chat", body, timeout_s)
    except Unreached as error:
        ended_us = time.monotonic_ns() // 1000
        silent = Heard(sent_us=sent_us, ended_us=ended_us, trouble=str(error), late=error.late)
        return Chatted(replace(silent, refused=error.refused))
    ended_us = sent_us + 1000 * answer.took_ms
    heard = Heard(answer.status, sent_us, ended_us, raw=answer.body)
    try:
        document = json.loads(answer.body)
        choice = document["choices"][0]
        message = choice["message"]
    except (ValueError, LookupError, TypeError):
        said = shown(answer.body.decode(errors="replace"))
        return Chatted(replace(heard, trouble=f"no chat came: {said or 'an empty answer'}"))
    text, thought = message.get("content") or "", _thought(message)
    heard = replace(
        heard,
        text=text,
        thought=thought,
        finish=choice.get("finish_reason") or "",
        usage=usage_of(document),
    )
    return Chatted(heard, _joined([message]))


def _thought(message: Mapping[str, Any]) -> str:
    return next((message[name] for name in _THOUGHT if message.get(name)), "")


def _joined(deltas: List[Dict[str, Any]]) -> Tuple[Call, ...]:
    """Put calls together: a stream sends the name once and the arguments in pieces, by index."""
    names: Dict[int, str] = {}
    arguments: Dict[int, str] = {}
    for delta in deltas:
        for place, piece in enumerate(delta.get("tool_calls") or ()):
            index, function = piece.get("index", place), piece.get("function") or {}
            names[index] = names.get(index, "") + (function.get("name") or "")
            given = function.get("arguments") or ""
            text = given if isinstance(given, str) else json.dumps(given)
            arguments[index] = arguments.get(index, "") + text
    return tuple(Call(names[index], arguments[index]) for index in sorted(names))
