"""Gates that are asked again and again while another one is: warm air calls a measurement off.

A check says so by `DURING = True`, and how often by its parameter `every_s`. What does not pass
ends the other gate unjudged: it is heard through tools.fate() and tools.left_s(), between the
stages of a check and in each of its requests.
"""

import threading
from types import ModuleType
from typing import Callable, Iterable, List, Optional, Tuple

from headway.wire.gate import Answered, Gate, Judgement, Wait
from headway.wire.loader import WireError, load
from headway.wire.tools import Tools
from headway.wire.verdict import Verdict

_OFTEN_S = 15
Companion = Tuple[Gate, ModuleType]


def beside(
    gate: Gate, gates: Iterable[Gate], when: Callable[[str], Tuple[str, ...]]
) -> Tuple[Gate, ...]:
    """Name the gates of the same part that are asked while this one is; none beside their own."""
    if "during" in when(gate.kind):
        return ()
    mine = (one for one in gates if one.part == gate.part)
    return tuple(one for one in mine if "during" in when(one.kind))


class Beside:
    """Asks its companions in a thread of each, as long as it is entered.

    `warning` is the first that did not pass, as a judgement; None: all is well so far.
    """

    def __init__(self, companions: Tuple[Companion, ...], tools: Callable[[Gate], Tools]) -> None:
        self.warning: Optional[Judgement] = None
        self._over = threading.Event()
        self._threads: List[threading.Thread] = [
            threading.Thread(target=self._watch, args=(gate, check, tools(gate)), daemon=True)
            for gate, check in companions
        ]

    def __enter__(self) -> "Beside":  # noqa: PYI034 # Self is newer than the hosts' Python
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def ends(self, answer: Judgement) -> Judgement:
        """Weigh what a gate answered by what was seen beside it: a warning judges nothing."""
        if self.warning is None:
            return answer
        evidence = (*self.warning.evidence, *answer.evidence)
        return Judgement(Verdict.INVALID, evidence, answer.measurements, answer.findings)

    def _watch(self, gate: Gate, check: ModuleType, tools: Tools) -> None:
        try:
            params = load(check.Params, gate.params, (gate.name,))
        except WireError as error:
            self._warn(gate, str(error))
            return
        while True:
            self._ask(gate, check, params, tools)
            if self.warning is not None or self._over.wait(getattr(params, "every_s", _OFTEN_S)):
                return

    def _ask(self, gate: Gate, check: ModuleType, params: object, tools: Tools) -> None:
        try:
            answered: Answered = check.judge(params, None, tools)
        except Exception as error:  # noqa: BLE001 # an operator's check may raise anything
            self._warn(gate, f"check {gate.kind} broke: {type(error).__name__}: {error}")
            return
        if isinstance(answered, Wait):
            self._warn(gate, answered.reason)
        elif answered.verdict is not Verdict.PASS:
            self._warn(gate, *answered.evidence)

    def _warn(self, gate: Gate, *said: str) -> None:
        first, *rest = said or ("it did not pass",)
        words = (f"called off by gate {gate.name}: {first}", *rest)
        self.warning = self.warning or Judgement(Verdict.INVALID, words)
