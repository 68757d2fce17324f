"""What the inventory declares of a class, against what the machine is and its driver grants."""

import re
from typing import Dict, Iterator, List, Tuple

from headway.wire import nccl
from headway.wire.cards import CardsSeen, Pair
from headway.wire.machine_class import MachineClass

DISTANCES = {"PIX": "PIX", "PXB": "PXB", "PHB": "PHB", "NODE": "PHB", "SYS": "SYS"}
"""The level that NCCL needs over a distance. NODE is none of its own: PHB or SYS, by the CPU."""

_MIB = 1024 * 1024


def contradictions(machine: MachineClass, seen: CardsSeen, values: Dict[str, str]) -> List[str]:
    """Say in a sentence each what this machine contradicts, naming both sides.

    `values` is the environment that the release sets: what NCCL is told there must be possible.
    """
    name = f"class {machine.name}" if machine.name else "the inventory"
    held = (_cards, _driver, _p2p)
    claims = [said for claim in held for said in claim(name, machine, seen)]
    return [*claims, *_level(seen, values)]


def _cards(name: str, machine: MachineClass, seen: CardsSeen) -> Iterator[str]:
    if machine.cards and len(seen.cards) != machine.cards:
        yield f"{name} has {machine.cards} cards, this machine shows {len(seen.cards)}"
    for card in seen.cards:
        if machine.card and card.name != machine.card:
            yield f"{name} has {machine.card}, card {card.index} is {card.name}"
        total = None if card.total is None else card.total // _MIB
        if total is not None and total < machine.memory_mib:
            yield f"{name} has {machine.memory_mib} MiB a card, card {card.index} has {total} MiB"


def _driver(name: str, machine: MachineClass, seen: CardsSeen) -> Iterator[str]:
    if machine.driver and _version(seen.driver) < _version(machine.driver):
        yield f"{name} needs driver {machine.driver}, {seen.driver or 'none'} is loaded"


def _p2p(name: str, machine: MachineClass, seen: CardsSeen) -> Iterator[str]:
    refused = [pair for pair in seen.pairs if refusal(pair)]
    if machine.p2p:
        for pair in refused:
            yield f"{name} says p2p: true, the driver says of {pair.a} -> {pair.b}: {refusal(pair)}"
    if machine.p2p is False and seen.pairs and not refused:
        yield f"{name} says p2p: false, the driver grants it between all {len(seen.cards)} cards"


def _level(seen: CardsSeen, values: Dict[str, str]) -> Iterator[str]:
    """A level asks for P2P over a distance: the driver must grant it, and it must reach so far."""
    asked = nccl.level_of(values)
    if asked is None or nccl.no_p2p(values):
        return
    said = f"NCCL_P2P_LEVEL={values['NCCL_P2P_LEVEL']}"
    reach = nccl.table().levels.index(asked)
    for pair in seen.pairs:
        if refusal(pair):
            why = f"the driver says of {pair.a} -> {pair.b}: {refusal(pair)}"
            yield f"{said} asks for P2P, {why}; no level can override that"
        elif nccl.table().levels.index(needed(pair)) > reach:
            apart = f"{pair.a} and {pair.b} are {pair.topology} apart, which takes {needed(pair)}"
            yield f"{said} does not reach: {apart}; NCCL would use host memory without a word"


def refusal(pair: Pair) -> str:
    """Say why the driver refuses one card to read or write another's memory; "" where it grants."""
    refused = {"read": pair.read, "write": pair.write}
    return ", ".join(f"{what} {how}" for what, how in refused.items() if how not in ("ok", ""))


def needed(pair: Pair) -> str:
    """Give the level at which NCCL uses P2P for a pair; NVLink counts before the PCIe tree.

    Two H200 on NVLink have a host bridge as their common ancestor all the same.
    """
    return "NVL" if pair.nvlink == "ok" or pair.links else DISTANCES.get(pair.topology, "LOC")


def _version(text: str) -> Tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", text))
