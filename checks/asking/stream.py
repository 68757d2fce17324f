"""A streamed answer as it was heard: when its words came, what they say, and how it ended.

Hearing costs a few microseconds an event: bytes are kept as they come, expressions find the words
in them afterwards, and JSON is read for the few events that end an answer.
"""

import json
import re
import time
from bisect import bisect_left
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Tuple

from headway.wire.evidence import shown
from headway.wire.tools import Streaming, Unreached

_WORDS = re.compile(rb'"(text|content|reasoning|reasoning_content)":\s*"([^"\\]*(?:\\.[^"\\]*)*)"')
_SPREAD = re.compile(rb"\ndata:[^\n]*\ndata:")
_FINISH = re.compile(rb'"finish_reason":\s*"([^"]*)"')
_SPOKEN = (b"text", b"content")
_ERROR_KEPT = 64 * 1024  # bytes of an answer that is no stream


@dataclass(frozen=True)
class Usage:
    """Tokens as the engine counts them in an answer; None where it does not say."""

    prompt: Optional[int] = None
    generated: Optional[int] = None
    cached: Optional[int] = None


@dataclass(frozen=True)
class Heard:
    """One answer. Times are microseconds of one monotonic clock.

    `arrivals` are the times at which words came, one an event. `text` is what was said, `thought`
    what came in a reasoning field. `finish` is "" where the stream gave no reason for its end.
    `trouble` says why there is no whole answer: `late`, our own deadline was over; `refused`,
    nobody listened. `last` is the last event that told of usage, as JSON.
    """

    status: int = 0
    sent_us: int = 0
    ended_us: int = 0
    arrivals: Tuple[int, ...] = ()
    text: str = ""
    thought: str = ""
    finish: str = ""
    usage: Usage = Usage()
    last: Mapping[str, Any] = field(default_factory=dict)
    raw: bytes = b""
    trouble: str = ""
    late: bool = False
    refused: bool = False

    @property
    def ttft_us(self) -> int:
        """Give the time from the request to its first words; to the end where none came."""
        return (self.arrivals[0] if self.arrivals else self.ended_us) - self.sent_us

    @property
    def gaps_us(self) -> List[int]:
        """Give the times between words that came one after the other."""
        return [after - before for before, after in zip(self.arrivals, self.arrivals[1:])]


def hear(ask: Callable[[], Streaming]) -> Heard:
    """Ask and listen to the end; whatever goes wrong is in what was heard."""
    began = _now_us()
    raw, ends, times = bytearray(), [], []
    answer: Optional[Streaming] = None
    broken: Dict[str, Any] = {}
    try:
        answer = ask()
        for piece in answer.pieces():
            raw += piece.data
            ends.append(len(raw))
            times.append(piece.at_us)
    except Unreached as error:
        broken = {"trouble": str(error), "late": error.late, "refused": error.refused}
    finally:
        if answer is not None:
            answer.close()
    if answer is None:
        return Heard(sent_us=began, ended_us=_now_us(), **broken)
    found = _understood(bytes(raw), ends, times)
    ended = times[-1] if times and not broken else max(_now_us(), *times, 0)
    return Heard(
        status=answer.status, sent_us=answer.sent_us, ended_us=ended, **{**found, **broken}
    )


def events(raw: bytes) -> Iterator[Any]:
    """Give each event of a stream as JSON; what is none (pings, [DONE]) is left out."""
    for block in re.split(rb"\r?\n\r?\n", raw):
        rows = re.findall(rb"^data: ?(.*?)\r?$", block, re.MULTILINE)
        try:
            yield json.loads(b"\n".join(rows))
        except ValueError:
            continue


def usage_of(document: Mapping[str, Any]) -> Usage:
    """Read the usage of an answer or of an event."""
    used = document.get("usage") or {}
    details = used.get("prompt_tokens_details") or {}
    return Usage(
        used.get("prompt_tokens"), used.get("completion_tokens"), details.get("cached_tokens")
    )


def _understood(raw: bytes, ends: List[int], times: List[int]) -> Dict[str, Any]:
    """Find words, end, usage and errors in what came."""
    if b"data:" not in raw:
        said = shown(raw[:_ERROR_KEPT].decode(errors="replace"))
        return {"raw": raw, "trouble": f"no stream came: {said or 'an empty answer'}"}
    whole = raw if not _SPREAD.search(raw) else b"".join(map(_one_line, events(raw)))
    arrivals: List[int] = []
    words: Dict[bool, List[bytes]] = {True: [], False: []}
    for match in _WORDS.finditer(raw):
        if match.group(2):
            words[match.group(1) in _SPOKEN].append(match.group(2))
            arrivals.append(times[bisect_left(ends, match.end())])
    reasons = _FINISH.findall(raw)
    last = _last(whole, b'"usage"')
    failed = _last(whole, b'"error"')
    return {
        "raw": raw,
        "arrivals": tuple(arrivals),
        "text": _decoded(words[True]),
        "thought": _decoded(words[False]),
        "finish": reasons[-1].decode(errors="replace") if reasons else "",
        "usage": usage_of(last),
        "last": last,
        "trouble": f"it says: {shown(json.dumps(failed['error']))}" if failed.get("error") else "",
    }


def _last(text: bytes, name: bytes) -> Dict[str, Any]:
    """Read the last event that has a value under this name; {} where none has."""
    at = len(text)
    while True:
        at = text.rfind(name, 0, at)
        if at < 0:
            return {}
        start = text.rfind(b"data:", 0, at) + len(b"data:")
        end = text.find(b"\n", at)
        try:
            found = json.loads(text[start : end if end >= 0 else len(text)])
        except ValueError:
            continue
        if isinstance(found, dict) and found.get(name.strip(b'"').decode()):
            return found


def _one_line(event: Any) -> bytes:  # noqa: ANN401 # JSON
    return b"data: " + json.dumps(event).encode() + b"\n\n"


def _decoded(pieces: List[bytes]) -> str:
    """Read escaped words as one text: a character may come in two halves."""
    try:
        return str(json.loads(b'"' + b"".join(pieces) + b'"', strict=False))
    except ValueError:
        return b"".join(pieces).decode(errors="replace")


def _now_us() -> int:
    return time.monotonic_ns() // 1000
