"""The cards: whether the driver answers, what it complains of, who holds them, how they run."""

from typing import Dict, Iterator, List, Optional, Tuple

from headway.runner.diagnosis.ago import since
from headway.runner.diagnosis.ordering import Found
from headway.runner.diagnosis.processes import owner
from headway.runner.diagnosis.seen import Seen
from headway.wire.cards import MUCH_BYTES, Card, CardsSeen, Holder, Xid

NVML_S = 2
_CLOSED = {
    "hangs": "driver-hangs",
    "mismatch": "driver-mismatch",
    "not loaded": "driver-not-loaded",
    "no library": "driver-not-loaded",
}
_SLOWED = {
    "hardware power brake": "power-brake",
    "hardware thermal slowdown": "thermal",
    "software thermal slowdown": "thermal",
    "hardware slowdown": "card-slowed",
}
_ACTIONS = {"reboot": "reboot", "drain": "drain P2P, then reset"}
_REBOOT = ("RESTART_BM", "RESTART_VM", "XID_154")
_LOADED_PERCENT = 50


def probes(seen: Seen) -> Iterator[Found]:
    """Say what is wrong with the driver, each card, and who is on them."""
    if seen.cards is None:
        if "cards" in seen.unseen:
            yield Found("driver-hangs", "", (seen.unseen["cards"],))
        return
    yield from _driver(seen.cards)
    yield from _xids(seen)
    for card in seen.cards.cards:
        yield from _card(card)
    yield from _held(seen, seen.cards)
    yield from _refused(seen.cards)


def _driver(cards: CardsSeen) -> Iterator[Found]:
    told = cards.trouble[:2]
    if cards.closed:
        yield Found(_CLOSED.get(cards.closed, "driver-broken"), "", told)
    for index in cards.lost:
        mine = [one for one in told if one.startswith(f"card {index}:")]
        yield Found("card-lost", f"card {index}", tuple(mine))
    module = cards.host.module if cards.host else ""
    if module and cards.driver and module != cards.driver:
        yield Found("driver-mismatch", "", (f"kernel module {module}, user space {cards.driver}",))
    if not cards.closed and not cards.cards and not cards.lost:
        yield Found("driver-not-loaded", "", told)
    elif not cards.closed and not cards.lost and told:
        yield Found("card-unread", "", told)


def _xids(seen: Seen) -> Iterator[Found]:
    xids = seen.cards.host.xids if seen.cards is not None and seen.cards.host else ()
    for name, found in (("xid-reboot", _reboots), ("xid-reset", _resets), ("xid", _others)):
        hits = [xid for xid in xids if found(xid) and _matters(seen, xid)]
        if hits:
            last = hits[-1]
            ago = since(max(0, seen.boot_s - last.at_s), seen.now_ms // 1000)
            number = f"Xid {last.number}" if last.number is not None else "no Xid"
            count = f", {len(hits)} such lines" if len(hits) > 1 else ""
            told = f"{number}, {last.meaning}: {last.advice} ({ago}{count})"
            yield Found(name, last.bus, (last.line, told))


def _reboots(xid: Xid) -> bool:
    return xid.action in _REBOOT


def _resets(xid: Xid) -> bool:
    return xid.action == "RESET_GPU" or xid.action.startswith("WORKFLOW")


def _others(xid: Xid) -> bool:
    return not (_reboots(xid) or _resets(xid) or xid.action == "IGNORE")


def _matters(seen: Seen, xid: Xid) -> bool:
    """Leave out what a program's own error was before all services were started again."""
    if not _others(xid):
        return True
    ages = [seen.age_s(unit) for unit in seen.subjects if seen.unit(unit).up]
    return not ages or xid.at_s > seen.boot_s - max(ages)


def _card(card: Card) -> Iterator[Found]:
    name = f"card {card.index}"
    if card.recovery not in (None, "none"):
        asks = str(card.recovery)
        action = _ACTIONS.get(asks, f"nvidia-smi --gpu-reset -i {card.index}")
        yield Found(
            "card-recovery", name, (f"{name}: the driver asks for: {asks}",), {"action": action}
        )
    for reason in card.slowed:
        if reason in _SLOWED:
            told = f"{name}: {reason} at {card.temperature_c} C, {card.sm_mhz} MHz, {_watts(card)}"
            yield Found(_SLOWED[reason], name, (told,))
    busy = card.busy_percent or 0
    if (card.pcie_gen or 0) < (card.pcie_gen_max or 0) and busy >= _LOADED_PERCENT:
        told = f"{name}: gen {card.pcie_gen} of {card.pcie_gen_max} while {busy} % busy"
        yield Found("link-slow", name, (told,))
    if card.pcie_width is not None and card.pcie_width < (card.pcie_width_max or 0):
        told = f"{name}: x{card.pcie_width} of x{card.pcie_width_max}"
        yield Found("card-link-narrow", name, (told,))
    if card.ecc_uncorrected:
        yield Found(
            "card-failing",
            name,
            (f"{name}: {card.ecc_uncorrected} uncorrected errors in its life",),
        )
    if card.remap_failed or card.remap_pending:
        how = "could not be remapped" if card.remap_failed else "is remapped at the next reset"
        yield Found("row-remap", name, (f"{name}: a bad row {how}",))
    if card.waiting():
        yield Found("cards-waiting", name, (f"{name}: {card.waiting()}",))


def _watts(card: Card) -> str:
    return f"{(card.power_mw or 0) // 1000} W of {(card.power_limit_mw or 0) // 1000} W"


def _held(seen: Seen, cards: CardsSeen) -> Iterator[Found]:
    """Say of each process, once, which cards it holds and whose it is."""
    held: Dict[int, List[Tuple[Card, Holder]]] = {}
    for card in cards.cards:
        for holder in card.holders:
            if holder.started:
                held.setdefault(holder.pid, []).append((card, holder))
        if not card.holders and (card.used or 0) > MUCH_BYTES:
            name = f"card {card.index}"
            told = f"{name}: {_gib(card.used)} used, and no process is seen that holds it"
            yield Found("card-held-unseen", name, (told,))
    for pid, rows in held.items():
        holder = rows[0][1]
        kind, who = owner(seen, holder.cgroup, seen.parents.get(pid, 0))
        sizes = ", ".join(f"card {card.index}: {_gib(one.used)}" for card, one in rows)
        told = f"PID {holder.name()} ({holder.command}) of {who}"
        if kind == "nobody":
            yield Found("orphan-holds-card", f"PID {pid}", (told, sizes))
        elif who not in seen.subjects and _somebody_is_down(seen):
            yield Found("card-held-by-others", f"PID {pid}", (told, sizes))


def _somebody_is_down(seen: Seen) -> bool:
    return not seen.parked and any(not seen.unit(unit).up for unit in seen.subjects)


def _refused(cards: CardsSeen) -> Iterator[Found]:
    pairs = [(pair.a, pair.b, pair.read, pair.write) for pair in cards.pairs]
    bad: List[Tuple[int, int, str]] = [
        (a, b, why) for a, b, read, write in pairs for why in (read, write) if why not in ("ok", "")
    ]
    if bad:
        ways = {(min(a, b), max(a, b)) for a, b, _ in bad}
        all_of = len({(min(a, b), max(a, b)) for a, b, *_ in pairs})
        first = bad[0]
        told = f"{len(ways)} of {all_of} pairs; card {first[0]} to card {first[1]}: {first[2]}"
        yield Found("p2p-refused", "", (told,))


def _gib(count: Optional[int]) -> str:
    return f"{count / (1 << 30):.1f} GiB" if count is not None else "memory"
