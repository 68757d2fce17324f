"""Many requests at once, each with a marker that nobody else can answer."""

import re
import threading
from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterator, Optional, Set, Tuple

from headway.wire.evidence import shown
from headway.wire.verdict import Verdict
from headway_checks.asking import prompts
from headway_checks.asking.ends import against
from headway_checks.asking.pulse import Pulse
from headway_checks.asking.stream import Heard
from headway_checks.asking.tokens import Ruler

_TEXT = "prose"
_MARKER = re.compile(r"[A-Z]{3}-\d{4}-[A-Z]{3}")
Body = Dict[str, Any]
Asked = Tuple[str, Body]


@dataclass(frozen=True)
class Told:
    """One request: its marker, and what came back."""

    marker: str
    heard: Heard


class Crowd:
    """Asks an engine for several at once. Each prompt has so many tokens, each answer as many.

    A request is left after `request_s`. `ruler` counts what was generated only to count.
    """

    def __init__(self, pulse: Pulse, prompt_tokens: int, max_tokens: int, request_s: int) -> None:
        self.pulse = pulse
        self.ruler = Ruler(pulse.service)
        self._max_tokens = max_tokens
        self._request_s = request_s
        self._characters = round(prompt_tokens / self.ruler.density(_TEXT))

    def asked(self) -> Asked:
        """Make a request that no other is like, and whose answer nobody else can give."""
        text = prompts.filler(_TEXT, self._characters, prompts.somewhere(_TEXT))
        marker = prompts.marker(prompts.text(_TEXT))
        lead = prompts.salt() + prompts.hidden(marker)
        return marker, self._body(f"{lead}{text} {prompts.QUESTION}")

    def again(self) -> str:
        """Word the command that asks something of the kind by hand."""
        body = self._body(prompts.filler(_TEXT, 80) + f" {prompts.QUESTION}")
        return self.pulse.service.again("completion", body)

    def ask(self, questions: Iterator[Asked], width: int, take: Callable[[Told], None]) -> None:
        """Send them to their end, so many at any time; each of as many threads takes the next.

        `take` gets one answer after the other, in no order. It ends early when the gate's time is
        over, or it is called off.
        """
        turn = threading.Lock()

        def work() -> None:
            while True:
                if self.pulse.service.tools.left_s() <= 1:
                    return
                with turn:
                    marker, body = next(questions, ("", {}))
                if not marker:
                    return
                heard = self.pulse.hear("completion", body, self._request_s)
                with turn:
                    take(Told(marker, heard))

        threads = [threading.Thread(target=work, daemon=True) for _ in range(width)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _body(self, prompt: str) -> Body:
        return self.pulse.service.completion(prompt, self._max_tokens, to_its_limit=True)


def wrong_with(told: Told, markers: Set[str], pulse: Pulse) -> Optional[Tuple[Verdict, str]]:
    """Say what is wrong with an answer; `markers` are all that were asked for around it."""
    wrong = against(told.heard, pulse)
    if wrong is not None:
        return wrong.verdict, " ".join(wrong.evidence)
    others = set(_MARKER.findall(told.heard.text)) & (markers - {told.marker})
    if others:
        mine = f"{told.marker} asked for, {min(others)} of another request answered"
        return Verdict.FAIL, f"cross-talk: {mine}"
    if told.marker not in told.heard.text:
        return Verdict.FAIL, f"{told.marker} is not quoted, it says: {shown(told.heard.text)}"
    return None
