"""What the page shows, as compact JSON: words once in a table, a transition a short row.

A hundred hosts of two hundred transitions each have to fit below 2 MB, so rows are lists, and what
repeats (releases, verbs, verdicts of all gates) is a number into a table. page.js reads it.
"""

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from headway.control import cards_text, skew
from headway.control.status import HostStatus
from headway.control.telling.history import PastGate, PastRollout, Sample
from headway.wire.cards import Card, CardsSeen, Pair
from headway.wire.findings import findings
from headway.wire.loader import Json
from headway.wire.talk import Looked

TRANSITIONS = 200
ROLLOUTS = 40
RELEASES = 24
REASONS = 5
"""So many failures of a host are told with their reason, the newest ones."""

REASON = 160
_QUIET = ("", "unchanged")
_CHARTS = (("tokens_s", "decode"), ("ttft", "ttft"))
"""Measurements of the decode gate, by how their names begin, and what the charts are called."""

_POOL = "kv_tokens"


@dataclass(frozen=True)
class Given:
    """What the page is made of. `looked` are the hosts that answered, `classes` those named."""

    fleet: str
    made_s: int
    shown: tuple[HostStatus, ...]
    looked: Mapping[str, Looked]
    classes: Mapping[str, str]
    rollouts: Sequence[PastRollout]
    gates: Sequence[PastGate]
    samples: Sequence[Sample]


@dataclass
class _Words:
    """A table of words; a word that is there already has its number."""

    list: "list[Json]" = field(default_factory=list)
    numbers: "dict[str, int]" = field(default_factory=dict)

    def of(self, word: str, value: Json = None) -> int:
        """Give the number of a word; `value` is what stands in the table for it."""
        if word not in self.numbers:
            self.numbers[word] = len(self.list)
            self.list.append(word if value is None else value)
        return self.numbers[word]


def page_data(given: Given) -> dict[str, Json]:
    """Put everything together; page.js says what it makes of each key."""
    words, verdicts, matrices = _Words(), _Words(), _Words()
    gates = _by_host(given.gates)
    numbers = _numbers(given.samples)
    turns = _turns(given.rollouts)
    of_rollout: dict[str, list[PastGate]] = defaultdict(list)
    for gate in given.gates:
        of_rollout[gate.rollout].append(gate)
    hosts = []
    for status in given.shown:
        looked = given.looked.get(status.host)
        cards = looked.cards if looked is not None else None
        hosts.append(
            {
                **_status(status),
                "cards": [_card(card) for card in cards.cards] if cards else [],
                "p2p": _matrix(cards, matrices),
                "rows": list(
                    _rows(
                        turns.get(status.host, ()),
                        gates[status.host],
                        {run: numbers.get((status.host, run), {}) for run in gates[status.host]},
                        words,
                        verdicts,
                    )
                ),
                "why": _reasons(gates[status.host]),
                "kv": _newest(numbers, status.host, _POOL),
            }
        )
    skewed = tuple(skew.skews(given.looked, given.classes))
    return {
        "fleet": given.fleet,
        "made": given.made_s,
        "hosts": hosts,
        "words": words.list,
        "verdicts": verdicts.list,
        "p2p": matrices.list,
        "rollouts": [_rollout(one, of_rollout[one.id]) for one in _told(given.rollouts)[:ROLLOUTS]],
        "charts": list(_charts(given.samples)),
        "findings": list(_findings(given)),
        "skew": skew.text(skewed, 1000 * given.made_s),
    }


def _status(status: HostStatus) -> dict[str, Json]:
    engines = [
        [part, one.engine, one.running, one.waiting, one.kv_permille, one.tokens_s, one.sentence]
        for part, one in status.serving.items()
    ]
    return {
        "host": status.host,
        "class": status.machine,
        "stands": status.stands,
        "verdict": status.verdict,
        "release": status.release,
        "since": status.since_ms // 1000,
        "by": status.by,
        "says": status.says,
        "drift": list(status.drift),
        "alive": dict(status.alive),
        "engines": engines,
    }


# --- transitions ------------------------------------------------------------------------------

_Turn = tuple[PastRollout, str, str, str]


def _told(rollouts: Sequence[PastRollout]) -> list[PastRollout]:
    """Leave out what did nothing anywhere."""
    return [one for one in rollouts if any(host.outcome not in _QUIET for host in one.hosts)]


def _turns(rollouts: Sequence[PastRollout]) -> dict[str, list[_Turn]]:
    """Give each host's transitions and checks, newest first: rollout, release, outcome, says."""
    found: dict[str, list[_Turn]] = defaultdict(list)
    for one in rollouts:
        for host in one.hosts:
            mine = found[host.host]
            if host.outcome not in _QUIET and len(mine) < TRANSITIONS:
                mine.append((one, host.release, host.outcome, host.sentence))
    return found


def _by_host(gates: Sequence[PastGate]) -> dict[str, dict[str, list[PastGate]]]:
    found: dict[str, dict[str, list[PastGate]]] = defaultdict(lambda: defaultdict(list))
    for gate in gates:
        found[gate.host][gate.rollout].append(gate)
    return found


_Numbers = Mapping[tuple[str, str], Mapping[str, int]]


def _numbers(samples: Sequence[Sample]) -> _Numbers:
    """Pick of each host and rollout the measurements that have a chart, and the KV pool."""
    found: dict[tuple[str, str], dict[str, int]] = defaultdict(dict)
    for one in samples:
        for name in (begins for begins, _ in _CHARTS if _is(one, begins)):
            found[one.host, one.rollout].setdefault(name, one.measurement.value)
        if one.measurement.name == _POOL:
            found[one.host, one.rollout][_POOL] = one.measurement.value
    return found


def _is(sample: Sample, begins: str) -> bool:
    name = sample.measurement.name
    return sample.kind == "decode" and (name == begins or name.startswith(f"{begins} "))


def _rows(
    turns: Sequence[_Turn],
    gates: Mapping[str, Sequence[PastGate]],
    numbers: Mapping[str, Mapping[str, int]],
    words: _Words,
    verdicts: _Words,
) -> Iterator[list[int]]:
    """Give a row a transition, newest first: seconds before the one above, then numbers.

    [seconds, verb, release, outcome, verdicts of its gates, tokens/s in tenths, TTFT in tenths of
    a millisecond]; what comes last and is 0 is left out.
    """
    above = 0
    for rollout, release, outcome, _ in turns:
        at = rollout.at_ms // 1000
        seen = [(f"{one.part} {one.gate}", one.verdict[0]) for one in gates.get(rollout.id, ())]
        names, letters = [name for name, _ in seen], "".join(letter for _, letter in seen)
        told = verdicts.of(f"{letters} {names}", [letters, [words.of(name) for name in names]])
        measured = numbers.get(rollout.id, {})
        speeds = [measured.get(name, 0) // 100 for name, _ in _CHARTS]
        while speeds and not speeds[-1]:
            speeds.pop()
        since = above - at if above else at
        yield [since, words.of(rollout.verb), words.of(release), words.of(outcome), told, *speeds]
        above = at


def _reasons(gates: Mapping[str, Sequence[PastGate]]) -> list[list[Json]]:
    """Give the newest failures: when, which gate, what it said."""
    bad = [one for several in gates.values() for one in several if one.verdict != "PASS"]
    newest = sorted(bad, key=lambda one: -one.at_ms)[:REASONS]
    return [
        [one.at_ms // 1000, f"{one.part} {one.gate}", one.verdict, "; ".join(one.evidence)[:REASON]]
        for one in newest
    ]


def _newest(numbers: _Numbers, host: str, name: str) -> int:
    """Give the newest number of a host; rollouts' ids begin with their time."""
    mine = {
        rollout: row[name] for (of, rollout), row in numbers.items() if of == host and name in row
    }
    return mine[max(mine)] if mine else 0


def _rollout(one: PastRollout, gates: Sequence[PastGate]) -> dict[str, Json]:
    bad = next((it for it in gates if it.verdict != "PASS"), None)
    said = bad and f"{bad.host}: {bad.part} {bad.gate} {bad.verdict}: {'; '.join(bad.evidence)}"
    seen = Counter(host.outcome or "not touched" for host in one.hosts)
    return {
        "id": one.id,
        "at": one.at_ms // 1000,
        "verb": one.verb,
        "by": one.by,
        "code": one.exit_code,
        "took": one.took_ms or 0,
        "ended": dict(seen),
        "gates": dict(Counter(it.verdict for it in gates)),
        "bad": (said or "")[: 2 * REASON],
    }


# --- measurements, cards, findings ------------------------------------------------------------


def _charts(samples: Sequence[Sample]) -> Iterator[dict[str, Json]]:
    """Give a chart a class, part and measurement: by release the middle, the least, the most."""
    groups: dict[tuple[str, str, str], list[Sample]] = defaultdict(list)
    for one in samples:
        for begins, called in _CHARTS:
            if _is(one, begins) and one.release:
                groups[one.machine, one.part, called].append(one)
    for (machine, part, called), rows in sorted(groups.items()):
        values: dict[str, list[int]] = {}
        for row in rows:
            values.setdefault(row.release, []).append(row.measurement.value)
        first = {row.release: row.at_ms for row in reversed(rows)}
        points = [
            [
                *(release, int(statistics.median(seen)), min(seen), max(seen), len(seen)),
                first[release] // 1000,
            ]
            for release, seen in list(values.items())[-RELEASES:]
        ]
        unit = rows[0].measurement.unit
        yield {"class": machine, "part": part, "name": called, "unit": unit, "points": points}


def _card(card: Card) -> list[Json]:
    return [card.index, card.name, card.used, card.total, card.temperature_c, card.doing()]


def _matrix(seen: CardsSeen | None, matrices: _Words) -> int:
    """Give the number of a host's matrix; hosts whose cards are wired alike share one."""
    if seen is None or not seen.pairs:
        return -1
    ways = [way for way, _ in Counter(map(cards_text.way, seen.pairs)).most_common()]
    size = 1 + max(max(pair.a, pair.b) for pair in seen.pairs)
    cells = [[-1] * size for _ in range(size)]
    for pair in seen.pairs:
        cells[pair.a][pair.b] = ways.index(cards_text.way(pair))
    table = {"of": cards_text.kinds(seen), "ways": [_way(way, seen.pairs) for way in ways]}
    return matrices.of(f"{table}{cells}", {**table, "cells": cells})


def _way(way: str, pairs: Sequence[Pair]) -> list[Json]:
    """Word a way, and say whether the driver grants reads and writes over it."""
    pair = next(one for one in pairs if cards_text.way(one) == way)
    granted = pair.read == "ok" and pair.write == "ok"
    return [way, granted, f"NV{pair.links}" if pair.links else pair.topology]


def _findings(given: Given) -> Iterator[dict[str, Json]]:
    """Give known conditions that gates met, the newest first, then what cards say of themselves."""
    table = findings()
    seen: dict[str, dict[str, int]] = defaultdict(dict)
    for gate in given.gates:
        for name in gate.findings:
            seen[name][gate.host] = gate.at_ms // 1000
    for name, hosts in sorted(seen.items(), key=lambda item: -max(item[1].values())):
        known = table.get(name)
        yield {
            "id": name,
            "says": known.sentence if known else name,
            "help": known.help if known else "",
            "hosts": sorted(hosts),
            "at": max(hosts.values()),
        }
    said: dict[str, list[str]] = defaultdict(list)
    for host, looked in given.looked.items():
        for sentence in cards_text.attention(looked.cards) if looked.cards else ():
            said[sentence].append(host)
    for sentence, names in said.items():
        yield {"id": "cards", "says": sentence, "help": "", "hosts": names, "at": given.made_s}
