"""All cards of this machine, read through one open NVML, word by word while it goes."""

from __future__ import annotations

from headway.runner.cards import opening, plain
from headway.runner.cards.card import CardReader
from headway.runner.cards.holding import counts_as_node
from headway.runner.cards.nvml import NvmlError
from headway.runner.cards.pairs import read_pairs

TYPE_CHECKING = False  # plain.py says why not typing's
if TYPE_CHECKING:
    from typing import Dict, Iterator, List, Tuple

    from headway.runner.cards.nvml import Nvml
    from headway.runner.cards.plain import Fields

_STRANGERS = "driver {} names processes by the node's numbers: who holds a card is seen from there"


class Reading:
    """Reads every card; keeps what does not change between looks."""

    def __init__(self, nvml: Nvml) -> None:
        self._nvml = nvml
        self._driver = str(nvml.ask("SystemGetDriverVersion") or "")
        self._version = str(nvml.ask("SystemGetNVMLVersion") or "")
        cuda = nvml.ask("SystemGetCudaDriverVersion")
        self._cuda = f"{cuda // 1000}.{cuda % 1000 // 10}" if cuda else ""
        self._strangers = counts_as_node(self._driver)
        self._readers: Dict[int, CardReader] = {}
        self._lost: List[int] = []

    def look(self, *, pairs: bool) -> Iterator[Fields]:
        """Say what is begun before each card, then the card; what is left is said at the end."""
        began_ns = self._nvml.spent_ns
        trouble: List[str] = [_STRANGERS.format(self._driver)] if self._strangers else []
        read: List[Tuple[CardReader, str]] = []
        self._lost.clear()
        count = int(self._nvml.ask("DeviceGetCount") or 0)
        for index in range(count):
            yield plain.begun(f"card {index}")
            seen = self._card(index, health=pairs)
            if isinstance(seen, str):
                trouble.append(seen)
                continue
            card, unsaid = seen
            trouble.extend(unsaid)
            read.append((self._readers[index], card.get("bus", "")))
            yield plain.card(card)
        if not count:
            trouble.append(f"driver {self._driver} is loaded and sees no card")
        between: Tuple[Fields, ...] = ()
        if pairs and len(read) > 1:
            yield plain.begun("the pairs of cards")
            between = read_pairs(self._nvml, read)
        yield plain.rest(
            driver=self._driver,
            nvml=self._version,
            cuda=self._cuda,
            pairs=between,
            trouble=trouble,
            lost=self._lost,
            took_ms=(self._nvml.spent_ns - began_ns) // 1_000_000,
        )

    def _card(self, index: int, *, health: bool) -> str | Tuple[Fields, Tuple[str, ...]]:
        try:
            if index not in self._readers:
                self._readers[index] = CardReader(self._nvml, index, host_pids=self._strangers)
            return self._readers[index].read(health=health)
        except NvmlError as error:
            self._readers.pop(index, None)
            if opening.is_lost(error):
                self._lost.append(index)
            return opening.why_no_card(error, index)
