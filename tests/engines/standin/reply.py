"""What the stand-in says: it copies what followed the same words before, calls tools, babbles.

It answers like the copy model of tests/lab/copy_model.py: a prompt that ends in "The secret marker
is" is continued with what an earlier "The secret marker is" introduced.
"""

from __future__ import annotations

import itertools
import json
import re
import struct
import zlib
from base64 import b64decode
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .tokens import pieces

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .asked import Asked
    from .knobs import Knobs

REASONING, CONTENT, TOOL = "reasoning", "content", "tool"
_BACK = 3  # tokens that have to be the same before
_QUESTION = re.compile(r"(marker|code|word|key|number)\b.{0,120}\Z", re.DOTALL)
_WORDS = (
    *("the", "naïve", "reader", "turns", "a", "page", "and", "finds", "that", "every", "line"),
    *("of", "it", "was", "written", "by", "somebody", "who", "knew", "how", "long", "night"),
    *("would", "be", "in", "this", "old", "façade", "house", "under", "grey", "stars"),
)
_GARBAGE = ("ƔƔ", "}{", "oOo", "ⴰ", "--", "qqxz", " !!", "ж", "ﾟ", "0x", " the", "##")
_THOUGHT = "The user wants an answer, so I look for what was asked and say it."
_AS_TEXT = '<tool_call>{{"name": "{name}", "arguments": {arguments}}}</tool_call>'
_COPIED = 400  # characters at most
_SAID = 12  # words of an answer to a chat that asks for nothing we know


@dataclass(frozen=True)
class Reply:
    """Its tokens in order, each with the field it belongs to, and how it ends by itself."""

    tokens: tuple[tuple[str, str], ...]
    finish: str
    tool_name: str = ""


def reply_to(asked: Asked, knobs: Knobs, prompt_tokens: int) -> Reply:
    """Answer, as far as max_tokens and the knobs let it."""
    whole = _whole(asked, knobs)
    tokens, finish = list(whole.tokens), whole.finish
    if asked.ignore_eos or knobs.endless:
        extra = itertools.islice(_babble(), max(0, asked.max_tokens - len(tokens)))
        tokens += [(CONTENT, piece) for piece in extra]
    if len(tokens) >= asked.max_tokens:
        tokens, finish = tokens[: asked.max_tokens], "length"
    if knobs.stop_after:
        tokens = tokens[: knobs.stop_after]
    if knobs.garbage_past:
        sane = max(0, knobs.garbage_past - prompt_tokens)
        garbage = itertools.cycle(_GARBAGE)
        tokens = tokens[:sane] + [(kind, next(garbage)) for kind, _ in tokens[sane:]]
    if knobs.finish:
        finish = "" if knobs.finish == "null" else knobs.finish
    return Reply(tuple(tokens), finish, whole.tool_name)


def _whole(asked: Asked, knobs: Knobs) -> Reply:
    thought = _THOUGHT if knobs.thinks and asked.thinking and asked.chat else ""
    if knobs.blank:
        return _said("", "", "stop")
    if knobs.repeats:
        again = (" again and again",) * (asked.max_tokens // 3 + 1)
        return _said("", "".join(again), "length")
    if asked.tool and knobs.tool != "none":
        return _call(asked, knobs, thought)
    content, finish = _content(asked, wrong=knobs.wrong)
    if knobs.reasoning == "only":
        return _said(thought or _THOUGHT, "", finish)
    if knobs.reasoning == "leaked":
        return _said("", f"<think>{thought or _THOUGHT}</think>{content}", finish)
    return _said(thought, content, finish)


def _said(thought: str, content: str, finish: str) -> Reply:
    tokens = [(REASONING, piece) for piece in pieces(thought)]
    tokens += [(CONTENT, piece) for piece in pieces(content)]
    return Reply(tuple(tokens), finish)


def _content(asked: Asked, *, wrong: bool) -> tuple[str, str]:
    """Copy; else answer what a question names; else babble."""
    if asked.images:
        return ("blue and green" if wrong else colour_of(asked.images[-1])), "stop"
    found = _copied(asked.text) or _named(asked.text)
    if found and wrong:
        found = " ZEBRA-0000-NOTHING."
    if asked.chat:
        sentence = re.split(r"(?<=[.!?])\s|\n", found.strip(), maxsplit=1)[0]
        return sentence or "".join(itertools.islice(_babble(), _SAID)).strip(), "stop"
    stop = re.search("|".join(map(re.escape, filter(None, asked.stop))) or r"\Z", found)
    if asked.stop and stop:
        return found[: stop.start()], "stop"
    return found + "".join(itertools.islice(_babble(), asked.max_tokens)), "length"


def _copied(text: str) -> str:
    """Give what followed the text's last tokens where they stood before."""
    tail = "".join(pieces(text[-200:])[-_BACK:])
    at = text.rfind(tail, 0, len(text) - len(tail)) if len(tail) > _BACK else -1
    return text[at + len(tail) : at + len(tail) + _COPIED] if at >= 0 else ""


def _named(text: str) -> str:
    """Answer a question that names a thing of which the text says what it is."""
    question = _QUESTION.search(text)
    said = [*re.finditer(rf"{question.group(1)} is:? (\S+)", text)] if question else []
    return said[-1].group(1).rstrip(".,;") if said else ""


def _babble() -> Iterator[str]:
    for number in itertools.count():
        yield " " + _WORDS[(number * 7 + number // 5) % len(_WORDS)]


def _call(asked: Asked, knobs: Knobs, thought: str) -> Reply:
    """Call the function with values found in the text."""
    name = str(asked.tool["name"])
    name = name[::-1] if knobs.tool == "wrong_name" else name
    values = {} if knobs.tool == "empty_arguments" else _values(asked)
    arguments = json.dumps(values)
    if knobs.tool == "broken_json":
        arguments = arguments[:-2]
    if knobs.tool == "as_text":
        return _said(thought, _AS_TEXT.format(name=name, arguments=arguments), "stop")
    tokens = [(REASONING, piece) for piece in pieces(thought)]
    tokens += [(TOOL, piece) for piece in pieces(arguments)]
    return Reply(tuple(tokens), "tool_calls", name)


def _values(asked: Asked) -> dict[str, Any]:
    schema = asked.tool.get("parameters") or {}
    properties = schema.get("properties") or {}
    wanted = schema.get("required") or list(properties)
    return {name: _value(properties.get(name, {}), asked.text) for name in wanted}


def _value(schema: dict[str, Any], text: str) -> Any:
    """Find a value in the text: one of the enum, a number, what is quoted, a name."""
    kind = schema.get("type", "string")
    if "enum" in schema:
        return next((one for one in schema["enum"] if str(one) in text), schema["enum"][0])
    if kind in ("integer", "number"):
        found = re.search(r"-?\d+", text)
        return int(found.group()) if found else 0
    if kind == "boolean":
        return True
    if kind == "array":
        return [_value(schema.get("items", {}), text)]
    quoted = re.search(r"[\"'“](.+?)[\"'”]", text)
    named = re.findall(r"(?<=[a-z,] )[A-Z][\w-]+", text)
    return (
        quoted.group(1)
        if quoted
        else named[-1]
        if named
        else text.rsplit(maxsplit=1)[-1].strip("?.!")
    )


_COLOURS: dict[tuple[int, ...], str] = {
    (1, 0, 0): "red",
    (0, 1, 0): "green",
    (0, 0, 1): "blue",
    (1, 1, 0): "yellow",
    (1, 1, 1): "white",
    (0, 0, 0): "black",
}


def colour_of(url: str) -> str:
    """Name the colour of the first pixel of a PNG in a data URL (8 bits, no palette)."""
    data = b64decode(url.partition("base64,")[2])
    at, packed, channels = 8, b"", 3
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        channels = {0: 1, 2: 3, 4: 2, 6: 4}.get(body[9], 3) if kind == b"IHDR" else channels
        packed += body if kind == b"IDAT" else b""
        at += 12 + length
    first = zlib.decompress(packed)[1 : 1 + channels]  # the byte before it names the row's filter
    pixel = first[:3] if channels > 2 else first[:1] * 3
    return _COLOURS.get(tuple(int(value > 127) for value in pixel), "a mixed colour")
