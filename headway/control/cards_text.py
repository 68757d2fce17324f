"""Cards as people read them: what needs attention, who does what, and what lies between them.

Made for a terminal of a phone's width: short columns first, sentences last, and one letter for
each way two cards are connected.
"""

import string
from collections import Counter
from collections.abc import Iterator

from headway.control.telling.table import table
from headway.wire.cards import Card, CardsHost, CardsSeen, Pair, Xid

NEWEST_XIDS = 5
_GIB = 1 << 30
_GRANTS = ("read", "write", "nvlink", "atomics")
_SLOWED = ("hardware slowdown", "hardware thermal slowdown", "hardware power brake")
_REGISTRY = ("RegistryDwords", "RegistryDwordsPerDevice")
"""The parameters that a person set; all others stand in --json."""


def attention(seen: CardsSeen) -> Iterator[str]:
    """Say what a person should know first: what could not be read, then what is not well."""
    yield from seen.trouble
    host = seen.host or CardsHost()
    if host.module and seen.driver and host.module != seen.driver:
        yield f"the kernel module is {host.module} and user space {seen.driver}: reboot"
    for card in seen.cards:
        for sentence in _ails(card):
            yield f"card {card.index}: {sentence}"
    for xid in _acting(host.xids):
        number = f"Xid {xid.number}" if xid.number is not None else "without an Xid"
        yield f"{xid.bus}: {number}, {xid.meaning}: {xid.advice} ({_after_boot(xid.at_s)})"


def _ails(card: Card) -> Iterator[str]:
    if card.recovery not in (None, "none"):
        yield f"the driver asks for: {card.recovery}"
    for reason in card.slowed:
        if reason in _SLOWED:
            yield f"slowed down by {reason} at {card.temperature_c} C"
    if card.ecc_uncorrected:
        yield f"{card.ecc_uncorrected} uncorrected memory errors in its life"
    if card.remap_failed:
        yield "a bad row of memory could not be remapped"
    elif card.remap_pending:
        yield "a bad row of memory is remapped at the next reset"
    if card.pcie_width is not None and card.pcie_width < (card.pcie_width_max or 0):
        yield f"PCIe x{card.pcie_width} of x{card.pcie_width_max}"


def _acting(xids: tuple[Xid, ...]) -> list[Xid]:
    """Choose the newest line of each kind and card, but for those that ask for nothing."""
    last = {(xid.bus, xid.number): xid for xid in xids if xid.action != "IGNORE"}
    return sorted(last.values(), key=lambda xid: xid.at_s)[-NEWEST_XIDS:]


def tables(host: str, seen: CardsSeen, width: int = 0) -> Iterator[str]:
    """Draw the cards, who holds them, and what the driver grants between them."""
    rows = [_row(card) for card in seen.cards]
    yield f"{host}  {kinds(seen)}\n" + table(("CARD", "GiB", "TEMP", "PCIE", "DOES"), rows, width)
    held = [row for card in seen.cards for row in _holders(card)]
    if held:
        yield table(("CARD", "PID:START", "GiB", "WHO"), held, width)
    if seen.pairs:
        yield matrix(seen.pairs, width)


def kinds(seen: CardsSeen) -> str:
    """Name the cards as kinds: 8 x NVIDIA H200 (Hopper 9.0)."""
    names = Counter(
        f"{card.name} ({' '.join(filter(None, (card.architecture, card.capability)))})"
        for card in seen.cards
    )
    return ", ".join(f"{count} x {name}" for name, count in names.items())


def _row(card: Card) -> tuple[str, ...]:
    memory = f"{_gib(card.used)}/{_gib(card.total)}" if card.total is not None else ""
    temperature = f"{card.temperature_c} C" if card.temperature_c is not None else ""
    return (str(card.index), memory, temperature, _pcie(card), card.doing())


def _pcie(card: Card) -> str:
    """Write the link now, and what it could be where that is more: 1/5 x16. Idle cards rest."""
    if card.pcie_gen is None:
        return ""
    most = f"/{card.pcie_gen_max}" if (card.pcie_gen_max or 0) > card.pcie_gen else ""
    return f"{card.pcie_gen}{most} x{card.pcie_width}"


def _gib(count: int | None) -> str:
    return f"{count / _GIB:.1f}" if count is not None else "?"


def _holders(card: Card) -> Iterator[tuple[str, ...]]:
    for holder in card.holders:
        who = [holder.command or "not seen from here"]
        who += [holder.cgroup] if holder.cgroup else []
        who += [holder.kind] if holder.kind != "compute" else []
        yield (str(card.index), holder.name(), _gib(holder.used), ", ".join(who))


def matrix(pairs: tuple[Pair, ...], width: int = 0) -> str:
    """Draw from row to column, a letter for each way two cards are connected, and what it means."""
    ways = [said for said, _ in Counter(map(way, pairs)).most_common()]
    letter = dict(zip(ways, string.ascii_uppercase + string.ascii_lowercase, strict=False))
    cell = {(pair.a, pair.b): letter.get(way(pair), "?") for pair in pairs}
    indexes = sorted({pair.a for pair in pairs})
    header = ("TO", *map(str, indexes))
    rows = [(str(a), *(cell.get((a, b), ".") for b in indexes)) for a in indexes]
    legend = table(
        ("", "BETWEEN TWO CARDS"), [(name, said) for said, name in letter.items()], width
    )
    return f"{table(header, rows)}\n{legend}"


def way(pair: Pair) -> str:
    """Word how two cards are connected, and what the driver grants between them."""
    said = {name: getattr(pair, name) for name in _GRANTS}
    granted = [name for name, answer in said.items() if answer == "ok"]
    refused = [f"{name}: {answer}" for name, answer in said.items() if answer not in ("ok", "")]
    wires = f"NV{pair.links}" if pair.links else pair.topology or "wiring not said"
    return ", ".join([wires, *([f"P2P {' '.join(granted)}"] if granted else []), *refused])


def facts(seen: CardsSeen) -> Iterator[tuple[str, str]]:
    """Give the host's facts about its cards, a line each."""
    said = {"driver": seen.driver, "cuda": seen.cuda}
    yield from ((name, value) for name, value in said.items() if value)
    host = seen.host
    if host is None:
        return
    if host.module:
        yield "module", f"{host.module}{', open' if host.open_module else ''}"
    if host.iommu:
        words = f" ({' '.join(host.iommu_words)})" if host.iommu_words else ""
        yield "iommu", f"{host.iommu}{words}"
    yield "acs", _acs(host.acs)
    nodes = {card.index: card.numa_node for card in seen.cards if card.numa_node is not None}
    if nodes:
        yield "numa", ", ".join(f"card {index} on {node}" for index, node in nodes.items())
    for path, content in host.nccl_files.items():
        yield path, " ".join(content.split()) or "empty"
    for name in _REGISTRY:
        if name in host.parameters:
            yield name, host.parameters[name]
    where = f", in the log of {host.log_of}" if host.log_of else ""
    yield "xids", host.log or f"{len(host.xids)} since boot{where}"
    for xid in host.xids[-NEWEST_XIDS:]:
        yield "xid", f"{_after_boot(xid.at_s)}: {xid.line}"


def _acs(bridges: tuple[str, ...] | None) -> str:
    if bridges is None:
        return "not readable"
    return f"redirects at {' '.join(bridges)}" if bridges else "redirects nothing"


def _after_boot(at_s: int) -> str:
    return f"{at_s // 3600} h {at_s // 60 % 60:02} min after boot"
