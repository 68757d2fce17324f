"""Facts of real cards, field by field against nvidia-smi, which reads the same driver by itself."""

import json
import os
import re
import time
from collections.abc import Callable

from headway.runner.cards import look
from headway.runner.cards.holding import started_at
from headway.runner.cards.host import cards_host
from headway.runner.disk import Disk
from headway.runner.process import Processes
from headway.wire.cards import Card, CardsSeen
from headway.wire.loader import dump
from tests.gpu.bench import Bench, smi
from tests.gpu.holding import holding

MIB = 1 << 20
DEADLINE_S = 60
LOAD_S = 6.0
CHEAP_MS = 10
HELD = 8 << 30

Said = Callable[[Card], object]

SAME: dict[str, Said] = {
    "index": lambda card: card.index,
    "uuid": lambda card: card.uuid,
    "name": lambda card: card.name,
    "pci.bus_id": lambda card: card.bus.upper(),
    "compute_cap": lambda card: card.capability,
    "pcie.link.gen.max": lambda card: card.pcie_gen_max,
    "pcie.link.width.max": lambda card: card.pcie_width_max,
    "pcie.link.width.current": lambda card: card.pcie_width,
    "ecc.mode.current": lambda card: _switch(card.ecc),
    "mig.mode.current": lambda card: _switch(card.mig),
    "persistence_mode": lambda card: _switch(card.persistence),
    "compute_mode": lambda card: card.compute_mode.title().replace(" ", "_"),
    "ecc.errors.uncorrected.aggregate.total": lambda card: card.ecc_uncorrected,
    "gpu_recovery_action": lambda card: (card.recovery or "").title(),
}
"""What both must say alike; a field that this nvidia-smi does not know is left out."""

NEAR: dict[str, tuple[Said, float]] = {
    "memory.total": (lambda card: (card.total or 0) / MIB, 1),
    "memory.used": (lambda card: (card.used or 0) / MIB, 2),
    "memory.reserved": (lambda card: (card.reserved or 0) / MIB, 2),
    "memory.free": (lambda card: (card.free or 0) / MIB, 2),
    "power.draw": (lambda card: (card.power_mw or 0) / 1000, 25),
    "enforced.power.limit": (lambda card: (card.power_limit_mw or 0) / 1000, 0.1),
    "power.min_limit": (lambda card: (card.power_min_mw or 0) / 1000, 0.1),
    "power.max_limit": (lambda card: (card.power_max_mw or 0) / 1000, 0.1),
    "power.default_limit": (lambda card: (card.power_default_mw or 0) / 1000, 0.1),
    "temperature.gpu": (lambda card: card.temperature_c, 3),
    "clocks.sm": (lambda card: card.sm_mhz, 200),
}
"""And what moves between two readings, with how far apart they may be."""


def _switch(on: object) -> str:
    return {True: "Enabled", False: "Disabled"}.get(bool(on), "") if on is not None else "[N/A]"


def _smi(fields: list[str]) -> list[dict[str, str]]:
    known = set(re.findall(r'^"([\w.]+)"', smi("--help-query-gpu"), re.MULTILINE))
    asked = [field for field in fields if field in known]
    rows = smi(f"--query-gpu={','.join(asked)}", "--format=csv,noheader,nounits").splitlines()
    return [dict(zip(asked, (value.strip() for value in row.split(",")))) for row in rows]


def _seen(*, pairs: bool = True) -> CardsSeen:
    seen = look(pairs=pairs, deadline_s=DEADLINE_S)
    assert seen.trouble == (), seen.trouble
    return seen


def test_every_field_is_as_nvidia_smi_has_it(bench: Bench) -> None:
    """Two programs, one driver: what differs is our mistake."""
    rows, seen = _smi([*SAME, *NEAR]), _seen()
    assert len(seen.cards) == len(rows)
    wrong, compared = [], set()
    for row, card in zip(rows, seen.cards):
        for name in (name for name in SAME if name in row and row[name] != "[N/A]"):
            compared.add(name)
            if row[name] != str(SAME[name](card)):
                wrong.append(f"card {card.index} {name}: {row[name]!r}, we say {SAME[name](card)}")
        for name in (name for name in NEAR if name in row and row[name] != "[N/A]"):
            compared.add(name)
            ours, apart = NEAR[name][0](card), NEAR[name][1]
            if abs(float(row[name]) - float(str(ours))) > apart:
                wrong.append(f"card {card.index} {name}: {row[name]}, we say {ours}")
    bench.keep("facts.json", json.dumps(dump(seen), indent=1))
    bench.keep("nvidia-smi.json", json.dumps(rows, indent=1))
    bench.figure("fields compared with nvidia-smi", len(compared), f"on {len(rows)} cards")
    assert not wrong, "; ".join(wrong)


def test_what_the_driver_grants_is_as_nvidia_smi_has_it(bench: Bench) -> None:
    """`nvidia-smi topo -p2p` and ours say OK of the same ordered pairs."""
    bench.needs(cards=2)
    seen = _seen()
    for flag, grant in (("r", "read"), ("w", "write"), ("n", "nvlink"), ("a", "atomics")):
        table = smi("topo", "-p2p", flag)
        bench.keep(f"topo-p2p-{flag}.txt", table)
        rows = [line.split() for line in table.splitlines() if re.match(r"\s*GPU\d+\s+\S+\s", line)]
        theirs = {
            (int(row[0][3:]), b): cell == "OK"
            for row in rows
            if not row[1].startswith("GPU")
            for b, cell in enumerate(row[1 : len(seen.cards) + 1])
            if cell != "X"
        }
        ours = {(pair.a, pair.b): getattr(pair, grant) == "ok" for pair in seen.pairs}
        assert ours == theirs, f"{grant}: {ours}, nvidia-smi: {theirs}"


def test_a_look_costs_little_after_the_first(bench: Bench) -> None:
    """A gate samples ten times a second while the card works."""
    began = time.monotonic()
    first = _seen()
    bench.figure("first look", int(1000 * (time.monotonic() - began)), f"ms, NVML {first.took_ms}")
    took = []
    for _ in range(20):
        began = time.monotonic()
        _seen(pairs=False)
        took.append(1000 * (time.monotonic() - began))
    middle = sorted(took)[len(took) // 2]
    bench.figure(f"a look at {len(first.cards)} cards", f"{middle:.1f}", "ms")
    assert middle < CHEAP_MS * max(1, len(first.cards) / 4)


def test_a_holder_is_named_with_its_start_and_its_bytes(bench: Bench) -> None:
    """Who holds a card is a pid *and* a start time; the bytes are NVML's."""
    with holding("--card", "0", "--bytes", str(HELD)) as process:
        cards = _seen().cards
        found = [holder for holder in cards[0].holders if holder.pid == process.pid]
        assert len(found) == 1, cards[0].holders
        assert found[0].started == started_at(process.pid) > 0
        assert found[0].used is not None
        assert HELD <= found[0].used <= HELD + 2 * (1 << 30)
        assert os.path.basename(found[0].command).startswith("python3")  # noqa: PTH119
        bench.figure("holder of 8 GiB", found[0].used, "bytes by NVML")
        bench.figure("held and idle reads", cards[0].doing())


def test_a_card_that_waits_is_told_from_one_that_computes(bench: Bench) -> None:
    """Both are 100 % busy: the power tells them apart."""
    for work, begins in (("spin", "waiting"), ("compute", "computing")):
        with holding("--card", "0", "--work", work):
            time.sleep(LOAD_S)
            card = _seen(pairs=False).cards[0]
        bench.figure(f"{work} reads", card.doing())
        assert card.doing().startswith(begins), card.doing()


def test_the_host_is_read_without_trouble(bench: Bench) -> None:
    """Module, IOMMU, ACS and the kernel log of a real machine; the module is NVML's driver."""
    host, seen = cards_host(Disk(), Processes()), _seen()
    bench.keep("host.json", json.dumps(dump(host), indent=1))
    bench.figure("IOMMU of the cards", host.iommu or "cannot be told")
    bench.figure("kernel log", host.log or f"{len(host.xids)} Xid lines")
    assert host.module == seen.driver
