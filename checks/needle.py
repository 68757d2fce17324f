"""A fresh marker, hidden at given depths of real text, is quoted exactly, cold and warm."""

import json
import shlex
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Tuple

from headway.wire.evidence import shown
from headway.wire.gate import Answered, Judgement, Measurement, Subject
from headway.wire.tools import Tools
from headway.wire.verdict import Verdict
from headway_checks.asking import prompts
from headway_checks.asking.answers import Settled, fail, unjudged
from headway_checks.asking.ends import against
from headway_checks.asking.pulse import FLAT_S, Pulse
from headway_checks.asking.service import STREAMED, Service, meet
from headway_checks.asking.stream import Heard
from headway_checks.asking.tokens import Ruler, off

DEADLINE_S = 1800
_TEXT = "prose"
_WARM_AT_MOST = 64  # tokens of a fresh prompt that a cache may know: a template, a first block


@dataclass(frozen=True)
class Params:
    """Where to hide it. The ladder of `depths` (tokens of the whole prompt) ends at the first miss.

    `positions_percent` are places of the marker in the text: 0 is its beginning. `warm` asks each
    prompt again, out of the prefix cache. `chat` asks through the chat template; models that
    reason need more `max_tokens` then. Each request has `request_s`; `flat_s` is how long counters
    may stand still with requests running.
    """

    engine: str
    depths: Tuple[int, ...] = (1000, 4000)
    positions_percent: Tuple[int, ...] = (10, 50, 90)
    warm: bool = True
    chat: bool = False
    max_tokens: int = 32
    request_s: int = 300
    flat_s: int = FLAT_S
    port: int = 0
    model: str = ""


def judge(params: Params, subject: Optional[Subject], tools: Tools) -> Answered:
    """Climb the ladder; a prompt that is not as long as it should be proves nothing."""
    if not params.depths or not params.positions_percent:
        return Judgement(Verdict.INVALID, ("no depth or no position is asked for",))
    try:
        service = meet(tools, subject, params.engine, params.port, params.model)
        with Pulse(service, params.flat_s) as pulse:
            return _Ladder(params, service, pulse).climbed()
    except Settled as settled:
        return settled.answer


@dataclass(frozen=True)
class _Probe:
    """One prompt: where its marker lies, and how long it came out."""

    depth: int
    position: int
    marker: str
    text: str
    counted: Optional[int]


class _Ladder:
    """One climb; evidence gathers on the way."""

    def __init__(self, params: Params, service: Service, pulse: Pulse) -> None:
        self.params = params
        self.service = service
        self.pulse = pulse
        self.ruler = Ruler(service)
        self.what = "chat" if params.chat else "completion"
        if params.chat:  # the template's tokens are counted by nobody but the answer's usage
            self.ruler.counts = False
        self.seen: List[str] = []
        self.measured: List[Measurement] = []

    def climbed(self) -> Judgement:
        """Probe every position of every depth, the shallow ones first."""
        for depth in sorted(self.params.depths):
            cold = [self._probed(depth, at) for at in self.params.positions_percent]
            took = sorted(heard.ttft_us for heard in cold)[len(cold) // 2] // 1000
            self.measured.append(Measurement(f"cold_ttft@{depth}", took, "ms", len(cold)))
        self.measured.insert(0, Measurement("needle", max(self.params.depths), "tokens"))
        evidence = (*self.seen, self._again(min(self.params.depths)))
        return Judgement(Verdict.PASS, evidence, tuple(self.measured))

    def _probed(self, depth: int, position: int) -> Heard:
        """Ask for one marker, cold and warm; a prompt of a wrong length is made again."""
        start = prompts.somewhere(_TEXT)
        for last in (False, False, True):
            probe = self._probe(depth, position, start)
            self.service.stays(*self.seen)
            cold = self._asked(probe, "cold")
            if self._measures(probe, cold, last=last):
                break
        self._quoted(probe, cold, "cold")
        counted = probe.counted if probe.counted is not None else cold.usage.prompt
        said = f"{_place(probe)}: {counted} counted; quoted cold after {_ms(cold)} ms"
        if self.params.warm:
            warm = self._asked(probe, "warm")
            self._quoted(probe, warm, "warm")
            said += (
                f", warm after {_ms(warm)} ms ({warm.usage.cached or 'none known to be'} cached)"
            )
        self.seen.append(said)
        return cold

    def _probe(self, depth: int, position: int, start: int) -> _Probe:
        salt, marker = prompts.salt(), prompts.marker(prompts.text(_TEXT))

        def make(characters: int) -> str:
            around = prompts.filler(_TEXT, characters, start)
            at = len(around) * position // 100
            middle = prompts.hidden(marker)
            return f"{salt}{around[:at]}{middle}{around[at:]} {prompts.QUESTION}"

        text, counted = self.ruler.fitted(_TEXT, depth, make)
        return _Probe(depth, position, marker, text, counted)

    def _asked(self, probe: _Probe, how: str) -> Heard:
        body = {**self._body(probe.text), **STREAMED}
        heard = self.pulse.hear(self.what, body, self.params.request_s)
        wrong = against(heard, self.pulse)
        if wrong is not None:
            said = f"{_place(probe)}, {how}: {wrong.evidence[0]}"
            evidence = (said, *wrong.evidence[1:], *self.seen, self._again(probe.depth))
            raise Settled(Judgement(wrong.verdict, evidence, tuple(self.measured)))
        return heard

    def _measures(self, probe: _Probe, cold: Heard, *, last: bool) -> bool:
        """See that the engine read as many tokens as it should, and all of them afresh."""
        used, cached = cold.usage.prompt, cold.usage.cached or 0
        if used is None and probe.counted is None:
            self._rejected(f"{_place(probe)}: nothing counts its tokens")
        counts = {"/tokenize": probe.counted, "its usage": used}
        wrong = [
            f"{probe.depth} tokens asked for, {count} counted by {who}"
            for who, count in counts.items()
            if count is not None and off(count, probe.depth)
        ]
        if wrong and (last or probe.counted is not None or used is None):
            self._rejected(f"{_place(probe)}: off by more than 1 %: {'; '.join(wrong)}")
        if wrong and used is not None:
            self.ruler.learn(_TEXT, probe.text, used)
        if cached > _WARM_AT_MOST + probe.depth // 100:
            self._rejected(f"{_place(probe)}: {cached} tokens of a fresh prompt came from a cache")
        return not wrong

    def _rejected(self, said: str) -> None:
        unjudged(said, *self.seen, self._again(min(self.params.depths)), measured=self.measured)

    def _quoted(self, probe: _Probe, heard: Heard, how: str) -> None:
        """See that the marker, and nothing in its place, was said."""
        if _holds(heard.text, probe.marker):
            return
        if _holds(heard.thought, probe.marker):
            said = f"{probe.marker} only where it reasons, not in its answer"
        else:
            said = f"{probe.marker} is not quoted, it says: {shown(heard.text) or 'nothing'}"
        counts = f"{probe.counted} tokens by /tokenize, {heard.usage.prompt} by its usage"
        said = f"{_place(probe)}, {how}: {said} (finish_reason {heard.finish}; {counts})"
        fail(said, *self.seen, self._again(probe.depth), measured=self.measured)

    def _body(self, text: str) -> Dict[str, Any]:
        asked: Dict[str, Any] = (
            {"messages": [{"role": "user", "content": text}]}
            if self.params.chat
            else {"prompt": text}
        )
        options = {"max_tokens": self.params.max_tokens, "temperature": 0}
        return {"model": self.service.model, **asked, **options}

    def _again(self, depth: int) -> str:
        """Word a command that makes such a prompt of another text, and asks."""
        body = json.dumps(self._body("TEXT")).replace('"TEXT"', "text")
        code = (
            f'import json; page = "It is a page like any other. " * {max(1, depth // 14)}; '
            f'text = page + "{prompts.QUESTION} BDF-4827-XKZ. " + page + "{prompts.QUESTION}"; '
            f"print(json.dumps({body}))"
        )
        asks = self.service.again(self.what).replace("by hand: ", "", 1)
        made = shlex.join(["python3", "-c", code])
        return f"by hand: {made} | {asks} -H 'Content-Type: application/json' -d @-"


def _holds(text: str, marker: str) -> bool:
    """Tell whether a marker stands in a text, and not as a part of something longer."""
    at = text.find(marker)
    around = text[max(0, at - 1) : at] + text[at + len(marker) : at + len(marker) + 1]
    return at >= 0 and not any(sign.isalnum() or sign == "-" for sign in around)


def _place(probe: _Probe) -> str:
    return f"{probe.depth} tokens, marker at {probe.position} %"


def _ms(heard: Heard) -> int:
    return heard.ttft_us // 1000
