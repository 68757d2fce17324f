"""An invented fleet for the page: hosts that stand in every way, months of transitions, real cards.

The two H200 are as a driver told of them (tests/gpu/fixtures); all else is made up, and always the
same: the screenshots of the docs are made of it.
"""

import json
import random
import time
from dataclasses import replace
from pathlib import Path

from headway.control.errors import HeadwayError, UnreachableError
from headway.control.page.data import Given
from headway.control.status import statuses
from headway.control.telling.history import PastGate, PastHost, PastRollout, Sample
from headway.wire.cards import Card, CardsSeen, Pair
from headway.wire.gate import Measurement
from headway.wire.loader import load
from headway.wire.phase import Phase
from headway.wire.record import Acceptance, Parked, State
from headway.wire.release import EMPTY, Part, SubjectSpec, release_of
from headway.wire.talk import Difference, Looked, Serving

FACTS = Path(__file__).parents[2] / "gpu/fixtures/2x-h200-580.159.04/facts.json"
MADE_S = 1_796_000_000
DAY_S = 86_400
GATES = ("ready", "in_place", "health", "options", "journal", "config", "needle", "decode")
GIB = 1 << 30
BARE = 11
CLASSES = ("2x-h200", "4x-3090", "8x-h100")
PEOPLE = ("anna@ops", "ben@ops", "ci@runner")
REASONS = {
    "needle": "500 tokens, marker at 10 %, cold: WBH-9223-SNB is not quoted, it says: is is is is",
    "decode": "61.2 tok/s, at least 90 % of the pinned 74.0 is allowed: a threshold is missed",
    "health": "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB",
    "journal": "journald dropped lines: Suppressed 412 messages from vllm.service",
}


def fleet(hosts: int = 12, transitions: int = 40, *, stops: bool = True) -> Given:
    """Invent a fleet of so many hosts, each with so many transitions.

    Without `stops` a rollout goes on after a host that failed: every host has all of them.
    """
    chance = random.Random(7)  # noqa: S311 # the same fleet each time, and no secret
    names = [f"gpu{n:02}" for n in range(1, hosts + 1)]
    classes = {name: CLASSES[n % 3] for n, name in enumerate(names)}
    releases = [f"{chance.getrandbits(48):012x}" for _ in range(max(4, transitions // 3))]
    rollouts: list[PastRollout] = []
    gates: list[PastGate] = []
    samples: list[Sample] = []
    for turn in range(transitions):
        age_s = (transitions - turn) * 90 * DAY_S // transitions
        at_s = MADE_S - age_s + chance.randrange(DAY_S) - DAY_S // 2
        release = releases[turn * len(releases) // transitions]
        verb = chance.choice(("rollout", "rollout", "rollout", "check", "restart"))
        key = time.strftime("%Y%m%dT%H%M%S", time.gmtime(at_s)) + f"-{turn:04x}"
        past: list[PastHost] = []
        for n, name in enumerate(names):
            failed = chance.random() < 0.035
            gate = chance.choice(tuple(REASONS)) if failed else ""
            stopped = stops and verb != "check" and any(host.exit_code for host in past)
            if n == BARE:
                continue
            if stopped:
                past.append(PastHost(name, "", "", None, ""))
                continue
            outcome = _outcome(verb, gate)
            past.append(PastHost(name, release, outcome, int(failed), ""))
            at_ms = 1000 * (at_s + 300 * n)
            gates += _gates(name, key, at_ms, gate)
            if verb != "restart" and gate not in GATES[:-1]:
                share = turn / transitions
                samples += _samples(chance, share, name, classes[name], key, at_ms, release)
        code = max(host.exit_code or 0 for host in past)
        by = chance.choice(PEOPLE)
        rollouts.append(PastRollout(key, verb, by, 1000 * at_s, code, 900_000, tuple(past)))
    looked = {name: _looked(n, releases[-1]) for n, name in enumerate(names)}
    answers: dict[str, Looked | HeadwayError] = {**looked, names[4]: _gone(names[4])}
    told = {name: one for name, one in answers.items() if isinstance(one, Looked)}
    shown = tuple(statuses(answers, classes))
    return Given("h-fleet", MADE_S, shown, told, classes, rollouts[::-1], gates, samples)


def _outcome(verb: str, gate: str) -> str:
    if verb == "check":
        return "failed" if gate else "passed"
    if gate == "journal":
        return "held"
    return "went back" if gate else "accepted"


def _gates(name: str, key: str, at_ms: int, failed: str) -> list[PastGate]:
    made = []
    for n, gate in enumerate(GATES):
        verdict = "PASS" if gate != failed else "INVALID" if gate == "journal" else "FAIL"
        evidence = (REASONS[gate],) if gate == failed else ()
        found = ("fp8-no-scales",) if gate == "config" and name.endswith("3") else ()
        made.append(
            PastGate(name, key, key, at_ms + n, "vllm", gate, verdict, 900, evidence, found)
        )
        if gate == failed:
            break
    return made


def _samples(
    chance: random.Random,
    share: float,
    name: str,
    machine: str,
    key: str,
    at_ms: int,
    release: str,
) -> list[Sample]:
    """Decode got faster over the months, but for some releases that were slow."""
    base = {"2x-h200": 92_000, "4x-3090": 41_000, "8x-h100": 118_000}[machine]
    slow = 0.8 if 0.55 < share < 0.7 else 1
    speed = base * (1 + 0.25 * share) * slow * chance.uniform(0.97, 1.03)
    ttft = 21_000_000_000 / speed * chance.uniform(0.95, 1.08)
    where = (at_ms, key, "rollout", name, machine, release, "accepted", "vllm", "decode", "decode")
    pool = Measurement("kv_tokens", 402_176, "tokens")
    return [
        Sample(Measurement("tokens_s", int(speed), "milli-tokens/s", 5), *where),
        Sample(Measurement("ttft", int(ttft), "us", 5), *where),
        Sample(pool, *where[:-2], "config", "config"),
    ]


def _gone(name: str) -> UnreachableError:
    return UnreachableError(f"{name}: 10.0.0.15 port 22: no answer within 10 s")


def _looked(n: int, newest: str) -> Looked:
    argv = (("vllm", "serve"), ("--max-model-len", "32768" if n % 7 else "16384"))
    part = Part("vllm", "vllm", argv=argv, subject=SubjectSpec("vllm.service"), listens=(8000,))
    release = replace(release_of((part,)), id=newest)
    at_ms = 1000 * (MADE_S - DAY_S * (2 + n % 5) - 4_000 * n)
    accepted = Acceptance(newest, "7ac9c5d6f8b9", at_ms, PEOPLE[n % 2], "abc")
    looked = Looked(
        State(accepted=(accepted,)),
        release,
        alive={"vllm": "active (running)"},
        cards=_cards(n % 3),
        serving={"vllm": Serving("vllm", 3 * n % 17, n % 4, (37 * n + 310) % 960, 90 * n % 700)},
    )
    if n == 2:
        why = "gate journal of vllm judged nothing: journald dropped lines"
        state = replace(looked.state, phase=Phase.HELD, why=why, since_ms=1000 * (MADE_S - 2_400))
        return replace(looked, state=state)
    if n == 5:
        drift = "/etc/headway/vllm.env: mode 0644, wanted 0600"
        return replace(looked, drift=(Difference("vllm", "file", "/etc/headway/vllm.env", drift),))
    if n == 7:
        parked = Parked("anna@ops", 1000 * (MADE_S - 3 * DAY_S), "fan of card 3 is replaced")
        return replace(looked, state=replace(looked.state, parked=parked), serving={})
    if n == 9:
        return replace(looked, alive={"vllm": "failed (failed), restarted 5 times"}, serving={})
    if n == BARE:
        return Looked(State(), EMPTY)
    return looked


def _cards(kind: int) -> CardsSeen:
    if kind == 0:
        told = load(CardsSeen, json.loads(FACTS.read_text()))
        used = (126 * GIB, 121 * GIB)  # they were idle when they told of themselves
        cards = (replace(card, used=mine) for card, mine in zip(told.cards, used, strict=True))
        return replace(told, cards=tuple(cards))
    count, name, total = (4, "NVIDIA GeForce RTX 3090", 24) if kind == 1 else (8, "NVIDIA H100", 80)
    made = tuple(
        Card(
            n,
            name=name,
            architecture="Ampere" if kind == 1 else "Hopper",
            capability="8.6" if kind == 1 else "9.0",
            total=total * GIB,
            used=int((0.9 - 0.02 * n) * total * GIB),
            temperature_c=58 + 3 * n,
            busy_percent=70,
        )
        for n in range(count)
    )
    pairs = tuple(
        Pair(a, b, *_grant(kind, a, b)) for a in range(count) for b in range(count) if a != b
    )
    return CardsSeen("580.159.04", cards=made, pairs=pairs)


def _grant(kind: int, a: int, b: int) -> tuple[str, str, str, str, str, int]:
    if kind == 2:  # eight cards on NVSwitch
        return "ok", "ok", "ok", "ok", "NODE", 18
    near = a // 2 == b // 2
    said = "ok" if near else "chipset not supported"
    return said, said, "not supported", said, "PHB" if near else "SYS", 0
