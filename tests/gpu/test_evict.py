"""Eviction on real cards: what a killed process held comes back, and its neighbour keeps its own.

nvidia-smi reads what is used; it is asked by itself, before and after.
"""

import time
from collections.abc import Callable

from headway.runner.cards.evict.claim import Claim
from headway.runner.cards.evict.hands import RealHands
from headway.runner.cards.evict.ladder import Ladder
from headway.runner.cards.evict.measure import Owed, owed
from headway.runner.cards.evict.process import Key, Processes
from headway.runner.clock import Clock
from headway.runner.process import Processes as Commands
from headway.wire.event import Body, Rung
from tests.gpu.bench import Bench, smi
from tests.gpu.holding import holding

HELD = 40 << 30
MIB = 1 << 20
DEADLINE_S = 60
CLOSE_MIB = 64  # two readings of a card at rest


def used() -> list[int]:
    """Ask nvidia-smi what is used of each card, in MiB."""
    words = ("--query-gpu=memory.used", "--format=csv,noheader,nounits")
    return [int(line) for line in smi(*words).splitlines()]


def key_of(pid: int) -> Key:
    """Name a process as a launch is recorded."""
    found = Processes().of(pid)
    assert found is not None
    return found.key


def ladder(claim: Claim, tell: Callable[[Body], None]) -> tuple[Ladder, Owed]:
    """Take stock, as before a stop."""
    clock = Clock()
    hands = RealHands(Commands())
    climbing = Ladder(
        hands=hands,
        claim=claim,
        part="engine",
        tell=tell,
        clock=clock,
        until_ms=clock.boot_ms() + 1000 * DEADLINE_S,
    )
    return climbing, owed(hands.sight(claim), claim, clock.boot_id())


def test_a_holder_that_ignores_sigterm_is_evicted(bench: Bench) -> None:
    """40 GiB come back, measured as NVML counted them for it; nobody else is needed for that."""
    before = used()
    told: list[Body] = []
    words = ("--card", "0", "--bytes", str(HELD), "--ignore-term")
    with holding(*words) as process:
        process.terminate()
        time.sleep(1)
        assert process.poll() is None
        held = used()
        climbing, debt = ladder(Claim(launched=frozenset({key_of(process.pid)})), told.append)
        began = time.monotonic()
        said = climbing.climb(debt, climbing.clock.boot_ms())
        took_ms = int(1000 * (time.monotonic() - began))
        assert process.wait(10) == -9
    after = used()
    ours = sum(debt.ours.values())
    assert ours >= HELD
    assert said.startswith(f"{ours / 2**30:.1f} GiB back")
    assert (held[0] - after[0]) * MIB >= 0.95 * ours
    assert abs(after[0] - before[0]) <= CLOSE_MIB
    bench.figure("evicted, as NVML counted it for the process", ours // MIB, "MiB")
    bench.figure("back, as nvidia-smi says", held[0] - after[0], "MiB")
    bench.figure("eviction took", took_ms, "ms")
    rungs = [body for body in told if isinstance(body, Rung)]
    assert [rung.rung for rung in rungs] == ["stop", "holders"]
    lines = [f"{r.rung}, {r.took_ms} ms\n  {r.before}\n  {r.after}\n" for r in rungs]
    bench.keep("eviction.txt", f"{''.join(lines)}{said}\n")


def test_a_neighbour_on_the_other_card_is_not_touched(bench: Bench) -> None:
    """It lives, and holds the same bytes, while its own pid is claimed with another start time."""
    bench.needs(cards=2)
    other = ("--card", "1", "--bytes", str(HELD // 2), "--ignore-term")
    with holding(*other) as neighbour, holding("--card", "0", "--bytes", str(HELD)) as process:
        held = used()
        pid, started = key_of(neighbour.pid)
        launched = frozenset({key_of(process.pid), (pid, started + 1)})
        climbing, debt = ladder(Claim(launched=launched), lambda _body: None)
        said = climbing.climb(debt, climbing.clock.boot_ms())
        after = used()
        assert neighbour.poll() is None
        assert process.wait(10) == -9
        assert after[1] == held[1]
        assert held[0] - after[0] >= HELD // MIB
        assert f"not ours: pid {pid}:{started}" in said
    bench.figure("the neighbour's card, before and after", f"{held[1]} and {after[1]}", "MiB")


def test_nobody_is_ended_by_a_number_alone(bench: Bench) -> None:
    """The right pid and another start time: it lives, and is told as not ours."""
    with holding("--card", "0", "--bytes", str(1 << 30)) as process:
        pid, started = key_of(process.pid)
        claim = Claim(launched=frozenset({(pid, started - 1)}))
        climbing, debt = ladder(claim, lambda _body: None)
        climbing.may_kill = (f"{pid}:{started + 1}",)
        said = climbing.climb(debt, climbing.clock.boot_ms())
        assert process.poll() is None
    assert "not ours" in said
    bench.figure("told of a stranger", said)
