"""How many tokens of this engine a text is, and texts made to be so many."""

import json
from typing import Callable, Dict, Optional, Tuple

from headway.wire.compare import CompareError, find
from headway.wire.tools import Unreached
from headway_checks.asking import prompts
from headway_checks.asking.service import OK, Service
from headway_checks.asking.stream import usage_of

PERCENT = 1  # a prompt that misses its length by more is rejected
_SAMPLE = 2000  # characters that are counted to begin with
_TRIES = 5  # a draft and its correction do; short prompts of an uneven text take more
_NEAR = 200  # within a half of a percent it is not tried again


class Ruler:
    """Counts by the engine's own /tokenize; where it has none, by the usage of its answers."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.counts = bool(service.table.tokenize)
        self.generated = 0  # tokens that the engine said only to be counted
        self._density: Dict[str, float] = {}  # tokens a character, by text

    def count(self, text: str) -> Optional[int]:
        """Count a text's tokens in one request; None where this engine does not count."""
        if not self.counts:
            return None
        how = self.service.table.tokenize
        body = {"model": self.service.model, how["text"]: text, "add_special": True}
        try:
            answer = self.service.ask("tokenize", body, timeout_s=30)
            found = find(json.loads(answer.body), how["tokens"]) if answer.status == OK else 0
        except (Unreached, ValueError, CompareError):
            found = 0
        count = found if isinstance(found, int) else len(found or ())
        self.counts = bool(count)
        return count or None

    def fitted(
        self, name: str, tokens: int, make: Callable[[int], str]
    ) -> Tuple[str, Optional[int]]:
        """Make a prompt of so many tokens: `make` writes one with so many characters of a text.

        Returns it with its counted tokens, None where only an answer's usage will tell.
        """
        fixed, best = len(make(0)), ("", 0)
        characters = tokens / self.density(name)
        for _ in range(_TRIES):
            prompt = make(max(0, round(characters) - fixed))
            count = self.count(prompt)
            if count is None:
                return prompt, None
            best = min(best, (prompt, count), key=lambda one: abs(one[1] - tokens))
            if abs(best[1] - tokens) * _NEAR <= tokens:
                break
            self.learn(name, prompt, count)
            characters = len(prompt) + (tokens - count) / self.density(name)
        return best

    def density(self, name: str) -> float:
        """Give the tokens a character of a text takes, from one request at first."""
        if name not in self._density:
            sample = prompts.filler(name, _SAMPLE)
            self.learn(name, sample, self.count(sample) or self._used(sample) or len(sample) // 4)
        return self._density[name]

    def learn(self, name: str, text: str, tokens: int) -> None:
        """Take note of what a text turned out to be."""
        self._density[name] = tokens / len(text)

    def _used(self, text: str) -> Optional[int]:
        body = {"model": self.service.model, "prompt": text, "max_tokens": 1, "temperature": 0}
        try:
            answer = self.service.ask("completion", body, timeout_s=60)
            used = usage_of(json.loads(answer.body))
        except (Unreached, ValueError, AttributeError):
            return None
        self.generated += used.generated or 0
        return used.prompt


def off(counted: int, wanted: int) -> bool:
    """Tell whether a count misses what was wanted by too much."""
    return abs(counted - wanted) * 100 > wanted * PERCENT
