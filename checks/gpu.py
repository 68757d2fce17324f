"""The cards of this launch work as they should: loaded, cool, at full width, without an error."""

import threading
import time
from dataclasses import dataclass
from typing import Dict, List, Optional, Tuple

from headway.wire.cards import MUCH_BYTES, Card, CardsSeen
from headway.wire.evidence import by_hand, some
from headway.wire.gate import Answered, Judgement, Measurement, Subject
from headway.wire.tools import Tools, Unreached
from headway.wire.verdict import Verdict
from headway_checks.asking.answers import Settled
from headway_checks.asking.service import OK, Service, meet, message

DEADLINE_S = 120
_PAUSE_S = 0.5
_MIB = 1024 * 1024
_PROMPT = "Count from one to one thousand, in words, one number a line."


@dataclass(frozen=True)
class Params:
    """What the load is, and what must hold of every card on which this launch holds memory.

    `at_once` completions of `max_tokens` are asked for again and again, for `load_s` seconds.
    `forbid` are clock event reasons in NVML's words. PCIe counts at its best under load, since idle
    cards train down; 0 does not ask. `min_mib` and `max_mib` bound what this launch holds of a
    card. `cards` is how many it must hold memory of, at least.
    """

    engine: str
    cards: int = 1
    load_s: int = 10
    at_once: int = 4
    max_tokens: int = 256
    max_temperature_c: int = 90
    forbid: Tuple[str, ...] = (
        "hardware slowdown",
        "hardware thermal slowdown",
        "hardware power brake",
    )
    min_pcie_gen: int = 0
    min_pcie_width: int = 0
    max_ecc_uncorrected: int = 0
    min_mib: int = 0
    max_mib: int = 0
    port: int = 0
    model: str = ""


def judge(params: Params, subject: Optional[Subject], tools: Tools) -> Answered:
    """Load it, look at its cards meanwhile, and once more afterwards for what counts errors.

    A load that is not answered judges nothing here: health and burst say why.
    """
    try:
        service = meet(tools, subject, params.engine, params.port, params.model)
    except Settled as settled:
        return settled.answer
    again = (by_hand(["nvidia-smi", "-q", "-d", "TEMPERATURE,PERFORMANCE,POWER,ECC"]),)
    load = _Load(params, service)
    looks = load.looked_at()
    last = tools.cards.look(pairs=True)
    troubles = [*last.trouble, *load.trouble]
    if troubles:
        return Judgement(Verdict.INVALID, (*some(dict.fromkeys(troubles)), *again))
    mine = _held(last, service.subject)
    if len(mine) < params.cards:
        return _elsewhere(params, mine, last, again)
    cards = {card.index: card for card in last.cards}
    loaded = {
        index: [c for look in looks for c in look.cards if c.index == index] for index in mine
    }
    rows = [_Row(params, cards[index], loaded[index], mine[index]) for index in mine]
    wrong = [line for row in rows for line in row.wrong()]
    findings = tuple(dict.fromkeys(name for row in rows for name in row.findings()))
    verdict = Verdict.FAIL if wrong else Verdict.PASS
    said = (*some(wrong), *(row.word() for row in rows), load.word(), *again)
    return Judgement(verdict, said, _measured(rows), findings)


class _Load:
    """Completions that are asked for until time is over; their answers do not count here."""

    def __init__(self, params: Params, service: Service) -> None:
        self.params = params
        self.service = service
        self.answered = 0
        self.trouble: List[str] = []
        self._until = time.monotonic() + min(params.load_s, max(1, service.tools.left_s() - 20))

    def looked_at(self) -> List[CardsSeen]:
        """Put the load on and look at the cards twice a second."""
        looks: List[CardsSeen] = []
        workers = [threading.Thread(target=self._work) for _ in range(self.params.at_once)]
        for worker in workers:
            worker.start()
        while True:
            looks.append(self.service.tools.cards.look())
            working = [worker for worker in workers if worker.is_alive()]
            if not working:
                return looks
            working[0].join(_PAUSE_S)

    def word(self) -> str:
        """Say what the load was."""
        return f"under load: {self.answered} completions, {self.params.at_once} at once"

    def _work(self) -> None:
        body = {
            "model": self.service.model,
            "prompt": _PROMPT,
            "max_tokens": self.params.max_tokens,
        }
        while not self.trouble:
            try:
                answer = self.service.ask("completion", body, timeout_s=60)
            except Unreached as error:
                self.trouble.append(f"the load was not answered: {error}")
                return
            if answer.status != OK:
                self.trouble.append(f"the load was answered {answer.status}: {message(answer)}")
                return
            self.answered += 1
            if time.monotonic() > self._until:
                return


def _held(seen: CardsSeen, subject: Subject) -> Dict[int, int]:
    """Give the bytes that this launch's processes hold of each card, by its index."""
    own = subject.cgroup.rstrip("/") + "/"
    return {
        card.index: sum(one.used or 0 for one in holders)
        for card in seen.cards
        for holders in [[one for one in card.holders if (one.cgroup + "/").startswith(own)]]
        if holders
    }


def _elsewhere(
    params: Params, mine: Dict[int, int], seen: CardsSeen, again: Tuple[str, ...]
) -> Judgement:
    """Tell an engine that computes elsewhere from one whose processes are not seen from here."""
    said = f"this launch holds memory of {len(mine)} cards, {params.cards} are expected"
    hidden = [card for card in seen.cards if not card.holders and (card.used or 0) > MUCH_BYTES]
    if hidden:
        names = ", ".join(f"card {card.index}: {card.doing()}" for card in hidden)
        return Judgement(Verdict.INVALID, (said, names, *again))
    return Judgement(Verdict.FAIL, (said, *(f"card {c.index}: {c.doing()}" for c in seen.cards)))


@dataclass(frozen=True)
class _Row:
    """One card: as it was under load, and as it is afterwards."""

    params: Params
    last: Card
    loaded: List[Card]
    held: int

    def wrong(self) -> List[str]:
        """Say what is not as it should be."""
        return [
            f"card {self.last.index}: {said}"
            for said in (*self._hot(), *self._narrow(), *self._sick(), *self._memory())
        ]

    def findings(self) -> List[str]:
        """Name the conditions it met."""
        met = {
            "card-slowed": bool(self._hot()),
            "card-link-narrow": bool(self._narrow()),
            "card-failing": bool(self._sick()),
            "cards-waiting": bool(self.waits()),
        }
        return [name for name, holds in met.items() if holds]

    def word(self) -> str:
        """Say how it was under load; one that waits is told so, with the figures."""
        watts = max((card.power_mw or 0 for card in self.loaded), default=0) // 1000
        link = f"PCIe {self.best('pcie_gen')} x{self.best('pcie_width')}"
        figures = f"{self.best('temperature_c')} C, {watts} W, {link}, {self.held // _MIB} MiB"
        return f"card {self.last.index}: {figures}" + (f"; {self.waits()}" if self.waits() else "")

    def best(self, name: str) -> int:
        """Give the highest value of a field; 0 where the card does not say."""
        return max((getattr(card, name) or 0 for card in self.loaded), default=0)

    def waits(self) -> str:
        """Say that it waits, where it did in most looks; the last one's figures."""
        said = [card.waiting() for card in self.loaded if card.waiting()]
        return said[-1] if 2 * len(said) > len(self.loaded) else ""

    def _hot(self) -> List[str]:
        hottest = self.best("temperature_c")
        slowed = {reason for card in self.loaded for reason in card.slowed}
        reasons = sorted(slowed & set(self.params.forbid))
        hot = [f"{hottest} C, {self.params.max_temperature_c} C are the most"]
        over = hottest > self.params.max_temperature_c > 0
        return [*(hot if over else []), *(f"slowed down: {reason}" for reason in reasons)]

    def _narrow(self) -> List[str]:
        least = {"pcie_gen": self.params.min_pcie_gen, "pcie_width": self.params.min_pcie_width}
        words = {"pcie_gen": "PCIe generation", "pcie_width": "PCIe width"}
        return [
            f"{words[name]} {self.best(name)} under load, {wanted} is the least"
            for name, wanted in least.items()
            if self.best(name) < wanted
        ]

    def _sick(self) -> List[str]:
        errors = self.last.ecc_uncorrected or 0
        sick = [] if self.last.recovery in (None, "none") else [f"recovery: {self.last.recovery}"]
        most = self.params.max_ecc_uncorrected
        return [*sick, *([f"{errors} uncorrected memory errors"] if errors > most else [])]

    def _memory(self) -> List[str]:
        mib, most = self.held // _MIB, self.params.max_mib
        low = [f"{mib} MiB are held, {self.params.min_mib} are the least"]
        high = [f"{mib} MiB are held, {most} are the most"]
        return [*(low if mib < self.params.min_mib else []), *(high if mib > most > 0 else [])]


def _measured(rows: List[_Row]) -> Tuple[Measurement, ...]:
    looks = sum(len(row.loaded) for row in rows)
    return (
        Measurement("temperature", max(row.best("temperature_c") for row in rows), "C", looks),
        Measurement("power", max(row.best("power_mw") for row in rows), "mW", looks),
        Measurement("card_memory", max(row.held for row in rows), "bytes", len(rows)),
    )
