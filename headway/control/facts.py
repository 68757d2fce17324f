"""`facts`: what every machine is and what its cards do now; what could not be read comes first."""

import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from headway.control import cards_text
from headway.control.desk import Desk
from headway.control.inventory.model import Host
from headway.control.node_log import nodes, with_node_log
from headway.control.telling.table import table
from headway.wire.cards import CardsSeen
from headway.wire.loader import Json
from headway.wire.phase import Exit
from headway.wire.talk import Look, Looked


@dataclass(frozen=True)
class HostFacts:
    """What a machine is; `doing` words each of its cards. No `cards`: it shows no NVIDIA driver."""

    host: str
    facts: dict[str, Json]
    cards: CardsSeen | None = None
    doing: tuple[str, ...] = ()


def facts(desk: Desk) -> Exit:
    """Ask all hosts at once what they are, and nodes what their containers cannot see; show it."""
    named = {host.name for host in desk.hosts}

    def order(host: Host) -> Look:
        return Look(facts=True) if host.name in named else Look(kernel=True)

    answers = desk.looked(order, beside=nodes(desk.hosts))
    found = tuple(
        facts_of(host.name, with_node_log(host, looked, answers))
        for host in desk.hosts
        if isinstance(looked := answers[host.name], Looked)
    )
    if desk.json:
        desk.rows(found)
    elif found:
        desk.print(text(found, desk.width))
    return desk.missed({name: answer for name, answer in answers.items() if name in named})


def facts_of(host: str, looked: Looked) -> HostFacts:
    """Put together what one host said."""
    doing = tuple(card.doing() for card in looked.cards.cards) if looked.cards else ()
    return HostFacts(host, looked.facts, looked.cards, doing)


def text(found: tuple[HostFacts, ...], width: int = 0) -> str:
    """Draw the hosts: trouble, then tables of the cards, then one fact a line."""
    return "\n\n".join(_blocks(found, width))


def _blocks(found: tuple[HostFacts, ...], width: int) -> Iterator[str]:
    trouble = [line for host in found for line in _trouble(host, width)]
    if trouble:
        yield "\n".join(trouble)
    for host in found:
        if host.cards is not None and host.cards.cards:
            yield from cards_text.tables(host.host, host.cards, width)
    rows = [(host.host, name, str(value)) for host in found for name, value in _facts(host)]
    yield table(("HOST", "FACT", "VALUE"), rows, width)


def _trouble(host: HostFacts, width: int) -> Iterator[str]:
    for sentence in cards_text.attention(host.cards) if host.cards else ():
        said = f"{host.host}: {sentence}"
        yield "\n".join(textwrap.wrap(said, width, subsequent_indent="  ")) if width else said


def _facts(host: HostFacts) -> Iterator[tuple[str, Json]]:
    yield from _flat(host.facts)
    if host.cards is not None:
        yield from cards_text.facts(host.cards)


def _flat(found: Mapping[str, Json], prefix: str = "") -> Iterator[tuple[str, Json]]:
    for name, value in found.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value
