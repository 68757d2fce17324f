"""What the driver grants from each card to each other one, and how they are wired (FIELD 2.3)."""

from __future__ import annotations

from headway.runner.cards.nvml import NvmlError

TYPE_CHECKING = False  # plain.py says why not typing's
if TYPE_CHECKING:
    from typing import List, Sequence, Tuple

    from headway.runner.cards.card import CardReader
    from headway.runner.cards.nvml import Nvml, Said
    from headway.runner.cards.plain import Fields

READ, WRITE, NVLINK, ATOMICS = 0, 1, 2, 3
"""NVML_P2P_CAPS_INDEX_*, literally: pynvml's own constant for reading is a tuple, (0,)."""

GRANTS = (
    "ok",
    "chipset not supported",
    "GPU not supported",
    "topology not supported",
    "disabled by regkey",
    "not supported",
    "unknown",
)
LEVELS = {0: "internal", 10: "PIX", 20: "PXB", 30: "PHB", 40: "NODE", 50: "SYS"}
"""The nearest common ancestor, in the words of nvidia-smi topo."""
_MOST_LINKS = 36  # NVML_NVLINK_MAX_LINKS
_SWITCH = 2  # NVML_NVLINK_DEVICE_TYPE_SWITCH


class Links:
    """The live NVLinks of one card: how many end at a switch, and how many at which card."""

    def __init__(self, nvml: Nvml, handle: Said) -> None:
        self.to_switch = 0
        self.ends: List[str] = []
        for link in range(_MOST_LINKS):
            try:
                state = nvml.ask("DeviceGetNvLinkState", handle, link)
                if state is None:
                    return
                if state:
                    self._count(nvml, handle, link)
            except NvmlError:  # this card has no link of that number
                return

    def _count(self, nvml: Nvml, handle: Said, link: int) -> None:
        if nvml.ask("DeviceGetNvLinkRemoteDeviceType", handle, link) == _SWITCH:
            self.to_switch += 1
        else:
            far = nvml.ask("DeviceGetNvLinkRemotePciInfo", handle, link)
            self.ends.append(far.busId.lower() if far is not None else "")

    def between(self, other: Links, bus: str) -> int:
        """Count the links to another card at `bus`, straight or through switches."""
        return self.ends.count(bus) or min(self.to_switch, other.to_switch)


def read_pairs(nvml: Nvml, cards: Sequence[Tuple[CardReader, str]]) -> Tuple[Fields, ...]:
    """Ask for every ordered pair; `cards` are readers, each with the bus its card is on."""
    links = [Links(nvml, card.handle) for card, _ in cards]
    return tuple(
        {
            "a": one.index,
            "b": two.index,
            "read": _grant(nvml, one, two, READ),
            "write": _grant(nvml, one, two, WRITE),
            "nvlink": _grant(nvml, one, two, NVLINK),
            "atomics": _grant(nvml, one, two, ATOMICS),
            "topology": _level(nvml, one, two),
            "links": links[a].between(links[b], bus),
        }
        for a, (one, _) in enumerate(cards)
        for b, (two, bus) in enumerate(cards)
        if a != b
    )


def _grant(nvml: Nvml, one: CardReader, two: CardReader, index: int) -> str:
    try:
        said = nvml.ask("DeviceGetP2PStatus", one.handle, two.handle, index)
    except NvmlError as error:
        return str(error)
    return "" if said is None else GRANTS[min(said, len(GRANTS) - 1)]


def _level(nvml: Nvml, one: CardReader, two: CardReader) -> str:
    try:
        said = nvml.ask("DeviceGetTopologyCommonAncestor", one.handle, two.handle)
    except NvmlError as error:
        return str(error)
    return "" if said is None else LEVELS.get(said, str(said))
